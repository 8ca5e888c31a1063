"""The event streams of an HTTP server: what goes on which, and what becomes of one that is lost."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from anywire.testing import in_virtual_time
from anywire.transport.contract import Transport
from anywire.transport.http_server import HttpListener
from anywire.transport.http_session import HttpServerTransport
from anywire.wire.limits import Limits
from anywire.wire.message import (
    Batch,
    Message,
    Request,
    Response,
    create_notification,
    create_request,
    create_response,
)
from tests.http.raw import BOTH, Caller, Connection, ask, call, connection, note, text_of
from tests.http.serving import QUICK, listener_of, on_socket, until
from tests.http.tools import Tools
from tests.http.walk import Walker

JSON_ONLY = "application/json"
OLDER = ["2025-03-26", "2025-06-18"]


class Place:
    """A served set of tools and a caller with a session."""

    def __init__(self, tools: Tools, listener: HttpListener, caller: Caller) -> None:
        self.tools = tools
        self.listener = listener
        self.caller = caller

    @property
    def transport(self) -> HttpServerTransport:
        """The caller's session at the server."""
        assert self.caller.session is not None
        found = self.listener.sessions.find(self.caller.session)
        assert found is not None
        return found


@asynccontextmanager
async def place(limits: Limits = QUICK, revision: str | None = None) -> AsyncGenerator[Place]:
    tools = Tools(limits)
    listener = listener_of(tools.accept, limits=limits)
    async with on_socket(listener) as origin:
        caller = Caller(f"{origin}/mcp")
        await caller.initialize(revision)
        yield Place(tools, listener, caller)


async def last_id(stream: Connection) -> str:
    """Read the priming event and return its id."""
    event = await stream.event()
    assert event is not None
    assert event.fields["data"] == ""
    return event.id


# Heads and keep-alive.


async def test_a_stream_begins_at_once_and_tells_proxies_to_leave_it_alone() -> None:
    """Its head and first bytes do not wait for the first message."""
    async with place() as here, here.caller.begin("GET") as stream:
        head = await stream.head()
        first = await stream.event()

    assert head["content-type"] == "text/event-stream"
    assert head["cache-control"] == "no-cache, no-transform"
    assert head["x-accel-buffering"] == "no"
    assert "content-encoding" not in head
    assert first is not None


async def test_a_stream_is_primed_with_an_id_and_how_long_to_wait() -> None:
    """So that it can be resumed from its first byte on."""
    async with place() as here, here.caller.listen() as stream:
        first = await stream.event()

    assert first is not None
    assert first.id
    assert first.fields["data"] == ""
    assert first.fields["retry"] == "50"


@pytest.mark.parametrize("revision", OLDER)
async def test_a_stream_of_an_older_revision_begins_with_a_comment(revision: str) -> None:
    """Its clients take an event without data for a message."""
    async with place(revision=revision) as here:
        async with here.caller.listen() as stream:
            first = await stream.event()
        async with here.caller.begin("POST", call(1, "steps", {"count": 1}, token=1)) as post:
            await post.head()
            opening = await post.event()

    for event in (first, opening):
        assert event is not None
        assert event.comment is not None
        assert event.fields == {}


async def test_a_silent_stream_is_kept_alive_with_comments() -> None:
    """A comment means nothing to a client, and is activity to what is in between."""
    async with place(QUICK.replace(keep_alive_seconds=0.02)) as here, here.caller.listen() as stream:
        await stream.event()
        events = [await stream.event() for _ in range(3)]

    assert [event.comment if event else None for event in events] == ["keep-alive"] * 3


async def test_a_reply_that_takes_long_is_announced_by_a_stream_and_kept_alive() -> None:
    """Nothing precedes it but time."""
    limits = QUICK.replace(stream_open_seconds=0.05, keep_alive_seconds=0.02)
    async with place(limits) as here, here.caller.begin("POST", call(1, "hold")) as post:
        head = await post.head()
        await post.event()
        comment = await post.event()
        here.tools.gate.set()
        reply = await post.message()

    assert head["content-type"] == "text/event-stream"
    assert comment is not None
    assert comment.comment == "keep-alive"
    assert text_of(reply.message) == "hold is done"


