"""What a child is given and what it says: its environment, its stderr, its pipes."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from anywire.transport.environment import base_environment
from anywire.transport.process import ChildProcess, Command
from anywire.transport.stderr_tail import StderrTail
from anywire.transport.watchdog import MARK_VARIABLE
from tests.transport.children import Heard, eventually, program

ROOT = Path(__file__).parents[2]


async def environment(**options: Any) -> Mapping[str, str]:
    """The environment that a child sees."""
    heard = Heard()
    child = await heard.spawn("print(json.dumps(dict(os.environ)), flush=True)", **options)
    await child.wait()
    await child.end()
    return json.loads(heard.output)


# The environment.


async def test_child_gets_no_variable_that_merely_happens_to_be_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys and tokens above all."""
    monkeypatch.setenv("ANYWIRE_TEST_SECRET", "s3cret")
    monkeypatch.setenv("LC_ANYWIRE", "passes")
    seen = await environment()

    assert "s3cret" not in "".join(seen.values())
    assert seen["PATH"] == os.environ["PATH"]
    assert seen["LC_ANYWIRE"] == "passes"
    assert set(seen) <= {*base_environment(os.environ), "PYTHONUNBUFFERED", MARK_VARIABLE, "LC_CTYPE"}


@pytest.mark.parametrize("env", [{}, {"A": "1"}])
async def test_variables_are_merged_over_the_base(env: dict[str, str]) -> None:
    """None at all, and any, leave PATH and HOME where they were."""
    seen = await environment(env=env)

    assert {name: seen[name] for name in env} == env
    assert seen["PATH"] == os.environ["PATH"]
    assert seen["HOME"] == os.environ["HOME"]


async def test_variable_that_is_given_goes_over_the_base_and_over_ours() -> None:
    """What a user names is what the child gets."""
    seen = await environment(env={"HOME": "/elsewhere", "PYTHONUNBUFFERED": ""})

    assert (seen["HOME"], seen["PYTHONUNBUFFERED"]) == ("/elsewhere", "")


async def test_whole_environment_passes_when_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """And the given variables go over it."""
    monkeypatch.setenv("ANYWIRE_TEST_SECRET", "s3cret")
    monkeypatch.setenv("ANYWIRE_TEST_OTHER", "ours")
    seen = await environment(inherit_env=True, env={"ANYWIRE_TEST_OTHER": "given"})

    assert (seen["ANYWIRE_TEST_SECRET"], seen["ANYWIRE_TEST_OTHER"]) == ("s3cret", "given")


def test_value_that_an_old_shell_would_run_does_not_pass() -> None:
    """A function in a variable."""
    assert base_environment({"HOME": "() { :; }; echo", "PATH": "/bin"}) == {"PATH": "/bin"}


# stderr.


async def test_stderr_is_drained_however_much_comes() -> None:
    """A child that writes 4 MiB before it goes on is not held up, and what is kept of it is bounded."""
    heard = Heard()
    child = await heard.spawn("sys.stderr.write('noise ' * 700_000); print('on', flush=True); read()")
    await heard.until(b"on")
    await child.end()

    assert sum(map(len, heard.stderr)) == 4_200_000
    assert max(map(len, heard.stderr)) <= 4096
    assert len(child.stderr_tail) <= 8192


async def test_callback_that_raises_does_not_stop_the_draining() -> None:
    """Nor does it hide the last words."""
    reported: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context))

    def refuse(line: bytes) -> None:
        raise OSError(f"cannot write {line!r}")

    heard = Heard()
    code = "for n in range(3): sys.stderr.write(f'{n}\\n' + 'x' * 100_000 + '\\n')\nsys.exit(1)"
    child = await ChildProcess.spawn(Command(tuple(program(code))), heard.events(refuse))
    assert await child.wait() == 1
    await child.end()

    assert child.stderr_tail.endswith("x" * 100)
    assert "cannot write b'0'" in str(reported[0]["exception"])


def tail(*chunks: bytes) -> tuple[list[bytes], StderrTail]:
    """Feed a tail; return the lines it handed on, and itself."""
    lines: list[bytes] = []
    kept = StderrTail(lines.append)
    for chunk in chunks:
        kept.feed(chunk)
    return lines, kept


@pytest.mark.parametrize("cut", range(1, 16))
def test_lines_are_the_same_however_they_are_cut(cut: int) -> None:
    """And whatever ends them."""
    text = b"one\r\ntwo\n\nthree"
    lines, kept = tail(text[:cut], text[cut:])
    assert lines == [b"one", b"two", b""]
    kept.end()
    kept.end()

    assert lines == [b"one", b"two", b"", b"three"]
    assert kept.text == "one\ntwo\nthree"
    assert kept.size == len(text)


