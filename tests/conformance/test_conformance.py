"""anywire as the official conformance suite sees it: no check fails, and none warns."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from tests.conformance.run import Leg, Side, examine
from tests.conformance.setup import Suite

pytestmark = pytest.mark.interop

large = pytest.mark.large

#: The newest revision of each era, and then older ones, which have nearly the same scenarios.
LEGS = (
    ("server", "2025-11-25"),
    ("client", "2025-11-25"),
    ("server", "2026-07-28"),
    ("client", "2026-07-28"),
    pytest.param("server", "req:2026-07-28", marks=large),
    *(
        pytest.param(side, version, marks=large)
        for version in ("2025-06-18", "wire:2025-06-18", "wire:2025-03-26", "wire:2024-11-05")
        for side in ("server", "client")
    ),
)


@pytest.mark.parametrize(("side", "version"), LEGS)
def test_nothing_is_wrong(suite: Suite, side: Side, version: str, tmp_path: Path) -> None:
    """Warnings count as well: each is a SHOULD of the specification that was not kept."""
    verdict = examine(suite, Leg.read(side, version), tmp_path)
    print(verdict)

    assert verdict.scenarios
    assert [str(check) for check in verdict.wrong] == []


@pytest.mark.parametrize(
    ("side", "target"),
    [("server", "http://localhost:9/mcp"), ("client", shlex.join([sys.executable, "-c", "pass"]))],
    ids=["server", "client"],
)
def test_whoever_says_nothing_does_not_pass(suite: Suite, side: Side, target: str, tmp_path: Path) -> None:
    """The suite itself finds nothing wrong with a client that never comes."""
    verdict = examine(suite, Leg.read(side, "2025-11-25"), tmp_path, target, only="initialize$")

    assert verdict.scenarios
    assert verdict.of("FAILURE")
