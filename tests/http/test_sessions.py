"""The table of sessions: who is in it, who leaves it, and when."""

from __future__ import annotations

import asyncio
import json

import pytest

from anywire.errors import AnywireError
from anywire.testing import in_virtual_time
from anywire.testing.stage import turn
from anywire.transport.contract import Transport
from anywire.transport.http_server import HttpListener
from anywire.wire.limits import Limits
from anywire.wire.message import Batch, Message, Request, Response
from tests.http.in_process import AsgiExchange
from tests.http.raw import Caller, ask, call, initialize
from tests.http.serving import QUICK, until
from tests.http.tools import Tools
from tests.http.walk import Walker

IDLE = 60.0
LIMITS = QUICK.replace(session_idle_seconds=IDLE, sessions=5)
STEP_THEN_HOLD = call(1, "step_then_hold", token="t")


def place(limits: Limits = LIMITS) -> tuple[Tools, Walker]:
    """Tools, and a way to them without sockets."""
    tools = Tools(limits)
    listener = HttpListener(tools.accept, lambda _: True, limits=limits)
    return tools, Walker(listener)


@in_virtual_time
async def test_a_session_that_idles_is_ended() -> None:
    """Its server hears why, and its client is told 404 when it comes back."""
    tools, walker = place()
    ends: list[AnywireError | None] = []
    session = await walker.open()
    (transport,) = tools.transports
    end_of_server = transport.callbacks.on_close

    def note_end(error: AnywireError | None) -> None:
        ends.append(error)
        end_of_server(error)

    transport.callbacks.on_close = note_end

    await asyncio.sleep(IDLE * 0.9)
    assert len(walker.sessions) == 1
    await asyncio.sleep(IDLE * 0.3)

    assert len(walker.sessions) == 0
    assert "60 s" in str(ends[0])
    assert (await walker.post(ask(1, "ping"), session)).status == 404


@in_virtual_time
async def test_each_request_begins_the_time_anew() -> None:
    _, walker = place()
    session = await walker.open()
    for _ in range(5):
        await asyncio.sleep(IDLE * 0.8)
        assert (await walker.post(ask(1, "ping"), session)).status == 200


@in_virtual_time
async def test_a_session_whose_stream_is_open_does_not_idle_and_has_its_time_afterwards() -> None:
    """Also when the stream was open for very long and is lost just before a look at the table."""
    _, walker = place()
    session = await walker.open()
    async with walker.listen(session) as stream:
        await stream.read()
        await asyncio.sleep(IDLE * 10.95)
        assert len(walker.sessions) == 1

    await asyncio.sleep(IDLE * 0.9)
    assert (await walker.post(ask(1, "ping"), session)).status == 200
    await asyncio.sleep(IDLE * 1.2)
    assert len(walker.sessions) == 0


@in_virtual_time
async def test_a_session_whose_call_is_waited_for_does_not_idle() -> None:
    """A tool may take an hour, as long as somebody wants its result."""
    tools, walker = place()
    session = await walker.open()
    waiting = asyncio.ensure_future(walker.post(call(1, "hold"), session, accept="application/json"))
    await asyncio.sleep(IDLE * 10)
    tools.gate.set()

    assert (await waiting).status == 200


@in_virtual_time
async def test_a_session_whose_client_vanished_in_a_call_is_ended_all_the_same() -> None:
    """A handler that never returns does not keep it for ever."""
    tools, walker = place()
    session = await walker.open()
    async with walker.begin(STEP_THEN_HOLD, session):
        await asyncio.sleep(0)
    await asyncio.sleep(IDLE * 1.2)

    assert len(walker.sessions) == 0
    assert tools.held == 0