@in_virtual_time
async def test_a_call_has_an_id_to_come_back_with_long_before_its_reply() -> None:
    """A connection that breaks before that takes the reply with it; older clients know no such ids."""
    tools = Tools()
    walker = Walker(listener_of(tools.accept))
    session = await walker.open()
    loop = asyncio.get_running_loop()
    began = loop.time()
    async with walker.begin(call(1, "hold"), session) as post:
        opened = loop.time() - began
        first = await post.read()
    tools.gate.set()
    id = first.decode().partition("id: ")[2].partition("\n")[0]
    headers = {**walker.headers(session, "text/event-stream"), "last-event-id": id}
    async with walker.exchange.open("GET", walker.url, headers, None) as stream:
        rest = await stream.read_all()

    assert opened == pytest.approx(QUICK.prime_seconds, abs=0.1)
    assert b"hold is done" in rest


# What goes where.


async def test_progress_travels_on_the_stream_of_its_call_before_the_reply() -> None:
    """Event by event, as it comes, and nothing after the reply."""
    async with place() as here, here.caller.begin("POST", call(1, "step_then_hold", token="t")) as post:
        head = await post.head()
        first, second = await post.message(), await post.message()
        here.tools.gate.set()
        rest = await post.messages()

    assert head["content-type"] == "text/event-stream"
    assert [each.message["params"]["message"] for each in (first, second)] == ["one", "two"]
    assert [text_of(each) for each in rest] == ["three"]
    assert first.fields["event"] == "message"


async def test_progress_of_two_calls_is_not_mixed() -> None:
    """Two calls at once, each with a stream of its own."""
    async with (
        place() as here,
        here.caller.begin("POST", call(1, "step_then_hold", token="one")) as one,
        here.caller.begin("POST", call(2, "step_then_hold", token="two")) as two,
    ):
        await one.head()
        await two.head()
        await here.tools.until_held(2)
        here.tools.gate.set()
        seen = [await one.messages(), await two.messages()]

    for messages, id, token in zip(seen, (1, 2), ("one", "two"), strict=True):
        *notes, reply = messages
        assert [each["params"]["progressToken"] for each in notes] == [token, token]
        assert reply["id"] == id


async def test_what_belongs_to_no_request_travels_on_the_general_stream() -> None:
    async with place() as here, here.caller.listen() as stream:
        here.tools.tell("notifications/tools/list_changed")
        event = await stream.message()

    assert event.message["method"] == "notifications/tools/list_changed"


async def test_what_was_said_before_the_general_stream_was_open_is_on_it() -> None:
    """A client opens it when it can."""
    async with place() as here:
        here.tools.tell("notifications/one")
        here.tools.tell("notifications/two")
        async with here.caller.listen() as stream:
            got = [(await stream.message()).message["method"] for _ in range(2)]

    assert got == ["notifications/one", "notifications/two"]


async def test_what_waits_for_a_client_that_never_listens_is_bounded() -> None:
    """The newest is kept."""
    async with place(QUICK.replace(replay_events=10)) as here:
        for number in range(1000):
            here.tools.tell(f"notifications/{number}")
        async with here.caller.listen() as stream:
            got = [(await stream.message()).message["method"] for _ in range(10)]

    assert got == [f"notifications/{number}" for number in range(990, 1000)]


async def test_what_waits_on_the_general_stream_is_read_once_however_often_it_is_opened() -> None:
    """By a client that names no event; one that does gets again what it missed."""
    got: list[list[str]] = []
    async with place() as here:
        for number in range(3):
            here.tools.tell(f"notifications/{number}-a")
            here.tools.tell(f"notifications/{number}-b")
            async with here.caller.listen() as stream:
                got.append([(await stream.message()).message["method"] for _ in range(2)])
            await until(lambda: not here.transport.is_read, "the server has noticed")

    assert got == [[f"notifications/{number}-{part}" for part in "ab"] for number in range(3)]


async def test_the_general_stream_of_a_client_that_reads_too_slowly_ends_and_can_be_resumed() -> None:
    """What it has not read would else pile up without bound."""
    limits = QUICK.replace(write_high_bytes=100_000, write_low_bytes=50_000, replay_bytes=500_000)
    async with place(limits) as here, connection(here.caller.url, buffer=4096) as slow:
        slow.write("GET", here.caller.path, here.caller.headers(Content_Type=None), None)
        await slow.head()
        transport = here.transport
        await until(lambda: transport._general is not None and transport._general.has_reader, "it listens")
        general = transport._general
        assert general is not None
        for number in range(400):
            here.tools.tell(f"notifications/{number}-" + "x" * 50_000)
            await asyncio.sleep(0)

        assert general.size <= 600_000
        await until(lambda: not general.has_reader, "its reader was let go")
        seen = await slow.messages()
        async with here.caller.listen() as stream:
            here.tools.tell("notifications/end")
            rest: list[str] = []
            while "notifications/end" not in rest:
                rest.append((await stream.message()).message["method"].partition("-")[0])
        assert not transport.closed

    assert 0 < len(seen) < 400
    assert rest[-2:] == ["notifications/399", "notifications/end"]


