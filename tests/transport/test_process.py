"""A child process from its start to its end."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from anywire.errors import SpawnFailed
from anywire.transport import process
from anywire.transport.process import ChildProcess, Command
from tests.transport.children import Heard, alive, eventually, numbers, program

STUBBORN = "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
READY = "print('ready', flush=True)\n"


def descriptors() -> int:
    """How many are open."""
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each step of the ending takes a tenth of its time."""
    for name in ("EOF_SECONDS", "TERM_SECONDS", "KILL_SECONDS"):
        monkeypatch.setattr(process, name, 0.2)


# The start.


async def test_child_leads_a_session_of_its_own() -> None:
    """So the terminal's interrupts and stops are for its owner alone."""
    heard = Heard()
    child = await heard.spawn("print(f'session={os.getsid(0)} group={os.getpgid(0)}', flush=True); read()")
    await heard.until(b"\n")
    await child.end()

    assert numbers(heard.output) == {"session": child.pid, "group": child.pid}
    assert child.pid != os.getsid(0)


async def test_child_runs_without_a_shell_in_the_folder_it_was_given(tmp_path: Path) -> None:
    """Arguments arrive as they are, blanks and dollars included."""
    heard = Heard()
    code = "print(os.getcwd(), sys.argv[1:], flush=True)"
    argv = (*program(code), "$HOME `id`", "a b", "")
    child = await ChildProcess.spawn(Command(argv, cwd=str(tmp_path)), heard.events())
    await child.wait()
    await child.end()

    assert heard.output.decode() == f"{tmp_path} ['$HOME `id`', 'a b', '']\n"


async def test_what_is_said_before_the_end_of_input_is_heard_before_it() -> None:
    """Closing writes what waits, however much, then ends the input."""
    heard = Heard()
    child = await heard.spawn("print(len(sys.stdin.read()), flush=True)")
    child.write(b"x" * 3_000_000)
    await child.end()

    assert heard.output == b"3000000\n"
    assert child.returncode == 0


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        (("no-such-program-anywhere",), "no program 'no-such-program-anywhere' was found on the PATH"),
        (("/no/such/program", "x"), "no program '/no/such/program' was found"),
        (("/dev/null",), "'/dev/null' may not be executed"),
        (("/",), "'/' may not be executed"),
        ((sys.executable, "a\0b"), "null byte"),
    ],
)
async def test_start_that_fails_says_which_program_and_why(argv: tuple[str, ...], sentence: str) -> None:
    """The error names the command and the reason, and nothing is left open."""
    before = descriptors()
    with pytest.raises(SpawnFailed, match="was not started") as failed:
        await ChildProcess.spawn(Command(argv), Heard().events())

    assert sentence in str(failed.value)
    assert argv[0] in str(failed.value)
    await eventually(lambda: descriptors() <= before)


async def test_start_in_a_folder_that_is_not_there_says_so(tmp_path: Path) -> None:
    """Not that the program is missing, which is what the system says."""
    command = Command(tuple(program("")), cwd=str(tmp_path / "nowhere"))
    with pytest.raises(SpawnFailed, match=r"there is no folder .*nowhere"):
        await ChildProcess.spawn(command, Heard().events())


@pytest.mark.parametrize(
    ("first_line", "sentence"),
    [
        ("#!/no/such/interpreter\n", "names in its first line was not found"),
        ("\x7fnothing", "is no program that this system can execute"),
    ],
)
async def test_script_that_cannot_be_run_is_told_from_one_that_is_missing(
    tmp_path: Path, first_line: str, sentence: str
) -> None:
    """By path and by name alike."""
    script = tmp_path / "script"
    script.write_text(first_line, encoding="utf-8")
    script.chmod(0o755)
    for argv, env in (((str(script),), {}), (("script",), {"PATH": str(tmp_path)})):
        with pytest.raises(SpawnFailed, match=sentence):
            await ChildProcess.spawn(Command(argv, env=env), Heard().events())


async def test_output_that_comes_at_once_is_not_lost() -> None:
    """Also from a child that is gone before anybody could look."""
    for _ in range(20):
        heard = Heard()
        child = await heard.spawn("print('hello', flush=True)")
        assert await child.wait() == 0
        assert heard.output == b"hello\n"
        await child.end()


def test_command_is_shown_as_it_would_be_typed_and_not_at_any_length() -> None:
    """It stands in every error; a script of a hundred lines would hide what the error says."""
    assert str(Command(("npx", "-y", "a server", "$HOME"))) == "npx -y 'a server' '$HOME'"
    long = str(Command(("python", "-c", "import sys\n" * 1000, "the end")))
    assert len(long) == 200
    assert (long.startswith("python -c 'import sys import"), long.endswith("sys ' 'the end'")) == (True, True)


# The end.


async def test_polite_child_leaves_by_the_end_of_its_input_with_code_0() -> None:
    """No signal reaches it."""
    heard = Heard()
    child = await heard.spawn(READY + "sys.stdin.read(); print('bye', flush=True)")
    await heard.until(b"ready")
    await child.end()

    assert child.returncode == 0
    assert heard.output == b"ready\nbye\n"
    assert not alive(child.pid)


@pytest.mark.usefixtures("impatient")
async def test_child_that_ignores_the_end_of_its_input_gets_term() -> None:
    """It may still clean up."""
    heard = Heard()
    code = "signal.signal(signal.SIGTERM, lambda *_: (print('term', flush=True), os._exit(3)))\n"
    child = await heard.spawn(code + READY + "while True: time.sleep(60)")
    await heard.until(b"ready")
    await child.end()

    assert child.returncode == 3
    assert heard.output == b"ready\nterm\n"


