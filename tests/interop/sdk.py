"""Runs of the official Python SDK as a client, and what it had to tell."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from tests.interop.peers import SCRIPTS
from tests.interop.processes import run, watch

SDK_WITHIN = 60.0

Mode = Literal["legacy", "auto"]


@dataclass(frozen=True)
class Report:
    """One session's outcome, step by step."""

    steps: dict[str, dict[str, Any]]
    returncode: int
    closing_took: float
    stderr: str

    def __getitem__(self, step: str) -> Any:
        """What a step gave; one that failed fails the test with its own words."""
        outcome = self.steps[step]
        assert "gave" in outcome, f"{step}: {outcome['failed']}; stderr:\n{self.stderr[-3000:]}"
        return outcome["gave"]


def drive(python: Path, mode: Mode, steps: Sequence[str], command: Sequence[str], folder: Path) -> Report:
    """Let the SDK of this interpreter start the command as its server and take these steps."""
    witness = folder / "witness.json"
    watched = [sys.executable, SCRIPTS / "witness.py", witness, "--", *command]
    with watch():
        done = run(
            [python, SCRIPTS / "sdk_client.py", mode, ",".join(steps), "--", *watched],
            within=SDK_WITHIN,
        )
    assert done.returncode == 0, f"the client failed: {done}"
    assert witness.exists(), f"the server did not end by itself when its input closed: {done}"
    told: dict[str, Any] = json.loads(done.stdout)
    seen: dict[str, Any] = json.loads(witness.read_text(encoding="utf-8"))
    return Report(told["steps"], seen["returncode"], seen["ended"] - told["closing"], done.stderr)
