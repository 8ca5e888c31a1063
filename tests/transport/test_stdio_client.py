"""The calling end of stdio: a child that is a server, and whatever it does instead of serving."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from anywire.errors import AnywireError, ProcessExited, SpawnFailed, TransportBroken, TransportClosed
from anywire.transport import process
from anywire.transport.process import Command
from anywire.transport.stdio_client import StdioClientTransport
from anywire.wire.framing import Framing
from anywire.wire.limits import Limits
from anywire.wire.message import Batch, Fault, Message, Response, create_notification, create_request
from tests.transport.children import alive, eventually, program

INITIALIZE = create_request(0, "initialize", {"protocolVersion": "2025-06-18"})
CALL = create_request(1, "tools/call", {"name": "x"})


class Wire:
    """A transport to a child, and what came of it."""

    def __init__(self, code: str, framing: Framing | None = Framing.NEWLINE, **limits: Any) -> None:
        self.messages: list[Message | Batch] = []
        self.faults: list[Fault | AnywireError] = []
        self.closed: list[AnywireError | None] = []
        self.transport = StdioClientTransport(
            Command(tuple(program(code))), framing=framing, limits=Limits(**limits)
        )
        callbacks = self.transport.callbacks
        callbacks.on_message = self.messages.append
        callbacks.on_error = self.faults.append
        callbacks.on_close = self.closed.append

    @property
    def pid(self) -> int:
        """The process id of the child there is now."""
        assert self.transport.child is not None
        return self.transport.child.pid

    async def messages_come(self, count: int, within: float = 10.0) -> None:
        """Wait until so many messages are here."""
        await eventually(lambda: len(self.messages) >= count, within)

    async def end(self, within: float = 10.0) -> AnywireError | None:
        """Wait until the wire has ended by itself; return why."""
        await eventually(lambda: bool(self.closed), within)
        return self.closed[0]


@asynccontextmanager
async def wire(code: str, framing: Framing | None = Framing.NEWLINE, **limits: Any) -> AsyncGenerator[Wire]:
    """A wire that has been started; at the end it is closed, and its child is gone."""
    opened = Wire(code, framing, **limits)
    await opened.transport.start()
    pid = opened.pid
    try:
        yield opened
    finally:
        await opened.transport.close()
    assert not alive(opened.pid)
    assert not alive(pid)
    assert len(opened.closed) == 1


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each step of the ending takes a tenth of its time."""
    for name in ("EOF_SECONDS", "TERM_SECONDS", "KILL_SECONDS"):
        monkeypatch.setattr(process, name, 0.2)


# Messages.


async def test_messages_go_there_and_back_in_order() -> None:
    """Each in a line."""
    async with wire("serve()") as there:
        there.transport.post(INITIALIZE)
        for number in range(1, 100):
            await there.transport.send(create_request(number, "ping"))
        await there.messages_come(100)

        assert [item.id for item in there.messages if isinstance(item, Response)] == [
            b"%d" % number for number in range(100)
        ]
    assert there.closed == [None]


@pytest.mark.parametrize("framing", [Framing.NEWLINE, None])
async def test_what_a_child_says_in_its_first_moment_is_heard(framing: Framing | None) -> None:
    """Before whoever started it had a chance to look."""
    for _ in range(10):
        async with wire("say({'jsonrpc': '2.0', 'method': 'early'}); read()", framing) as there:
            await there.messages_come(1)
            assert there.messages == [create_notification("early")]


async def test_noise_between_messages_is_handed_on_as_such_and_harms_nothing() -> None:
    """Banners before the first reply, log lines between two."""
    code = """
def noisy(request):
    print("[db] connected", flush=True)
    text(request, "one")
    print('{"level": "info"}', flush=True)
print("\\u2713 ready", flush=True)
serve(noisy)
"""
    async with wire(code, None) as there:
        there.transport.post(INITIALIZE)
        await there.messages_come(1)
        there.transport.post(CALL)
        await there.messages_come(2)
        await eventually(lambda: len(there.faults) == 3)

        assert [fault.data for fault in there.faults if isinstance(fault, Fault)] == [
            "\u2713 ready".encode(),
            b"[db] connected",
            b'{"level": "info"}',
        ]


async def test_reply_that_was_cut_by_a_full_pipe_is_put_together() -> None:
    """The child writes more than a pipe holds while nobody reads."""
    async with wire("serve(lambda request: text(request, 'x' * 1_000_000))") as there:
        there.transport.pause_reading()
        there.transport.post(CALL)
        await asyncio.sleep(0.2)  # for the pipe to fill up at 65,536 bytes
        assert there.messages == []
        there.transport.resume_reading()
        await there.messages_come(1)

        (reply,) = there.messages
        assert isinstance(reply, Response)
        assert len(reply.result) > 1_000_000