async def test_what_all_sessions_keep_is_bounded_together() -> None:
    """A thousand clients that come once and never again cost no more than the limit."""
    limits = QUICK.replace(replay_total_bytes=200_000)
    tools = Tools(limits)
    listener = listener_of(tools.accept, limits=limits)
    walker = Walker(listener)
    for number in range(50):
        session = await walker.open()
        await walker.post(call(1, "large", {"size": 50_000}), session)
        kept = listener.sessions._replay.size
        assert kept <= 200_000
        assert number or kept == 0, "nobody can come back for a reply in one piece"
        await walker.post(call(2, "steps", {"count": 2, "size": 20_000}, token="t"), session)
        tools.tell("notifications/" + "x" * 20_000)
    assert listener.sessions._replay.size > 100_000
    await listener.close()

    assert listener.sessions._replay.size == 0


async def test_a_request_of_the_server_is_answered_with_a_post() -> None:
    """It comes on the stream of the call that it is for; what the client POSTs is for the server."""
    accepted: list[Transport] = []
    starting: list[asyncio.Future[None]] = []
    received: list[Message | Batch] = []

    def accept(transport: Transport) -> None:
        transport.callbacks.on_message = received.append
        accepted.append(transport)
        starting.append(asyncio.ensure_future(transport.start()))

    async with on_socket(listener_of(accept, serves_all=True)) as origin:
        caller = Caller(f"{origin}/mcp")
        opening = asyncio.ensure_future(caller.initialize())
        await until(lambda: received, "the handshake has come")
        accepted[0].post(create_response(0, {"protocolVersion": "2025-11-25"}))
        await opening
        async with caller.begin("POST", call(1, "t")) as post:
            await until(lambda: len(received) == 3, "the call has come")
            accepted[0].post(create_request("s-1", "roots/list"), b"1")
            await post.head()
            request = await post.message()
            answered = await caller.post(
                {"jsonrpc": "2.0", "id": request.message["id"], "result": {"roots": []}}
            )
            accepted[0].post(create_response(1, "done"))
            (reply,) = await post.messages()

    assert answered.status == 202
    assert isinstance(received[3], Response)
    assert (received[3].id, json.loads(received[3].result)) == (b'"s-1"', {"roots": []})
    assert reply["result"] == "done"


async def test_the_newest_get_wins() -> None:
    """A client that lost its stream opens another, whether or not the server has noticed."""
    async with place() as here, here.caller.listen() as old, here.caller.listen() as new:
        await new.event()
        here.tools.tell("notifications/x")
        event = await new.message()
        left = await old.messages()

    assert event.message["method"] == "notifications/x"
    assert left == []


# Lost streams.


async def test_the_reply_waits_for_a_client_that_lost_its_stream() -> None:
    """Cut after the second of three events, resumed with the id of the second."""
    async with place() as here:
        async with here.caller.begin("POST", call(1, "step_then_hold", token="t")) as post:
            await post.head()
            await post.message()
            second = await post.message()
            post.reset()
        here.tools.gate.set()
        async with here.caller.listen(Last_Event_ID=second.id) as stream:
            rest = await stream.messages()

        assert [text_of(each) for each in rest] == ["three"]
        assert here.tools.runs["step_then_hold"] == 1


async def test_a_stream_that_is_complete_is_the_same_however_often_it_is_taken_up() -> None:
    """Each event once, under the id that it has."""
    async with place() as here:
        async with here.caller.begin("POST", call(1, "steps", {"count": 3}, token="t")) as post:
            await post.head()
            first, *rest = [await post.message() for _ in range(3)]
            await post.messages()
        for _ in range(3):
            async with here.caller.listen(Last_Event_ID=first.id) as stream:
                again = [await stream.message() for _ in range(2)]
                assert [each.id for each in again] == [each.id for each in rest]
                assert len(await stream.messages()) == 1