@pytest.mark.parametrize("cut", range(1, 40))
def test_progress_bar_is_the_line_that_a_terminal_shows(cut: int) -> None:
    """Each return to the beginning of the line takes back what was there."""
    text = b"load\r 10 %\r 50 %\r100 %\r\n\rdone\r\nnext\r"
    lines, kept = tail(text[:cut], text[cut:])

    assert lines == [b"100 %", b"done"]
    assert kept.text == "100 %\ndone\nnext"


def test_progress_bar_without_an_end_stays_small() -> None:
    """An hour of it is one line, and not yet an ended one."""
    lines, kept = tail(*(b"\r%7d of 100000" % n for n in range(100_000)))

    assert lines == []
    assert kept.text == "99999 of 100000"


def test_line_without_an_end_is_handed_on_in_pieces() -> None:
    """Of bounded size, and nothing of it is lost."""
    lines, kept = tail(b"x" * 10_000, b"y" * 10_000)
    kept.end()

    assert b"".join(lines) == b"x" * 10_000 + b"y" * 10_000
    assert {len(line) for line in lines[:-1]} == {4096}


def test_last_lines_are_kept_and_blank_ones_do_not_push_them_out() -> None:
    """Twenty lines, the last of them, within eight kilobytes."""
    _, kept = tail(b"".join(b"line %d\n" % n for n in range(100)), b"\n \n" * 50)
    assert kept.text.splitlines() == [f"line {n}" for n in range(80, 100)]

    _, long = tail(b"".join(b"%d" % n + b"z" * 3000 + b"\n" for n in range(30)))
    assert len(long.text) <= 8192
    assert long.text.endswith("z" * 3000)


def test_bytes_that_are_no_text_are_shown_as_replaced() -> None:
    """A tail goes into an error's sentence, whatever it is."""
    assert tail(b"caf\xe9 \xff\n")[1].text == "caf\ufffd \ufffd"


# The pipes.


async def test_child_that_closes_its_stdin_is_noticed_while_nothing_is_written() -> None:
    """And what is written then is known to be lost."""
    heard = Heard()
    child = await heard.spawn("os.close(0); print('deaf', flush=True); time.sleep(0.5)")
    async with asyncio.timeout(10):
        await heard.input_closed.wait()
    assert not child.lost_input
    child.write(b"anybody there?\n")
    assert child.lost_input
    await child.end()


async def test_what_waits_when_a_child_closes_its_stdin_is_known_to_be_lost() -> None:
    """Nobody is told that it was read."""
    heard = Heard()
    child = await heard.spawn("sys.stdin.buffer.read1(5); os.close(0); time.sleep(0.5)")
    child.write(b"x" * 1_000_000)
    async with asyncio.timeout(10):
        await heard.input_closed.wait()

    assert child.lost_input
    assert child.buffered == 0
    await child.end()


async def test_reading_can_be_held_and_released() -> None:
    """The child waits in the meantime, and nothing is lost."""
    heard = Heard()
    child = await heard.spawn(
        "sys.stdout.write('x' * 1_000_000); sys.stdout.flush(); print('y', file=sys.stderr); read()"
    )
    child.pause_output()
    await asyncio.sleep(0.2)  # for the child to write what a pipe takes
    assert heard.output == b""
    assert heard.stderr == []
    child.resume_output()
    await eventually(lambda: len(heard.output) == 1_000_000 and heard.stderr == [b"y"])
    await child.end()
    child.pause_output()
    child.resume_output()


FORKING = """
import asyncio, os, sys
from anywire.transport.process import ChildProcess, Command
from tests.transport.children import Heard

async def main():
    heard = Heard()
    child = await heard.spawn("print('ready', flush=True); sys.stdin.read()")
    await heard.until(b"ready")
    read_end, write_end = os.pipe()
    fork = os.fork()
    if fork == 0:
        os.close(write_end)
        os.read(read_end, 1)  # until the parent is done
        os._exit(0)
    await child.end()
    os.close(write_end)
    os.waitpid(fork, 0)
    sys.exit(child.returncode)

asyncio.run(main())
"""


def test_fork_of_ours_does_not_keep_the_input_of_a_child_open() -> None:
    """It inherits the descriptor, and the child would wait for the end of its input for ever."""
    command = [sys.executable, "-W", "ignore", "-c", FORKING]
    done = subprocess.run(command, timeout=60, check=False, capture_output=True, cwd=ROOT)

    assert (done.returncode, done.stderr) == (0, b"")