async def test_lines_of_stderr_go_to_the_log_with_the_name_of_the_server(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Which is its command line."""
    caplog.set_level(logging.INFO, "anywire.child")
    async with wire("sys.stderr.write('caf\\u00e9 open\\n'); sys.stderr.flush(); serve()") as there:
        await eventually(lambda: bool(caplog.records))

        assert caplog.messages == [f"{there.transport.name}: caf\u00e9 open"]
        assert "python" in there.transport.name


# The end.


async def test_child_that_exits_ends_the_wire_with_code_and_last_words() -> None:
    """After everything it said was handed on."""
    async with wire("reply(read()); sys.stderr.write('out of memory\\n'); sys.exit(3)") as there:
        there.transport.post(CALL)
        error = await there.end()

        assert isinstance(error, ProcessExited)
        assert (error.returncode, error.stderr_tail) == (3, "out of memory")
        assert str(error) == f"{there.transport.name} exited with code 3; its last words: out of memory"
        assert len(there.messages) == 1
        with pytest.raises(TransportClosed):
            there.transport.post(CALL)


async def test_child_that_is_killed_ends_the_wire_with_the_signal() -> None:
    """Which is the only thing known of it."""
    async with wire("serve()") as there:
        os.kill(there.pid, signal.SIGKILL)
        error = await there.end()

        assert isinstance(error, ProcessExited)
        assert error.returncode == -signal.SIGKILL
        assert "was ended by signal 9" in str(error)


async def test_child_that_leaves_a_grandchild_on_its_output_is_gone_all_the_same() -> None:
    """The pipe stays open; the exit counts, and the grandchild is ended."""
    async with wire("subprocess.Popen(['sleep', '60']); print('started', flush=True); os._exit(1)") as there:
        error = await there.end()
        assert isinstance(error, ProcessExited)
        assert error.returncode == 1


@pytest.mark.usefixtures("impatient")
async def test_child_that_closes_its_output_and_runs_on_is_ended() -> None:
    """It cannot answer any more."""
    async with wire("os.close(1); time.sleep(60)") as there:
        pid = there.pid
        error = await there.end()
        assert isinstance(error, ProcessExited)
        assert "closed its output" in str(error)
        await eventually(lambda: not alive(pid))


@pytest.mark.usefixtures("impatient")
async def test_child_that_closes_its_input_still_answers_what_it_has_read() -> None:
    """What comes later is refused by name."""
    code = "request = read(); os.close(0); time.sleep(1.0); reply(request); time.sleep(60)"
    async with wire(code) as there:
        there.transport.post(CALL)
        await there.messages_come(1)
        assert there.closed == []
        with pytest.raises(TransportBroken, match="has closed its input"):
            there.transport.post(CALL)


@pytest.mark.usefixtures("impatient")
async def test_child_that_closes_its_input_before_it_has_read_everything_ends_the_wire() -> None:
    """What was sent is lost, and whoever waits for an answer must know."""
    async with wire("os.close(0); print(1, flush=True); time.sleep(60)") as there:
        await eventually(lambda: bool(there.faults))
        there.transport.post(CALL)
        error = await there.end()

        assert isinstance(error, TransportBroken)
        assert "has closed its input" in str(error)


async def test_child_that_is_leaving_when_something_is_sent_tells_its_exit_code() -> None:
    """Not that its input is closed, which it is first."""
    async with wire("os.close(0); print(1, flush=True); time.sleep(0.2); sys.exit(4)") as there:
        await eventually(lambda: bool(there.faults))
        there.transport.post(CALL)
        error = await there.end()

        assert isinstance(error, ProcessExited)
        assert error.returncode == 4


@pytest.mark.usefixtures("impatient")
async def test_closing_is_bounded_whatever_the_child_does() -> None:
    """It neither reads, nor leaves, nor heeds TERM."""
    async with wire(
        "signal.signal(signal.SIGTERM, signal.SIG_IGN); print(1, flush=True); time.sleep(60)"
    ) as there:
        await eventually(lambda: bool(there.faults))
        for _ in range(20):
            there.transport.post(create_notification("large", "x" * 200_000))
        async with asyncio.timeout(5):
            await there.transport.close()


async def test_sender_that_waits_for_room_is_let_go_by_the_end() -> None:
    """With the reason."""
    async with wire("print(1, flush=True); time.sleep(1.0); sys.exit(5)") as there:
        await eventually(lambda: bool(there.faults))
        with pytest.raises(TransportClosed, match="exited with code 5"):
            await there.transport.send(create_notification("large", "x" * 5_000_000))


async def test_closing_from_several_tasks_is_one_closing() -> None:
    """And once more afterwards."""
    async with wire("serve()") as there:
        await asyncio.gather(*(there.transport.close() for _ in range(5)))
        await there.transport.close()
        assert there.closed == [None]


async def test_closing_goes_on_when_whoever_asked_for_it_is_cancelled() -> None:
    """A time-out around a close is no way to keep a child."""
    async with wire("sys.stdin.read(); time.sleep(0.2)") as there:
        closing = asyncio.create_task(there.transport.close())
        await asyncio.sleep(0)
        closing.cancel()
        await asyncio.wait([closing])
        await there.end()


@pytest.mark.parametrize("turns", [0, 1, 2, 3, 5, 10])
async def test_closing_while_it_starts_leaves_no_child(turns: int) -> None:
    """When `close()` has returned, there is none."""
    there = Wire("serve()")
    starting = asyncio.create_task(there.transport.start())
    for _ in range(turns):
        await asyncio.sleep(0)
    await there.transport.close()
    assert there.closed == [None]
    assert there.transport.child is None or not alive(there.pid)
    if not starting.done() or starting.exception() is not None:
        with pytest.raises(TransportClosed, match="closed"):
            await starting


async def test_transport_that_was_closed_is_not_started() -> None:
    """It would have nobody to end it."""
    there = Wire("serve()")
    await there.transport.close()
    with pytest.raises(TransportClosed):
        await there.transport.start()
    assert there.transport.child is None


async def test_start_that_fails_can_be_closed() -> None:
    """As any other."""
    transport = StdioClientTransport(Command(("/no/such/program",)))
    closed: list[AnywireError | None] = []
    transport.callbacks.on_close = closed.append
    with pytest.raises(SpawnFailed):
        await transport.start()
    await transport.close()

    assert closed == [None]
    assert "nothing at all" in transport.explain_silence()