async def test_the_reply_comes_to_a_stream_that_was_resumed_before_it() -> None:
    """The handler still runs when the client comes back."""
    async with place() as here:
        async with here.caller.begin("POST", call(1, "step_then_hold", token="t")) as post:
            await post.head()
            start = await last_id(post)
            post.reset()
        async with here.caller.listen(Last_Event_ID=start) as stream:
            got = [await stream.message(), await stream.message()]
            here.tools.gate.set()
            rest = await stream.messages()

    assert [each.message["params"]["message"] for each in got] == ["one", "two"]
    assert [text_of(each) for each in rest] == ["three"]


async def test_a_stream_can_be_lost_again_and_again() -> None:
    async with place() as here:
        async with here.caller.begin("POST", call(1, "step_then_hold", token="t")) as post:
            await post.head()
            seen = await last_id(post)
            post.reset()
        for expected in ("one", "two"):
            async with here.caller.listen(Last_Event_ID=seen) as stream:
                event = await stream.message()
                seen = event.id
                assert event.message["params"]["message"] == expected
                stream.reset()
        here.tools.gate.set()
        async with here.caller.listen(Last_Event_ID=seen) as stream:
            assert [text_of(each) for each in await stream.messages()] == ["three"]


async def test_a_resumed_stream_carries_nothing_of_another() -> None:
    """Only what came after the event on that event's own stream."""
    async with place() as here:
        async with here.caller.begin("POST", call(1, "step_then_hold", token="t")) as post:
            await post.head()
            first = await post.message()
            post.reset()
        here.tools.tell("notifications/general")
        await here.caller.post(call(2, "echo", {"text": "other"}))
        here.tools.gate.set()
        async with here.caller.listen(Last_Event_ID=first.id) as stream:
            rest = await stream.messages()

    assert [each.get("id", each.get("method")) for each in rest] == ["notifications/progress", 1]


async def test_what_the_general_stream_missed_is_sent_again() -> None:
    async with place() as here:
        async with here.caller.listen() as stream:
            here.tools.tell("notifications/one")
            one = await stream.message()
            here.tools.tell("notifications/two")
            await stream.message()
            stream.reset()
        here.tools.tell("notifications/three")
        async with here.caller.listen(Last_Event_ID=one.id) as stream:
            got = [(await stream.message()).message["method"] for _ in range(2)]

    assert got == ["notifications/two", "notifications/three"]


async def test_the_event_ids_of_another_session_are_refused() -> None:
    """Each session counts alike, and still none of them opens another's log."""
    async with place() as here:
        other = Caller(here.caller.url)
        await other.initialize()
        ids: list[str] = []
        for caller in (here.caller, other):
            async with caller.begin("POST", call(1, "steps", {"count": 1}, token="t")) as post:
                await post.head()
                ids.append((await post.message()).id)
            async with caller.listen() as stream:
                ids.append(await last_id(stream))

        answers = [
            await here.caller.request("GET", Last_Event_ID=id, Content_Type=None) for id in ids[2:]
        ] + [await other.request("GET", Last_Event_ID=id, Content_Type=None) for id in ids[:2]]

    assert [answer.status for answer in answers] == [400] * 4
    assert all("Last-Event-ID" in answer.error for answer in answers)
    assert len(set(ids)) == 4


@pytest.mark.parametrize("id", ["x", "0", "p0_0", "g_1", "_", "p0_999999999999999999", "é"])
async def test_an_invented_event_id_is_refused(id: str) -> None:
    """And disturbs nobody who listens."""
    async with place() as here, here.caller.listen() as stream:
        answer = await here.caller.request("GET", Last_Event_ID=id, Content_Type=None)
        here.tools.tell("notifications/x")

        assert answer.status == 400
        assert (await stream.message()).message["method"] == "notifications/x"


async def test_a_stream_that_has_not_begun_cannot_be_asked_for() -> None:
    """No event of it was sent, so whoever names one has made it up; the call gets its reply as ever."""
    async with place() as here, here.caller.begin("POST", call(1, "hold")) as post:
        await here.tools.until_held()
        made_up = f"p0-{here.transport._tag}_0"
        refused = await here.caller.request("GET", Last_Event_ID=made_up, Content_Type=None)
        here.tools.gate.set()
        head = await post.head()
        body = json.loads(await post.body())

    assert refused.status == 400
    assert (head.status, text_of(body)) == (200, "hold is done")


