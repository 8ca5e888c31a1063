"""Calls that never leave the process, next to those of the official SDK over its in-memory transport."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.interop.peers import SCRIPTS
from tests.interop.processes import run

pytestmark = [pytest.mark.interop, pytest.mark.large]


def test_a_call_through_the_router_costs_a_fraction(sdk_2_python: Path) -> None:
    """Of the processor's time that the SDK takes, which shares the run; `scripts/in_process.py` prints how much.

    What is asked for here leaves room for a machine that is busy with other things.
    """
    (packages,) = sdk_2_python.parent.parent.glob("lib/python*/site-packages")
    done = run([sys.executable, SCRIPTS / "in_process.py", packages, "2000"], within=120)
    assert done.returncode == 0, done
    micros = json.loads(done.stdout)
    for calls, theirs in micros["official SDK"].items():
        ours = {way: theirs / numbers[calls] for way, numbers in micros.items()}
        assert ours["router, lines"] > 5, micros
        assert ours["router, client"] > 2.5, micros
        assert ours["plain objects"] > 8, micros
