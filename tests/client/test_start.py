"""A server that cannot be reached says why, in one sentence and one exception."""

from __future__ import annotations

import asyncio
import os
import pickle
import sys
from collections.abc import Awaitable

import pytest

from anywire import ConnectFailed, Limits, ProcessExited, connect
from anywire.errors import AnywireError, ConfigError, DeadlineExceeded, SpawnFailed
from anywire.transport import process, stdio_client
from anywire.transport.silence import FirstWords, explain
from anywire.wire.framing import Framing
from tests.transport.children import program

LIMITS = Limits(connect_seconds=1.0, probe_seconds=0.2)


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """No verdicts from other tests, and short waits."""
    monkeypatch.setattr(stdio_client, "_verdicts", {})
    monkeypatch.setattr(stdio_client, "_IDLE_SECONDS", 0.1)
    monkeypatch.setattr(stdio_client, "_LOOK_SECONDS", 0.05)
    for name in ("EOF_SECONDS", "TERM_SECONDS"):
        monkeypatch.setattr(process, name, 0.3)


async def failure(
    argv: list[str], framing: Framing | None = None, *, connect_seconds: float = 1.0
) -> AnywireError:
    """The one exception with which connecting fails."""
    limits = LIMITS.replace(connect_seconds=connect_seconds)
    client = connect(argv, framing=framing, limits=limits)
    with pytest.raises(AnywireError) as failed:
        await client.open()
    assert argv[0] in str(failed.value)
    return failed.value


async def test_program_that_is_not_there() -> None:
    """The name and the places where it was looked for."""
    error = await failure(["no-such-program-anywhere", "--stdio"])
    assert isinstance(error, SpawnFailed)
    assert os.environ["PATH"] in str(error)


async def test_program_that_exits_before_it_answers() -> None:
    """Exit code and last words."""
    error = await failure(program("print('no database', file=sys.stderr); sys.exit(3)"))
    assert isinstance(error, ProcessExited)
    assert (error.returncode, error.stderr_tail, error.unanswered) == (3, "no database", True)
    assert str(error).endswith("exited with code 3 before it answered; its last words: no database")


async def test_program_that_prints_its_usage_and_exits() -> None:
    """What it printed is shown, since it says more than the code."""
    error = await failure(program("print('usage: tool [--mcp]'); sys.exit(0)"))
    assert isinstance(error, ProcessExited)
    assert "exited with code 0 before it answered; on stdout it wrote 'usage: tool [--mcp]\\n'" in str(error)


@pytest.mark.parametrize("framing", [None, Framing.NEWLINE, Framing.HEADERS])
async def test_program_that_says_nothing_at_all(framing: Framing | None) -> None:
    """It is alive; which framings were tried is told."""
    error = await failure(program("time.sleep(60)"), framing)
    tried = "newline and headers" if framing is None else framing.value
    assert isinstance(error, ConnectFailed)
    assert isinstance(error.__cause__, DeadlineExceeded)
    assert f"within 1 s: it runs, but wrote nothing at all ({tried} framing tried)" in str(error)
    assert "processor time" not in str(error)


async def test_program_that_is_still_busy_starting() -> None:
    """Slow is told from dead."""
    error = await failure(program("while True: sum(range(10000))"), connect_seconds=4.0)
    assert "s of processor time, so it may be slow to start" in str(error)


@pytest.mark.parametrize("framing", [None, Framing.NEWLINE])
async def test_program_that_writes_to_stderr_only(framing: Framing | None) -> None:
    """Its last words are shown, and are no failure by themselves."""
    error = await failure(program("print('listening on port 80', file=sys.stderr); time.sleep(60)"), framing)
    assert "it wrote to stderr only" in str(error)
    assert str(error).endswith("its last words: listening on port 80")


@pytest.mark.parametrize("framing", [None, Framing.NEWLINE, Framing.HEADERS])
async def test_program_that_echoes(framing: Framing | None) -> None:
    """As a terminal does, or `cat`."""
    assert "it echoed our own bytes" in str(await failure(["cat"], framing))