async def test_replies_in_one_piece_cost_no_place_in_the_log() -> None:
    """Nobody can come back for them, and a stream that was lost is not forgotten over them."""
    async with place(QUICK.replace(replay_events=4)) as here:
        async with here.caller.begin("POST", call(1, "step_then_hold", token="t")) as post:
            await post.head()
            first = await post.message()
            post.reset()
        for number in range(2, 22):
            await here.caller.post(call(number, "echo", {"text": "x"}))
        here.tools.gate.set()
        async with here.caller.listen(Last_Event_ID=first.id) as stream:
            rest = await stream.messages()

    assert [each.get("id", each.get("method")) for each in rest] == ["notifications/progress", 1]


async def test_an_event_that_is_too_old_is_refused_and_not_answered_with_a_gap() -> None:
    """What was in between is gone, and the client must know."""
    async with place(QUICK.replace(replay_events=2)) as here:
        async with here.caller.begin("POST", call(1, "steps", {"count": 5}, token="t")) as post:
            await post.head()
            start = await last_id(post)
            await post.messages()

        answer = await here.caller.request("GET", Last_Event_ID=start, Content_Type=None)

    assert answer.status == 400


async def test_what_a_lost_stream_keeps_is_bounded() -> None:
    """A handler that goes on reporting to a client that has gone costs no more than the log."""
    limits = QUICK.replace(replay_events=50)
    async with place(limits) as here:
        async with here.caller.begin("POST", call(1, "step_then_hold", token="t")) as post:
            await post.head()
            await post.message()
            post.reset()
        transport = here.transport
        await until(lambda: not transport.is_read, "the server has noticed")
        for number in range(1000):
            transport.post(create_notification("notifications/x", number), b"1")
        streams = list(transport._posts.values())

        assert [len(stream) for stream in streams] == [0]
        here.tools.gate.set()
        await until(lambda: not transport._posts, "the stream is forgotten with its reply")


async def test_a_reply_that_its_client_did_not_fetch_leaves_no_stream_behind() -> None:
    """Not even when that happens a thousand times in one session."""
    async with place() as here:
        for number in range(50):
            async with here.caller.begin("POST", call(number, "hold")) as post:
                await here.tools.until_held(1)
                post.reset()
            here.tools.gate.set()
            await until(lambda: not here.tools.held, "the handler has returned")
            here.tools.gate.clear()
        transport = here.transport
        await until(lambda: not transport._posts and not transport._by_request, "no stream is left")


async def test_a_vanished_client_cancels_nothing() -> None:
    """In these revisions a disconnect is no cancellation."""
    async with place() as here:
        async with here.caller.begin("POST", call(1, "hold")) as post:
            await here.tools.until_held()
            post.reset()
        answer = await here.caller.post(call(2, "echo", {"text": "still here"}))
        here.tools.gate.set()
        await until(lambda: not here.tools.held, "the handler has returned")

        assert text_of(answer.message) == "still here"
        assert here.tools.cancelled == 0


async def test_a_cancelled_call_is_stopped_and_its_post_ends() -> None:
    """Without a reply: nobody wants it."""
    async with place() as here, here.caller.begin("POST", call(1, "hold")) as post:
        await here.tools.until_held()
        cancelled = await here.caller.post(note("notifications/cancelled", {"requestId": 1}))
        head = await post.head()
        body = await post.body()
        await until(lambda: here.tools.cancelled == 1, "the handler is cancelled")

    assert cancelled.status == 202
    assert (head.status, body) == (202, b"")


async def test_a_call_that_is_cancelled_while_it_reports_has_no_reply() -> None:
    """Least of all what it had reported: that is no answer."""

    def accept(transport: Transport) -> None:
        assert isinstance(transport, HttpServerTransport)
        transport.callbacks.on_message = lambda message: serve(transport, message)
        started.append(asyncio.ensure_future(transport.start()))

    def serve(transport: HttpServerTransport, message: Message | Batch) -> None:
        if isinstance(message, Request) and message.method == "initialize":
            transport.post(Response(message.id, b"{}"))
        elif isinstance(message, Request):
            transport.post(create_notification("notifications/progress", {}), message.id)
            transport.deliver(create_notification("notifications/cancelled", {"requestId": 1}), None)

    started: list[asyncio.Future[None]] = []
    walker = Walker(listener_of(accept))
    answers = [await walker.post(call(1, "x"), await walker.open(), accept) for accept in (BOTH, JSON_ONLY)]

    assert [(answer.status, answer.body) for answer in answers] == [(202, b"")] * 2