@in_virtual_time
async def test_the_session_that_idled_longest_makes_room() -> None:
    """A hard cap: the newest is let in, the one that was used last is kept."""
    tools, walker = place()
    sessions = [await walker.open() for _ in range(5)]
    await walker.post(ask(1, "ping"), sessions[0])
    sixth = await walker.open()

    assert len(walker.sessions) == 5
    alive = [(await walker.post(ask(1, "ping"), each)).status for each in [*sessions, sixth]]
    assert alive == [200, 404, 200, 200, 200, 200]
    assert tools.transports[1].closed


@in_virtual_time
async def test_no_session_whose_stream_is_open_makes_room() -> None:
    """When all are in use, the newcomer is told to come back."""
    _, walker = place()
    streams = [walker.listen(await walker.open()) for _ in range(5)]
    for stream in streams:
        await stream.__aenter__()
    refused = await walker.post(initialize(), None)
    await streams[2].__aexit__(None, None, None)
    welcome = await walker.post(initialize(), None)
    for stream in (*streams[:2], *streams[3:]):
        await stream.__aexit__(None, None, None)

    assert refused.status == 503
    assert "too many sessions" in refused.error
    assert welcome.status == 200


@in_virtual_time
async def test_a_session_that_works_is_the_last_to_make_room() -> None:
    """Its client has gone and may come back for the reply; those that only idle go first."""
    _, walker = place()
    working = await walker.open()
    async with walker.begin(STEP_THEN_HOLD, working):
        pass
    idle = [await walker.open() for _ in range(4)]
    for _ in range(4):
        await walker.open()

    assert (await walker.post(ask(2, "ping"), idle[3])).status == 404
    assert (await walker.post(ask(2, "ping"), working)).status == 200


@in_virtual_time
async def test_a_session_that_its_server_ended_is_out_of_the_table_at_once() -> None:
    tools, walker = place()
    session = await walker.open()

    await tools.transports[0].close()

    assert len(walker.sessions) == 0
    assert (await walker.post(ask(1, "ping"), session)).status == 404


@in_virtual_time
async def test_the_end_of_a_session_answers_what_is_unanswered() -> None:
    """With an error: without one a client could take its call for refused, and send it again."""
    _, walker = place()
    session = await walker.open()
    waiting = asyncio.ensure_future(walker.post(call(7, "hold"), session))
    await asyncio.sleep(0.1)

    async with walker.exchange.open("DELETE", walker.url, walker.headers(session), None):
        answer = await waiting

    assert answer.status == 200
    assert answer.message["id"] == 7
    assert "session ended" in answer.error


async def test_messages_that_come_before_the_server_is_ready_are_kept() -> None:
    """A bridge starts a child first."""
    accepted: list[Transport] = []
    walker = Walker(HttpListener(accepted.append, lambda _: True, limits=QUICK))
    opening = asyncio.ensure_future(walker.post(initialize(), None))
    await until(lambda: accepted, "the session is accepted")
    (transport,) = accepted
    received: list[Message | Batch] = []
    transport.callbacks.on_message = received.append
    await turn()
    assert received == []

    await transport.start()
    (request,) = received
    assert isinstance(request, Request)
    transport.post(Response(request.id, b"{}"))

    assert (await opening).message["result"] == {}


async def test_session_ids_are_not_alike() -> None:
    _, walker = place(QUICK)
    ids = {await walker.open() for _ in range(100)}

    assert len({id[:8] for id in ids}) == 100


@pytest.mark.parametrize("answers", ["http", "sse"])
async def test_a_closed_server_says_that_it_is_closed(answers: str) -> None:
    """And not that it is crowded, which would have its clients come back and back."""
    server = Tools().server
    app = server.http_app() if answers == "http" else server.sse_app()
    await app.close()
    caller = Caller("http://127.0.0.1/mcp")
    method, body = ("POST", json.dumps(initialize()).encode()) if answers == "http" else ("GET", None)
    async with AsgiExchange(app).open(method, caller.url, caller.headers(), body) as call:
        status, answer = call.status, await call.read_all()

    assert status == 503
    assert "has been closed" in json.loads(answer)["error"]["message"]
