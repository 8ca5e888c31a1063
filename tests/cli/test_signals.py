"""A signal ends a command in order: the right exit code, and nobody left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager

import pytest

from tests.cli.commands import ROOT, WITHIN, server
from tests.interop.processes import watch

pytestmark = pytest.mark.chaos


@contextmanager
def running(*words: str) -> Generator[subprocess.Popen[bytes]]:
    """The command, in a session of its own; killed when the test is over, or takes too long."""
    process = subprocess.Popen(
        [sys.executable, "-m", "anywire", *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=ROOT,
        start_new_session=True,
    )
    timer = threading.Timer(WITHIN, process.kill)
    timer.start()
    try:
        yield process
    finally:
        timer.cancel()
        process.kill()
        process.communicate()


def said(process: subprocess.Popen[bytes], expected: bytes) -> None:
    """Read stderr up to a line that says this."""
    assert process.stderr is not None
    for line in process.stderr:
        if expected in line:
            return
    raise AssertionError(f"it ended without saying {expected!r}")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_during_a_call_ends_the_child_as_well(number: signal.Signals, code: int) -> None:
    """The tool would never end; the command does, without a word of its own."""
    with watch(), running("call", "wait", "--", *server("toolbox")) as process:
        said(process, b"progress 1/2: waiting")
        process.send_signal(number)
        out, err = process.communicate(timeout=WITHIN)

    assert (process.returncode, out, err) == (code, b"", b"")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_while_the_server_starts_ends_it_as_well(number: signal.Signals, code: int) -> None:
    """It was not even answered yet."""
    words = ["--timeout", "50s", "--framing", "newline", "-v"]
    speaking = ["--", "sh", "-c", "echo started >&2; exec sleep 600"]
    with watch(), running("ping", *words, *speaking) as process:
        said(process, b"started")
        process.send_signal(number)
        out, err = process.communicate(timeout=WITHIN)

    assert (process.returncode, out, err) == (code, b"", b"")


def test_a_signal_during_an_examination_ends_it_in_order() -> None:
    """The doctor leaves no patient behind."""
    read, write = os.pipe()
    with (
        watch(),
        running(
            "doctor", "--", "sh", "-c", f"echo started > /proc/{os.getpid()}/fd/{write}; exec sleep 600"
        ) as process,
    ):
        assert os.read(read, 100) == b"started\n"
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=WITHIN)
    os.close(read)
    os.close(write)

    assert (process.returncode, out, err) == (143, b"", b"")
