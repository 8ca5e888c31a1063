"""Stdio belongs to the wire alone: whatever prints, and however the process was started."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.transport.child import Child, Redirect, read_all, run

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="descriptors are claimed on POSIX systems")

WIRE = b"wire\n"


@pytest.fixture
def report(tmp_path: Path) -> Path:
    """Where the program says what it found."""
    return tmp_path / "report"


def found(report: Path) -> dict[str, Any]:
    return json.loads(report.read_text(encoding="utf-8"))


def outcome(child: Child, given: bytes = b"") -> tuple[bytes, bytes]:
    """Give the program its input, and return what it wrote to stdout and to stderr."""
    if child.process.stdin is not None:
        child.write(given)
        child.end_input()
    out = child.read_all() if child.process.stdout is not None else b""
    err = child.read_stderr() if child.process.stderr is not None else b""
    assert child.wait() == 0, err.decode()
    return out, err


def test_prints_go_to_stderr_and_the_wire_is_clean(report: Path) -> None:
    """`print`, direct writes to descriptor 1, and what was printed before the claim."""
    with run("claim.py", str(report), "print-first", "print") as child:
        out, err = outcome(child, b"in")

    assert out == WIRE
    assert err.splitlines() == [
        b"printed before the claim",
        b"printed after the claim",
        b"written to 1 after the claim",
    ]


def test_the_claim_is_one_and_its_descriptors_are_high_and_private(report: Path) -> None:
    """A second claim is the first; no child gets the descriptors, and descriptor 0 reads as empty."""
    with run("claim.py", str(report), "read", "take", "child") as child:
        out, err = outcome(child, b"in")

    seen = found(report)
    assert seen["same"] is True
    assert seen["read_fd"] > 2
    assert seen["write_fd"] > 2
    assert seen["inheritable"] == [False, False]
    assert seen["fds"] == [False, False]
    assert seen["stdin"] == ""
    assert seen["wire"] == "in"
    assert seen["taken"] is True
    assert seen["again"] == "the process's stdio is in use by another transport"
    assert out == WIRE
    assert sorted(err.splitlines()) == [b"b''", b"child err", b"child out"]


def test_a_restored_process_has_its_stdio_back(report: Path) -> None:
    """Twice is once; it may be claimed again."""
    with run("claim.py", str(report), "print", "restore") as child:
        out, err = outcome(child, b"in")

    assert out == WIRE + b"printed after the restore\n"
    assert err.splitlines() == [b"printed after the claim", b"written to 1 after the claim"]
    assert found(report)["stdin_after"] == "in"
    assert found(report)["new"] is True


def test_a_released_wire_ends_and_prints_still_go_to_stderr(report: Path) -> None:
    """What is printed while the process ends must not follow the last message."""
    with run("claim.py", str(report), "release") as child:
        out, err = outcome(child)

    assert out == WIRE
    assert err == b"printed after the release\n"


@pytest.mark.parametrize("steps", [["print-first", "print", "child"], ["restore"]])
def test_a_stderr_that_is_the_wire_is_silenced(report: Path, steps: list[str]) -> None:
    """Started with `2>&1` into the client: no print of anybody may damage a message."""
    with run("claim.py", str(report), *steps, stderr=subprocess.STDOUT) as child:
        out, _ = outcome(child)

    assert out == (WIRE if "restore" not in steps else WIRE + b"printed after the restore\n")


@pytest.mark.parametrize("closed", [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)])
def test_a_process_without_some_of_its_stdio_can_claim_it(report: Path, closed: tuple[int, ...]) -> None:
    """What is closed leads nowhere; what is there works; prints and children do not fail."""
    with run("claim.py", str(report), "print", "child", "read", "take", close=closed) as child:
        out, err = outcome(child, b"in" if 0 not in closed else b"")

    seen = found(report)
    assert min(seen["read_fd"], seen["write_fd"]) > 2
    assert seen["child"] == 0
    assert seen["fds"] == [False, False]
    assert seen["stdin"] == ""
    assert seen["wire"] == ("" if 0 in closed else "in")
    assert out == (b"" if 1 in closed else WIRE)
    if 2 in closed:
        assert err == b""
    else:
        assert {b"written to 1 after the claim", b"child out", b"child err"} <= set(err.splitlines())


@pytest.mark.parametrize("closed", [(0,), (1,), (2,), (0, 1, 2)])
def test_a_process_without_some_of_its_stdio_can_restore_it(report: Path, closed: tuple[int, ...]) -> None:
    """The others are what they were."""
    with run("claim.py", str(report), "print", "restore", close=closed) as child:
        out, _ = outcome(child, b"in" if 0 not in closed else b"")

    assert found(report)["stdin_after"] == ("" if 0 in closed else "in")
    printed = b"printed after the restore\n"
    assert out == (b"" if 1 in closed else WIRE + printed)


@pytest.mark.parametrize("kind", ["terminal", "file", "null"])
def test_stdio_may_be_of_any_kind(report: Path, tmp_path: Path, kind: str) -> None:
    """A terminal that stdout and stderr share, files, /dev/null."""
    read, write = (
        os.openpty() if kind == "terminal" else (-1, os.open(tmp_path / "out", os.O_RDWR | os.O_CREAT))
    )
    if kind == "null":
        os.close(write)
        write = os.open(os.devnull, os.O_RDWR)
    target: Redirect = write
    with run("claim.py", str(report), "print", stdin=target, stdout=target, stderr=target) as child:
        os.close(write)
        assert child.wait() == 0
        shown = read_all(read).replace(b"\r", b"") if read >= 0 else b""
    if read >= 0:
        os.close(read)

    assert found(report)["same"] is True
    if kind == "terminal":
        assert shown == WIRE + b"printed after the claim\nwritten to 1 after the claim\n"
    if kind == "file":
        assert (tmp_path / "out").read_bytes() == WIRE
