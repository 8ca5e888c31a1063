"""A bridge that is offered over HTTP: a child for each session, and what becomes of both."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from anywire import connect
from anywire.bridge.http_face import HttpFace
from anywire.bridge.meeting.upstream import Upstream
from anywire.errors import ConfigError, PeerError
from anywire.transport.contract import Transport
from anywire.transport.http_client import HttpClientTransport
from anywire.transport.http_server import HttpListener
from anywire.transport.http_session import HttpServerTransport
from anywire.transport.process import Command
from anywire.transport.sse_server import SseListener
from anywire.transport.stdio_client import StdioClientTransport
from anywire.wire.limits import Limits
from tests.http.raw import LATEST, Caller, ask, call, connection, initialize, note, text_of
from tests.http.serving import QUICK, listener_of, on_socket, until, within
from tests.http.tools import Tools

CHILD = Path(__file__).with_name("programs") / "child.py"


class Bridge:
    """A bridge on a socket: its face, its listener, what it reports."""

    def __init__(self, make_target: Callable[[], Transport] | None, limits: Limits) -> None:
        self.limits = limits
        self.reports: list[str] = []
        self.upstream = Upstream(make_target or self.child, self.reports.append, limits)
        self.face = HttpFace(self.upstream)
        self.listener = listener_of(self.face.accept, limits=limits, serves_all=True)
        self.url = ""

    def child(self) -> StdioClientTransport:
        """Make a child that has not been started."""
        command = Command((sys.executable, str(CHILD)))
        return StdioClientTransport(command, limits=self.limits, on_stderr=lambda _: None)

    async def caller(self) -> tuple[Caller, int]:
        """Open a session; returns the process that serves it as well."""
        caller = Caller(self.url)
        await caller.initialize()
        return caller, int(text_of((await caller.post(call("pid", "pid"))).message))

    def session(self, caller: Caller) -> HttpServerTransport:
        """Return a caller's session at the bridge."""
        assert caller.session is not None
        found = self.listener.sessions.find(caller.session)
        assert found is not None
        return found


@asynccontextmanager
async def bridge(
    make_target: Callable[[], Transport] | None = None, limits: Limits = QUICK
) -> AsyncGenerator[Bridge]:
    """Serve a bridge; at the end no relay and no child is left."""
    here = Bridge(make_target, limits)
    async with on_socket(here.listener) as origin:
        here.url = f"{origin}/mcp"
        yield here
    await until(lambda: not len(here.face), "all relays have ended")
    await within(here.upstream.close())