async def test_the_rest_of_a_batch_is_answered_when_one_of_it_is_cancelled() -> None:
    async with place(QUICK.replace(stream_open_seconds=10), "2025-03-26") as here:
        batch = [call(1, "hold"), call(2, "echo", {"text": "x"})]
        async with here.caller.begin("POST", batch) as post:
            await here.tools.until_held()
            await here.caller.post(note("notifications/cancelled", {"requestId": 1}))
            head = await post.head()
            body = await post.body()

    assert head.status == 200
    assert [each["id"] for each in json.loads(body)] == [2]


async def test_a_cancelled_call_ends_its_stream() -> None:
    """One that is open already."""
    async with place() as here, here.caller.begin("POST", call(1, "step_then_hold", token="t")) as post:
        await post.head()
        await post.message()
        await post.message()
        await here.caller.post(note("notifications/cancelled", {"requestId": 1}))

        assert await post.messages() == []


async def test_a_stray_reply_goes_on_no_stream() -> None:
    """It answers nothing that is open, least of all the one call that is."""
    async with place() as here, here.caller.begin("POST", call(1, "step_then_hold", token="t")) as post:
        await post.head()
        await here.tools.until_held()
        here.tools.transports[0].post(create_response(99, "stray"))
        here.tools.gate.set()
        messages = await post.messages()

    assert [each.get("id") for each in messages] == [None, None, 1]


# Slow readers.


async def test_a_slow_reader_holds_its_own_handler_and_nothing_else() -> None:
    """What waits for it is bounded; others are served meanwhile."""
    limits = QUICK.replace(write_high_bytes=64 * 1024, write_low_bytes=16 * 1024)
    async with place(limits) as here, connection(here.caller.url, buffer=4096) as slow:
        body = json.dumps(call(1, "steps", {"count": 200, "size": 100_000}, token="t")).encode()
        slow.write("POST", "/mcp", here.caller.headers(), body)
        transport = here.transport
        await until(lambda: transport._full, "the stream is full")
        waiting = max(stream.size for stream in transport._posts.values())
        others = [await here.caller.post(call(number, "echo", {"text": "x"})) for number in range(2, 12)]
        await slow.head()
        messages = await slow.messages()

        assert waiting < 64 * 1024 + 200_000
        assert all(answer.status == 200 for answer in others)
        assert len(messages) == 201
        assert text_of(messages[-1]) == "200 steps"


async def test_a_slow_reader_that_vanishes_lets_its_handler_go_on() -> None:
    limits = QUICK.replace(write_high_bytes=64 * 1024, write_low_bytes=16 * 1024)
    async with place(limits) as here, connection(here.caller.url, buffer=4096) as slow:
        body = json.dumps(call(1, "steps", {"count": 50, "size": 100_000}, token="t")).encode()
        slow.write("POST", "/mcp", here.caller.headers(), body)
        transport = here.transport
        await until(lambda: transport._full, "the stream is full")
        slow.reset()
        await until(lambda: not transport._by_request, "the call has ended")

        assert not transport._full


async def test_a_client_that_reads_no_streams_holds_nobody() -> None:
    """What comes before its reply is left out, however much that is."""
    limits = QUICK.replace(write_high_bytes=64 * 1024, write_low_bytes=16 * 1024)
    async with place(limits) as here:
        message = call(1, "steps", {"count": 20, "size": 20_000}, token="t")
        async with asyncio.timeout(10):
            answer = await here.caller.post(message, Accept="application/json")

    assert text_of(answer.message) == "20 steps"


# The end.


async def test_the_end_of_the_server_ends_all_streams_politely() -> None:
    """With what was still to be said."""
    async with place() as here, here.caller.listen() as stream, here.caller.listen() as other:
        here.tools.tell("notifications/last")
        await here.listener.close()

        assert [each["method"] for each in await other.messages()] == ["notifications/last"]
        assert await stream.messages() == []


async def test_no_session_begins_after_the_end_of_the_server() -> None:
    """One that began then would never end."""
    async with place() as here:
        await here.listener.close()
        again = await here.caller.post(
            ask(0, "initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {}})
        )

    assert again.status == 503
    assert len(here.listener.sessions) == 0
