"""Programs that are started to be measured end, and say why when they end too soon."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from bench.case import Case, Surroundings
from bench.child import ChildFailed, run, started
from bench.cost import cpu_seconds, family, resident_bytes
from bench.http_load import TURNS, Load, build
from bench.peers import Peers
from bench.results import CaseResult
from bench.run import run_case


def python(code: str) -> list[str]:
    """The command of a small program."""
    return [sys.executable, "-c", code]


def runs(pid: int) -> bool:
    """Whether a process is there and has not ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def test_a_child_and_its_children_are_gone_when_the_block_is_left() -> None:
    """Even those that do not listen."""
    stubborn = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(1, flush=True); time.sleep(99)"
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {stubborn!r}])"
    with started(python(code), {}, pipes=True, patience=0.1) as child:
        assert child.stdout.readline() == b"1\n"
        pids = family(child.pid)
        assert len(pids) == 2

    assert [pid for pid in pids if runs(pid)] == []


def test_a_program_that_fails_is_told_of_with_its_last_words() -> None:
    """Its exit code, and what it wrote on stderr."""
    with pytest.raises(ChildFailed, match=r"failed with code 1.*last said: no such luck"):
        run(python("raise SystemExit('no such luck')"), {}, 10.0)


def test_the_output_of_a_program_is_returned() -> None:
    """When it has ended in order."""
    code = "import os, sys; print(os.environ['WHO'], sys.stdin.read())"

    assert run(python(code), {"WHO": "me"}, 10.0, b"said") == b"me said\n"


def test_a_case_that_takes_too_long_fails_alone() -> None:
    """Whatever it waits for."""

    def measure(around: Surroundings) -> dict[str, float]:
        with started(python("import time; time.sleep(99)"), {}, pipes=True, patience=0.1) as child:
            child.stdout.read()
        return {}

    known = CaseResult()
    run_case(Case("slow", measure), Surroundings(sys.executable, Peers(wanted=False), 0.0), known, 0.2)

    assert known.failures == ["TookTooLong: it was given up after 0.2 s"]


def test_a_process_costs_something() -> None:
    """Its time and its memory are read from the system."""
    assert cpu_seconds([os.getpid()]) > 0
    assert resident_bytes([os.getpid()], peak=True) >= resident_bytes([os.getpid()]) > 1_000_000


def test_requests_of_a_connection_are_of_one_length_and_of_several_ids() -> None:
    """Replies are known by their length, and an id is not used again while it may be in flight."""
    load = Load(8000, 64, 1.0, {"accept": "application/json"}, "legacy", False, [])
    requests = [request for number in (0, 63) for request in build(load, number)]

    assert len({len(request) for request in requests}) == 1
    assert len(set(requests)) == 2 * TURNS