def alive(pid: int) -> bool:
    """Whether a process is there."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def test_each_session_has_a_child_of_its_own() -> None:
    async with bridge() as here:
        one, first = await here.caller()
        two, second = await here.caller()

        assert first != second
        assert text_of((await one.post(call(1, "echo"))).message) == "echo"
        assert int(text_of((await two.post(call(1, "pid"))).message)) == second
        assert len(here.face) == 2
    await until(lambda: not alive(first) and not alive(second), "both children have gone")


async def test_a_child_ends_with_its_session() -> None:
    async with bridge() as here:
        one, first = await here.caller()
        _, second = await here.caller()
        assert (await one.request("DELETE")).status == 204
        await until(lambda: not alive(first), "its child has gone")

        assert alive(second)
        await until(lambda: len(here.face) == 1, "its relay has ended")


async def test_a_child_ends_with_a_session_that_idles() -> None:
    limits = QUICK.replace(session_idle_seconds=0.3)
    async with bridge(limits=limits) as here:
        caller, pid = await here.caller()
        await until(lambda: not alive(pid), "its child has gone")

        assert (await caller.post(ask(1, "ping"))).status == 404
        assert len(here.listener.sessions) == 0


async def test_a_child_ends_when_its_client_vanished_in_a_call() -> None:
    """Also when the child never answers."""
    limits = QUICK.replace(session_idle_seconds=0.3)
    async with bridge(limits=limits) as here:
        caller, pid = await here.caller()
        session = here.session(caller)
        async with caller.begin("POST", call(1, "hold")) as post:
            await until(lambda: session.is_working, "the call has arrived")
            post.reset()
        await until(lambda: not alive(pid), "its child has gone")


async def test_the_end_of_the_listener_ends_all_children() -> None:
    async with bridge() as here:
        pids = [(await here.caller())[1] for _ in range(3)]
        await here.listener.close()
        await until(lambda: not any(map(alive, pids)), "all children have gone")


async def test_the_end_of_the_face_ends_all_children() -> None:
    async with bridge() as here:
        pids = [(await here.caller())[1] for _ in range(3)]
        await within(here.face.close())

        assert not any(map(alive, pids))


async def test_many_handshakes_and_farewells_leave_no_child() -> None:
    """One after the other, as clients that only look do."""
    async with bridge() as here:
        pids: list[int] = []
        for _ in range(20):  # each is a start of Python
            caller, pid = await here.caller()
            pids.append(pid)
            await caller.request("DELETE")
        await until(lambda: not any(map(alive, pids)), "all children have gone")
        await until(lambda: not len(here.face), "all relays have ended")


async def test_a_session_whose_initialize_was_refused_ends_with_its_child() -> None:
    """The client gets the refusal, and has no further use for either."""
    async with bridge() as here:
        unwanted = {"name": "unwanted", "version": "1"}
        order = ask(0, "initialize", {"protocolVersion": LATEST, "capabilities": {}, "clientInfo": unwanted})
        callers = [Caller(here.url) for _ in range(3)]
        answers = [await caller.post(order) for caller in callers]
        await until(lambda: not len(here.face), "all relays have ended")
        await until(lambda: not len(here.listener.sessions), "and all sessions")

    assert [answer.error for answer in answers] == ["not you"] * 3


async def test_a_session_too_many_takes_the_place_of_the_one_that_idled_longest() -> None:
    """And its child with it."""
    async with bridge(limits=QUICK.replace(sessions=2)) as here:
        (_, first), (two, second), (_, third) = [await here.caller() for _ in range(3)]
        await until(lambda: not alive(first), "the child of the first has gone")

        assert alive(second)
        assert alive(third)
        assert (await two.post(ask(1, "ping"))).status == 200


async def test_progress_travels_on_the_stream_of_its_call() -> None:
    """Of two calls at once, each has its own; anything else is on the general stream."""
    async with bridge() as here:
        caller, _ = await here.caller()
        async with (
            caller.listen() as general,
            caller.begin("POST", call(1, "hold")),
            caller.begin("POST", call(2, "progress", token="t")) as post,
        ):
            await post.head()
            messages = await post.messages()
            await caller.post(call(3, "general"))
            event = await general.message()

    assert [each.get("params", {}).get("progress") for each in messages] == [0, 1, 2, None]
    assert messages[-1]["id"] == 2
    assert event.message["method"] == "notifications/tools/list_changed"


async def test_a_child_that_cannot_start_is_answered_with_the_reason() -> None:
    def missing() -> StdioClientTransport:
        return StdioClientTransport(Command(("/no/such/program",)), limits=QUICK)

    async with bridge(missing) as here:
        answer = await Caller(here.url).post(initialize(id="x"))

    assert answer.message["id"] == "x"
    assert answer.error == "the server behind the bridge could not be started; see the bridge's log"
    assert any("/no/such/program" in report for report in here.reports)


async def test_a_child_that_cannot_even_be_thought_of_is_answered_as_well() -> None:
    def impossible() -> Transport:
        raise ConfigError("there is no such thing")

    async with bridge(impossible) as here:
        answer = await Caller(here.url).post(initialize(id=7))

    assert answer.message["id"] == 7
    assert answer.error == "the server behind the bridge could not be started; see the bridge's log"
    assert any("there is no such thing" in report for report in here.reports)


async def test_a_child_that_dies_in_a_call_answers_all_that_were_asked() -> None:
    """Discreetly.  The session goes on with another child, which knows of its handshake."""
    async with bridge() as here:
        caller, pid = await here.caller()
        async with caller.begin("POST", call(1, "hold")) as held:
            died = await caller.post(call(2, "die"))
            head = await held.head()
            if head["content-type"].startswith("text/event-stream"):
                (reply,) = await held.messages()
            else:
                reply = json.loads(await held.body())
        await until(lambda: not alive(pid), "the child has gone")
        after = await caller.post(call(3, "pid"))

        for message in (died.message, reply):
            told = message["error"]["message"]
            assert told == "the server behind the bridge exited with code 3; see the bridge's log"
        assert any("the disk is full" in report for report in here.reports)
        assert [died.message["id"], reply["id"]] == [2, 1]
        assert int(text_of(after.message)) != pid
        assert len(here.listener.sessions) == 1


async def test_a_client_of_this_library_finds_its_way_after_the_child_died() -> None:
    """One error, and the next call has a new child."""
    async with bridge() as here, connect(here.url, limits=QUICK) as client:
        with pytest.raises(PeerError, match="code 3"):
            await client.call_tool("die")

        assert (await client.call_tool("echo")).text == "echo"


async def test_a_cancellation_reaches_the_child() -> None:
    async with bridge() as here:
        caller, _ = await here.caller()
        async with caller.begin("POST", call(1, "hold")) as post:
            cancelled = await caller.post(note("notifications/cancelled", {"requestId": 1}))
            head = await post.head()
            await post.body()
        released = await caller.post(call(2, "release"))

    assert (cancelled.status, head.status) == (202, 202)
    assert text_of(released.message) == "release"


async def test_two_sessions_with_the_same_ids_are_not_crossed() -> None:
    async with bridge() as here:
        callers = [await here.caller() for _ in range(3)]

        async def ask_for_pid(caller: Caller) -> list[int]:
            answers = [await caller.post(call(number, "pid")) for number in range(10)]
            return [int(text_of(answer.message)) for answer in answers]

        got = await asyncio.gather(*(ask_for_pid(caller) for caller, _ in callers))

    assert got == [[pid] * 10 for _, pid in callers]


async def test_a_client_that_does_not_read_holds_its_child_and_nothing_else() -> None:
    """What the bridge keeps is bounded, and all of it arrives when the client reads again."""
    limits = QUICK.replace(write_high_bytes=256 * 1024, write_low_bytes=64 * 1024)
    async with bridge(limits=limits) as here:
        caller, _ = await here.caller()
        other, _ = await here.caller()
        async with connection(here.url, buffer=4096) as slow:
            order = call(1, "flood", {"count": 500, "size": 65_000}, token="t")
            slow.write("POST", "/mcp", caller.headers(), json.dumps(order).encode())
            session = here.session(caller)
            await until(lambda: session._full, "the stream is full")
            assert text_of((await other.post(call(1, "echo"))).message) == "echo"
            waiting = [stream.size for stream in session._posts.values()]
            await slow.head()
            messages = await slow.messages()

    assert max(waiting) < 256 * 1024 + 1024 * 1024
    assert [each["params"]["progress"] for each in messages[:-1]] == list(range(500))
    assert text_of(messages[-1]) == "flood"


async def test_a_child_that_does_not_read_holds_its_client_and_nothing_else(tmp_path: Path) -> None:
    """What is posted meanwhile is not read, let alone kept."""
    limits = QUICK.replace(write_high_bytes=256 * 1024, write_low_bytes=64 * 1024)
    async with bridge(limits=limits) as here:
        caller, _ = await here.caller()
        other, _ = await here.caller()
        session = here.session(caller)
        napping = asyncio.ensure_future(caller.post(call(1, "nap", {"until": str(tmp_path / "up")})))
        await until(lambda: session.is_working, "the child is about to nap")
        order = note("notifications/x", "x" * 100_000)
        notes = [asyncio.ensure_future(caller.post(order)) for _ in range(50)]
        await until(lambda: session.gate.held, "the client is held")
        assert (await other.post(ask(1, "ping"))).status == 200
        taken = sum(note.done() for note in notes)
        (tmp_path / "up").touch()
        answers = await asyncio.gather(*notes)

        assert taken < 20
        assert {answer.status for answer in answers} == {202}
        assert text_of((await napping).message) == "nap"


async def test_a_post_to_a_child_that_does_not_read_is_refused_in_time(tmp_path: Path) -> None:
    """With the id of its request; a cancellation is not held at all."""
    limits = QUICK.replace(write_high_bytes=64 * 1024, write_low_bytes=16 * 1024, gate_seconds=0.2)
    async with bridge(limits=limits) as here:
        caller, _ = await here.caller()
        session = here.session(caller)
        napping = asyncio.ensure_future(caller.post(call("n", "nap", {"until": str(tmp_path / "up")})))
        await until(lambda: session.is_working, "the child is about to nap")
        large = note("notifications/x", "x" * 100_000)
        while not session.gate.held:
            assert (await caller.post(large)).status == 202
        request = await caller.post(ask("later", "ping"))
        noted = await caller.post(note("notifications/x"))
        noted_large = await caller.post(large)
        stranger = await caller.post(note("notifications/cancelled", {"requestId": "stranger"}))
        cancelled = await caller.post(note("notifications/cancelled", {"requestId": "n"}))
        withdrawn = await napping
        (tmp_path / "up").touch()
        await until(lambda: not session.gate.held, "the child reads again")
        after = await caller.post(ask("later", "ping"))

    assert [each.status for each in (request, noted, noted_large, stranger)] == [503] * 4
    assert request.message["id"] == "later"
    assert "takes no more messages" in request.error
    assert (cancelled.status, withdrawn.status) == (202, 202)
    assert after.message["result"] == {}


async def test_the_old_transport_is_a_face_as_well() -> None:
    reports: list[str] = []
    command = Command((sys.executable, str(CHILD)))
    upstream = Upstream(lambda: StdioClientTransport(command, limits=QUICK), reports.append, QUICK)
    face = HttpFace(upstream)
    async with on_socket(SseListener(face.accept, limits=QUICK)) as origin:
        async with connect(f"sse+{origin}/sse", limits=QUICK) as client:
            pid = int((await client.call_tool("pid")).text)
        await until(lambda: not alive(pid), "its child has gone")
    await until(lambda: not len(face), "the relay has ended")


async def test_a_bridge_calls_another_server_over_http() -> None:
    """HTTP in front and behind; the server behind restarts, and nobody notices."""
    tools = Tools()
    behind = listener_of(tools.accept)
    async with on_socket(behind) as origin:

        def target() -> HttpClientTransport:
            return HttpClientTransport(f"{origin}/mcp", limits=QUICK)

        async with bridge(target) as here, connect(here.url, limits=QUICK) as client:
            seen: list[float] = []

            def see(progress: float, total: float | None, message: str | None) -> None:
                seen.append(progress)

            assert (await client.call_tool("steps", {"count": 3}, on_progress=see)).text == "3 steps"
            behind.sessions.close()
            behind.sessions.open()
            assert (await client.call_tool("echo", {"text": "after"})).text == "after"

            assert seen == [1, 2, 3]
            assert len(tools.transports) == 2
        await until(lambda: not len(behind.sessions), "the session behind has ended as well")


async def test_a_refused_server_behind_is_told_to_the_client() -> None:
    def target() -> HttpClientTransport:
        return HttpClientTransport("http://127.0.0.1:1/mcp", limits=QUICK)

    async with bridge(target) as here:
        with pytest.raises(PeerError, match="behind the bridge could not be reached"):
            await connect(here.url, limits=QUICK).open()


async def test_a_listener_takes_whatever_method_a_bridge_is_asked_for() -> None:
    """It cannot know what its server has."""
    async with bridge() as here:
        caller, _ = await here.caller()

        assert (await caller.post(ask(1, "foo/bar"))).message["result"] == {}
        assert isinstance(here.listener, HttpListener)