@pytest.mark.usefixtures("impatient")
async def test_child_that_ignores_term_as_well_is_killed() -> None:
    """Its exit code tells the signal."""
    heard = Heard()
    child = await heard.spawn(STUBBORN + READY + "while True: time.sleep(60)")
    await heard.until(b"ready")
    await child.end()

    assert child.returncode == -signal.SIGKILL
    assert not alive(child.pid)


@pytest.mark.usefixtures("impatient")
async def test_stopped_child_is_ended_all_the_same() -> None:
    """It handles nothing while it is stopped; KILL needs no handling."""
    heard = Heard()
    child = await heard.spawn(READY + "read()")
    await heard.until(b"ready")
    os.kill(child.pid, signal.SIGSTOP)
    await child.end()

    assert child.returncode == -signal.SIGKILL


@pytest.mark.usefixtures("impatient")
async def test_child_that_does_not_read_is_ended_whatever_waits_to_be_written() -> None:
    """Its full pipe keeps nobody."""
    heard = Heard()
    child = await heard.spawn(READY + "time.sleep(60)")
    child.write(b"x" * 10_000_000)
    await heard.until(b"ready")
    await child.end()

    assert child.returncode == -signal.SIGTERM


GRANDCHILDREN = {
    "in its group": "subprocess.Popen(argv)",
    "in a session of its own": "subprocess.Popen(argv, start_new_session=True)",
    "whose parent has gone": "subprocess.Popen(['sh', '-c', '\"$@\" &', 'sh', *argv], start_new_session=True)",
}


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("start", GRANDCHILDREN.values(), ids=GRANDCHILDREN)
@pytest.mark.parametrize("child_stays", [False, True])
async def test_grandchild_that_ignores_everything_is_ended_with_the_child(
    start: str, child_stays: bool
) -> None:
    """Whichever session it is in, whoever its parent is by then."""
    grandchild = (
        f"{STUBBORN}import os, signal, time; print(f'grandchild={{os.getpid()}}', flush=True); time.sleep(60)"
    )
    code = f"argv = [sys.executable, '-I', '-S', '-c', {'import signal;' + grandchild!r}]\n{start}\n"
    heard = Heard()
    child = await heard.spawn(code + ("time.sleep(60)" if child_stays else "read()"))
    await heard.until(b"grandchild=")
    grandchild_pid = numbers(heard.output)["grandchild"]
    assert alive(grandchild_pid)
    await child.end()

    assert not alive(grandchild_pid)
    assert not alive(child.pid)


async def test_what_a_wrapper_left_behind_may_finish() -> None:
    """It saw the end of the same input, and is not disturbed while it leaves."""
    heard = Heard()
    server = program(READY + "sys.stdin.read(); print('bye', flush=True)")
    argv = ("sh", "-c", 'exec 3<&0; "$@" <&3 & exit 0', "sh", *server)
    child = await ChildProcess.spawn(Command(argv), heard.events())
    await heard.until(b"ready")
    await child.end()
    await heard.until(b"bye")

    assert child.returncode == 0


async def test_ending_twice_and_at_once_is_one_ending() -> None:
    """From any task, also when it has left by itself."""
    heard = Heard()
    child = await heard.spawn(READY + "read()")
    await heard.until(b"ready")
    await asyncio.gather(child.end(), child.end(), child.end())
    await child.end()

    assert child.returncode == 0


async def test_ending_goes_on_when_whoever_asked_for_it_is_cancelled() -> None:
    """A time-out around a close does not leave the child behind."""
    heard = Heard()
    child = await heard.spawn(READY + "sys.stdin.read(); time.sleep(0.3)")
    await heard.until(b"ready")
    ending = asyncio.create_task(child.end())
    await asyncio.sleep(0)
    ending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await ending
    await eventually(lambda: not alive(child.pid))
    await child.end()

    assert child.returncode == 0


@pytest.mark.parametrize("turns", [0, 1, 2, 3, 5, 8])
async def test_start_that_is_cancelled_leaves_no_child(turns: int, tmp_path: Path) -> None:
    """At whichever moment, and when it is cancelled twice."""
    note = tmp_path / "pid"
    code = f"open({str(note)!r}, 'w').write(str(os.getpid())); sys.stdin.read()"
    starting = asyncio.create_task(Heard().spawn(code))
    for _ in range(turns):
        await asyncio.sleep(0)
    starting.cancel()
    await asyncio.sleep(0)
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    await eventually(lambda: not [task for task in asyncio.all_tasks() if "ChildProcess" in str(task)])

    assert (
        not note.exists()
        or not note.read_text(encoding="utf-8")
        or not alive(int(note.read_text(encoding="utf-8")))
    )


def test_child_ends_with_its_event_loop() -> None:
    """Whoever forgot to end it, it is ended in order when `asyncio.run` winds up."""
    heard = Heard()

    async def forget() -> ChildProcess:
        child = await heard.spawn(READY + "sys.stdin.read(); print('bye', flush=True)")
        await heard.until(b"ready")
        return child

    child = asyncio.run(forget())

    assert not alive(child.pid)
    assert heard.output == b"ready\nbye\n"


@pytest.mark.usefixtures("impatient")
def test_child_that_is_being_ended_while_its_event_loop_ends_is_killed() -> None:
    """Nothing is awaited any more then, so there is no grace either."""
    heard = Heard()

    async def hurry() -> ChildProcess:
        child = await heard.spawn(STUBBORN + READY + "time.sleep(60)")
        await heard.until(b"ready")
        ending = asyncio.create_task(child.end())
        await asyncio.sleep(0.05)
        del ending
        return child

    child = asyncio.run(hurry())

    assert not alive(child.pid)
