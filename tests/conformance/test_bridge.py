"""A server on stdio with a bridge before it, as the official conformance suite sees the two."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.conformance.run import AT_ONCE, Leg, examine
from tests.conformance.setup import HERE, Suite
from tests.conformance.unreachable import UNREACHABLE
from tests.interop.listening import anywire_listening
from tests.interop.processes import anywire

pytestmark = pytest.mark.interop

#: One scenario for each thing that a bridge has a hand in.
FEW = (
    r"^(server-(initialize|stateless)|tools-call-(with-progress|sampling|elicitation)|resources-subscribe"
    r"|input-required-result-(multi-round|capability-check))$"
)
LEGACY = ("2025-11-25", "2025-06-18", "wire:2025-06-18", "wire:2025-03-26", "wire:2024-11-05")
MODERN = ("2026-07-28", "req:2026-07-28")
LEGS = [
    pytest.param("legacy", MODERN[0], FEW, id=f"legacy-{MODERN[0]}-few"),
    pytest.param("modern", LEGACY[0], FEW, id=f"modern-{LEGACY[0]}-few"),
    *(
        pytest.param(era, version, "", id=f"{era}-{version}", marks=pytest.mark.large)
        for era in ("legacy", "modern")
        for version in (*LEGACY, *MODERN)
    ),
]


@pytest.mark.parametrize(("era", "version", "only"), LEGS)
def test_what_fails_behind_a_bridge_was_known_before(
    suite: Suite, era: str, version: str, only: str, tmp_path: Path
) -> None:
    """The server speaks one era, the suite any; what cannot pass is listed, and nothing else fails."""
    server = [sys.executable, "-m", "tests.conformance.behind", era]
    environment = ["--env", f"PYTHONPATH={HERE.parents[1]}"]
    with anywire_listening(anywire("bridge", "http://localhost:0/mcp", *environment, "--", *server)) as url:
        # A server is known to ask when it has asked for the first time, for which one call has to run.
        at_once = 1 if era == "legacy" and version in MODERN else AT_ONCE
        verdict = examine(suite, Leg.read("server", version), tmp_path, url, only, at_once)
    print(verdict)

    known = UNREACHABLE.get((era, version), {})
    unreachable = {check for check in known if check.partition(":")[0] in verdict.scenarios}
    wrong = {f"{check.scenario}:{check.id}": check for check in verdict.wrong}
    assert wrong.keys() == unreachable, "\n".join(map(str, verdict.wrong))
    assert verdict.scenarios
