"""How long a server behind a bridge may be silent, and what tells that it is alive."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from anywire.bridge.metering.layer import MeterLayer
from anywire.bridge.metering.meter import ServerMeter, State
from anywire.bridge.patience import PatienceLayer
from anywire.errors import AnywireError, DeadlineExceeded
from anywire.testing import ScriptedPeer, check_transport, in_virtual_time
from anywire.transport.contract import Transport
from anywire.transport.memory import memory_pair
from anywire.wire.message import (
    Batch,
    Message,
    Notification,
    Request,
    Response,
    create_notification,
    create_request,
)

START, CALL = 20.0, 5.0


class Waiting:
    """A layer around one end, a server that the test plays at the other, and what is heard meanwhile."""

    def __init__(self, start: float = START, call: float = CALL) -> None:
        mine, other = memory_pair()
        self.layer = PatienceLayer(mine, start_seconds=start, call_seconds=call)
        self.server = ScriptedPeer(other, patience=600.0)
        self.heard: list[Message | Batch] = []
        self.failed: list[tuple[bytes, AnywireError]] = []
        self.closed: list[AnywireError | None] = []
        callbacks = self.layer.callbacks
        callbacks.on_message = self.heard.append
        callbacks.on_failed = lambda id, error: self.failed.append((id, error))
        callbacks.on_close = self.closed.append

    async def called(self) -> None:
        """Send a call that the server gets."""
        params = {"name": "x", "_meta": {"progressToken": "p"}}
        self.layer.post(create_request(1, "tools/call", params))
        assert (await self.server.receive())["method"] == "tools/call"


@asynccontextmanager
async def waiting(start: float = START, call: float = CALL) -> AsyncGenerator[Waiting]:
    """Both ends are open, and nothing has been said."""
    w = Waiting(start, call)
    await w.server.start()
    await w.layer.start()
    try:
        yield w
    finally:
        await w.layer.close()
        await w.server.transport.close()


async def test_it_keeps_the_contract_of_transports() -> None:
    """Whatever it stands around."""

    @asynccontextmanager
    async def pair() -> AsyncGenerator[tuple[Transport, Transport]]:
        one, other = memory_pair()
        yield PatienceLayer(one, start_seconds=60, call_seconds=60), other

    await check_transport(pair)


@in_virtual_time
async def test_a_server_that_does_not_answer_its_handshake_is_ended() -> None:
    """With the reason, once; nothing is heard of it and nothing is sent to it any more."""
    async with waiting() as w:
        w.layer.post(create_request(1, "initialize", {}))
        await asyncio.sleep(START - 1)
        assert not w.layer.closed
        await asyncio.sleep(2)
        assert w.layer.closed
    (error,) = w.closed
    assert isinstance(error, DeadlineExceeded)
    assert str(error).endswith("did not answer initialize within 20 s")


@in_virtual_time
async def test_a_server_that_has_answered_may_be_silent() -> None:
    """While nobody asks it anything."""
    async with waiting() as w:
        w.layer.post(create_request(1, "initialize", {}))
        await w.server.answer(await w.server.receive(), {})
        await asyncio.sleep(10 * START)
        assert not w.layer.closed
        assert len(w.heard) == 1


@in_virtual_time
async def test_a_call_without_a_sign_of_life_fails_and_is_cancelled() -> None:
    """The answer that comes late is handed on: whoever gets it knows that nobody waits."""
    async with waiting() as w:
        await w.called()
        cancelled = await w.server.receive()
        assert cancelled["method"] == "notifications/cancelled"
        assert cancelled["params"]["requestId"] == 1
        ((id, error),) = w.failed
        assert (id, isinstance(error, DeadlineExceeded)) == (b"1", True)
        assert str(error).endswith("gave no sign of life on tools/call within 5 s")
        assert not w.layer.closed


@in_virtual_time
async def test_progress_and_questions_are_signs_of_life() -> None:
    """While a question is not answered the server is not to blame; after that it is again."""
    async with waiting() as w:
        await w.called()
        for count in range(3):
            await asyncio.sleep(CALL - 1)
            params = {"progressToken": "p", "progress": count}
            await w.server.send(create_notification("notifications/progress", params))
        await asyncio.sleep(CALL - 1)
        await w.server.send(create_request("q", "roots/list", {}))
        await asyncio.sleep(10 * CALL)
        assert not w.failed
        w.layer.post(Response(b'"q"', b"{}"))
        await asyncio.sleep(CALL - 1)
        assert not w.failed
        await asyncio.sleep(2)
        assert len(w.failed) == 1


@in_virtual_time
async def test_what_is_answered_or_cancelled_or_lasts_does_not_fail() -> None:
    """A subscription is answered when the client wants to hear no more."""
    async with waiting() as w:
        w.layer.post(Request(b"1", "tools/call"))
        w.layer.post(Request(b"2", "tools/call"))
        w.layer.post(Request(b"3", "subscriptions/listen"))
        await w.server.answer(await w.server.receive(), {})
        w.layer.post(Notification("notifications/cancelled", b'{"requestId":2}'))
        await asyncio.sleep(10 * CALL)
        assert (w.failed, w.closed) == ([], [])


@in_virtual_time
async def test_a_start_that_times_out_is_failing() -> None:
    """As the meter sees it: an error of its own kind, and not one of the client's."""
    mine, other = memory_pair()
    server, meter = ScriptedPeer(other), ServerMeter("slow", 0.0)
    layer = MeterLayer(PatienceLayer(mine, start_seconds=START), meter)
    await server.start()
    await layer.start()
    layer.post(create_request(1, "initialize", {}))
    await asyncio.sleep(START + 1)
    assert meter.state is State.FAILING
    assert meter.methods["initialize"].errors == {"timed_out": 1}
    assert meter.last_error is not None
    await layer.close()
    await server.transport.close()
    assert meter.state is State.FAILING


@in_virtual_time
async def test_a_call_that_takes_too_long_says_little_of_the_server() -> None:
    """It runs, and the call is an error of its own kind."""
    mine, other = memory_pair()
    server, meter = ScriptedPeer(other), ServerMeter("slow", 0.0)
    layer = MeterLayer(PatienceLayer(mine, call_seconds=CALL), meter)
    await server.start()
    await layer.start()
    layer.post(create_request(1, "initialize", {}))
    await server.answer(await server.receive(), {})
    await asyncio.sleep(0)
    layer.post(create_request(2, "tools/call", {"name": "x"}))
    await asyncio.sleep(CALL + 1)
    assert meter.state is State.RUNNING
    assert meter.methods["tools/call"].errors == {"timed_out": 1}
    await layer.close()
    await server.transport.close()