async def test_terminal_in_the_path() -> None:
    """It echoes, with carriage returns."""
    code = "import pty, sys; pty.spawn([sys.executable, '-c', 'import time; time.sleep(60)'])"
    assert "it echoed our own bytes" in str(await failure([sys.executable, "-c", code]))


BUFFERED = """
sys.stdout = open(1, "w", buffering=65536, closefd=False)
def say(message): sys.stdout.write(json.dumps(message) + "\\n")
serve()
"""


@pytest.mark.parametrize("framing", [None, Framing.NEWLINE])
async def test_program_whose_output_is_block_buffered(framing: Framing | None) -> None:
    """It answers when its input ends, which is too late."""
    error = await failure(program(BUFFERED), framing)
    assert "its output is block-buffered; make it flush after each message" in str(error)


async def test_program_that_speaks_behind_headers_where_lines_were_asked_for() -> None:
    """The mismatch is named."""
    code = "say_framed({'jsonrpc': '2.0', 'method': 'hello'}); serve_framed()"
    error = await failure(program(code), Framing.NEWLINE)
    assert "it speaks another framing, with Content-Length headers: 'Content-Length: 37" in str(error)


async def test_program_that_speaks_in_lines_where_headers_were_asked_for() -> None:
    """And the other way round."""
    code = "say({'jsonrpc': '2.0', 'method': 'hello'}); sys.stdin.read()"
    error = await failure(program(code), Framing.HEADERS)
    assert "it speaks another framing, one message a line" in str(error)


async def test_program_that_talks_of_something_else() -> None:
    """The beginning is shown."""
    error = await failure(program("print('Welcome to the shell!', flush=True); time.sleep(60)"))
    assert "what it wrote on stdout is no answer: 'Welcome to the shell!\\n'" in str(error)


async def test_failure_to_connect_is_never_a_group() -> None:
    """Also with a time-out around it, and in a group of tasks."""

    async def opened(argv: list[str]) -> None:
        async with connect(argv, limits=LIMITS):
            pass

    async def outcome(waiting: Awaitable[None]) -> BaseException:
        with pytest.raises(Exception) as failed:
            await waiting
        return failed.value

    argv = program("sys.exit(1)")
    assert isinstance(await outcome(opened(argv)), ProcessExited)
    assert isinstance(await outcome(asyncio.wait_for(opened(argv), 10)), ProcessExited)
    assert isinstance(await outcome(asyncio.wait_for(opened(program("time.sleep(60)")), 0.1)), TimeoutError)


@pytest.mark.parametrize("target", ["", [], [1], ["a", None], None, 7, b"cmd", {"argv": ["x"]}])
def test_target_that_is_none_is_refused_with_a_sentence(target: object) -> None:
    """Before anything is started."""
    with pytest.raises(ConfigError, match="cannot connect to"):
        connect(target)  # pyright: ignore[reportArgumentType] the point of the test


def test_error_survives_being_copied_and_pickled() -> None:
    """It may cross to another process."""
    error = ProcessExited("cmd", -9, "words", unanswered=True, output="out")
    again = pickle.loads(pickle.dumps(error))

    assert (str(again), again.__dict__) == (str(error), error.__dict__)
    assert isinstance(again, ProcessExited)


def test_output_that_came_long_after_the_end_of_input_was_not_held_back() -> None:
    """It was slow."""
    slow = FirstWords(b"", None, 10.0)
    slow.note(b'{"jsonrpc"', 11.0)
    prompt = FirstWords(b"", None, 10.0)
    prompt.note(b'{"jsonrpc"', 10.1)

    def reason(words: FirstWords) -> str:
        return explain(words, stderr="", asked=None, tried=[Framing.NEWLINE], busy_seconds=0.0)

    assert "block-buffered" not in reason(slow)
    assert "block-buffered" in reason(prompt)
