"""Control channels between processes, whoever has started whom."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import pytest

from anywire import ConnectFailed, Server, TransportError, connect
from anywire.errors import ProcessExited
from anywire.transport.control.child import ChildChannel
from anywire.transport.control.router import ControlRouter
from anywire.transport.control.sole import control_target
from anywire.transport.process import Command
from anywire.wire.limits import DEFAULT_LIMITS
from tests.transport.child import PROGRAMS
from tests.transport.children import alive, eventually

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="stdio is that of POSIX systems")


def command(what: str) -> Command:
    """The command line of the program that does that."""
    return Command((sys.executable, "-W", "error", str(PROGRAMS / "control.py"), what))


class Program(ChildChannel):
    """The channel to a program, and what that says on stderr."""

    def __init__(self, what: str, **limits: Any) -> None:
        self.said: list[str] = []
        limits_of = DEFAULT_LIMITS.replace(**limits)
        super().__init__(
            command(what), limits=limits_of, on_stderr=lambda line: self.said.append(line.decode())
        )


@pytest.mark.parametrize("what", ["router", "face"])
async def test_a_server_in_a_program_that_is_started_is_a_server_like_any_other(what: str) -> None:
    """The target of a client; its end is the end of the program."""
    program = Program(what)
    async with asyncio.timeout(30), connect(control_target("calc", program)) as client:
        results = await asyncio.gather(*(client.call_tool("double", {"number": n}) for n in range(50)))
        assert [result.text for result in results] == [str(2 * n) for n in range(50)]
    assert "".join(program.said).count("this is no line of the channel") == 50
    assert program.said[-1] == "left in order"
    assert program.child is not None
    assert not alive(program.child.pid)


async def test_a_program_without_that_server_is_told_apart_from_one_that_fails() -> None:
    """The names that it has are said, and it is ended."""
    program = Program("router")
    with pytest.raises(ConnectFailed, match="the program has no server 'clac'; servers are: calc, other"):
        await control_target("clac", program).start()
    assert program.child is not None
    assert not alive(program.child.pid)


async def test_a_program_that_dies_is_named_with_its_last_words() -> None:
    """Before it has said what it has: its command, its exit code, what it said."""
    with pytest.raises(ConnectFailed, match=r"(?s)control\.py dies.*left before.*code 3.*no licence"):
        await control_target("calc", Program("dies")).start()


async def test_a_program_that_says_nothing_is_not_waited_for() -> None:
    """It is ended after the time to connect."""
    program = Program("silent")
    target = control_target("calc", program, limits=DEFAULT_LIMITS.replace(connect_seconds=0.01))
    with pytest.raises(ConnectFailed, match=r"did not initialize within 0\.01 s"):
        await target.start()
    assert program.child is not None
    assert not alive(program.child.pid)


async def test_a_program_that_dies_in_a_call_fails_the_call() -> None:
    """At once, and the error says how it ended."""
    program = Program("face")
    async with asyncio.timeout(30), connect(control_target("calc", program)) as client:
        with pytest.raises(TransportError, match=r"(?s)code 7.*I leave"):
            await client.call_tool("leave", {})


@pytest.mark.parametrize("what", ["target", "host"])
async def test_a_host_that_is_started_reaches_the_servers_here(what: str) -> None:
    """As an SDK starts the program of its agent."""
    program, lines = Program(what), list[dict[str, Any]]()
    server = Server("calc", version="1")

    @server.tool
    def double(number: int) -> int:
        """Double a number."""
        return 2 * number

    async with (
        asyncio.timeout(30),
        ControlRouter(program, {"calc": server.accept}, on_line=lines.append) as router,
    ):
        await router.initialize()
        if what == "target":
            with pytest.raises(ProcessExited, match="code 0"):
                await router.wait()
        else:
            await eventually(lambda: bool(lines))
    assert program.said == ["8", "left in order"]
    await server.close()
