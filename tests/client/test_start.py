"""A server that cannot be reached says why, in one sentence and one exception."""

from __future__ import annotations

import asyncio
import pickle
import sys
from collections.abc import Awaitable

import pytest

from anywire import ConnectFailed, Limits, ProcessExited, connect
from anywire.errors import AnywireError, ConfigError, DeadlineExceeded, SpawnFailed
from anywire.transport import process, silence, stdio_client
from anywire.transport.silence import FirstWords, explain
from anywire.wire.framing import Framing
from tests.transport.children import program

LIMITS = Limits(connect_seconds=2.0, probe_seconds=0.3)

SILENT = "it runs, but wrote nothing at all"
ECHO = "it echoed our own bytes: a terminal, or `cat`, stands where the server should be"
BUFFERED = "its output is block-buffered; make it flush after each message"
NEWLINE, HEADERS = Framing.NEWLINE, Framing.HEADERS

HOLDS_BACK = """
sys.stdout = open(1, "w", buffering=65536, closefd=False)
def say(message): sys.stdout.write(json.dumps(message) + "\\n")
serve()
"""
WAITS = "time.sleep(60)"
TERMINAL = f"import pty, sys; pty.spawn([sys.executable, '-c', 'import time; {WAITS}'])"
TO_STDERR = f"print('listening on port 80', file=sys.stderr); {WAITS}"
FRAMED = "say_framed({'jsonrpc': '2.0', 'method': 'hello'}); serve_framed()"
LINES = "say({'jsonrpc': '2.0', 'method': 'hello'}); sys.stdin.read()"

#: What is started, in which framing, and the sentence that must be part of the failure.
CASES: dict[str, tuple[list[str], Framing | None, str]] = {
    "not there": (["no-such-program-anywhere"], None, "no program 'no-such-program-anywhere' was found on the PATH"),
    "not executable": (["/dev/null"], None, "'/dev/null' may not be executed"),
    "exits": (
        program("print('no database', file=sys.stderr); sys.exit(3)"),
        None,
        "exited with code 3 before it answered; its last words: no database",
    ),
    "prints its usage and exits": (
        program("print('usage: tool [--mcp]')"),
        None,
        "exited with code 0 before it answered; on stdout it wrote 'usage: tool [--mcp]\\n'",
    ),
    "is killed": (program("os.kill(os.getpid(), 9)"), None, "was ended by signal 9 before it answered"),
    "says nothing": (program(WAITS), None, f"within 2 s: {SILENT} (newline and headers framing tried)"),
    "says nothing, in lines": (program(WAITS), NEWLINE, f"{SILENT} (newline framing tried)"),
    "says nothing, behind headers": (program(WAITS), HEADERS, f"{SILENT} (headers framing tried)"),
    "writes to stderr only": (program(TO_STDERR), None, "its last words: listening on port 80"),
    "writes to stderr only, in lines": (program(TO_STDERR), NEWLINE, "it wrote to stderr only (newline framing tried)"),
    "echoes": (["cat"], None, ECHO),
    "echoes, in lines": (["cat"], NEWLINE, ECHO),
    "echoes, behind headers": (["cat"], HEADERS, ECHO),
    "is behind a terminal": ([sys.executable, "-c", TERMINAL], None, ECHO),
    "holds its output back": (program(HOLDS_BACK), None, BUFFERED),
    "holds its output back, in lines": (program(HOLDS_BACK), NEWLINE, BUFFERED),
    "speaks behind headers where lines were asked for": (
        program(FRAMED),
        NEWLINE,
        "it speaks another framing, with Content-Length headers: 'Content-Length: 37",
    ),
    "speaks in lines where headers were asked for": (
        program(LINES),
        HEADERS,
        "it speaks another framing, one message a line: '{\"jsonrpc\"",
    ),
    "talks of something else": (
        program(f"print('Welcome to the shell!', flush=True); {WAITS}"),
        None,
        "what it wrote on stdout is no answer: 'Welcome to the shell!\\n'",
    ),
}  # fmt: skip


async def failure(argv: list[str], framing: Framing | None, limits: Limits = LIMITS) -> AnywireError:
    """The one exception with which connecting fails."""
    with pytest.raises(AnywireError) as failed:
        await connect(argv, framing=framing, limits=limits).open()
    return failed.value


@pytest.fixture(scope="module")
def failures() -> dict[str, AnywireError]:
    """What became of all cases, tried at once."""

    async def all_at_once() -> list[AnywireError]:
        return await asyncio.gather(*(failure(argv, framing) for argv, framing, _ in CASES.values()))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stdio_client, "_verdicts", {})
        patch.setattr(process, "EOF_SECONDS", 0.5)
        return dict(zip(CASES, asyncio.run(all_at_once()), strict=True))


@pytest.mark.parametrize("case", CASES)
def test_server_that_cannot_be_reached_says_why(case: str, failures: dict[str, AnywireError]) -> None:
    """In one exception of the right kind, with the command and the reason."""
    argv, _, sentence = CASES[case]
    error = failures[case]

    assert sentence in str(error)
    assert argv[0] in str(error)
    assert isinstance(error, ProcessExited if "before it answered" in sentence else ConnectFailed)
    assert isinstance(error, SpawnFailed) == case.startswith("not ")
    assert isinstance(error.__cause__, DeadlineExceeded) == ("within 2 s" in str(error))
    assert "processor time" not in str(error)


def test_server_that_exits_tells_code_and_last_words(failures: dict[str, AnywireError]) -> None:
    """Also to a program."""
    error = failures["exits"]
    assert isinstance(error, ProcessExited)
    assert (error.returncode, error.stderr_tail, error.unanswered) == (3, "no database", True)


async def test_server_that_is_still_busy_starting_is_told_from_a_dead_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By the processor time it used."""
    monkeypatch.setattr(silence, "_BUSY_SECONDS", 0.2)
    monkeypatch.setattr(process, "EOF_SECONDS", 0.2)
    argv = program("while True: sum(range(10000))")
    error = await failure(argv, None, LIMITS.replace(connect_seconds=2.0))
    assert "s of processor time, so it may be slow to start" in str(error)


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


@pytest.mark.parametrize(
    ("text", "after", "held_back"),
    [(b'{"jsonrpc":"2.0"', 0.1, True), (b'{"jsonrpc":"2.0"', 1.0, False), (b"Bye!", 0.1, False)],
)
def test_output_is_held_back_when_an_answer_comes_right_after_the_end_of_input(
    text: bytes, after: float, held_back: bool
) -> None:
    """Later it was slow; and a last word is no answer."""
    words = FirstWords(input_ended=10.0)
    words.note(text, 10.0 + after)
    reason = explain(words, stderr="", asked=None, tried=[Framing.NEWLINE], busy_seconds=0.0)

    assert ("block-buffered" in reason) == held_back
