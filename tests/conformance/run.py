"""Runs the conformance suite on one side of one revision and says what it found.

    python -m tests.conformance.run server 2025-11-25
    python -m tests.conformance.run client wire:2025-03-26 --only tools
    python -m tests.conformance.run server 2025-11-25 --target http://localhost:3000/mcp

A version alone picks scenarios and schema, while the suite's own end goes on offering its newest revision;
`wire:` makes it negotiate that revision (`negotiate.mjs`), `req:` takes the scenarios that count for a tier.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import re
import shlex
import sys
import tempfile
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

from tests.conformance.setup import HERE, Suite, install
from tests.interop.listening import free_port, listening
from tests.interop.processes import run

Side: TypeAlias = Literal["server", "client"]

AT_ONCE = 2
"""Scenarios at once: each is a process of node's, and a few of them measure time."""
SCENARIO_MS = 30_000
ENDS_WITHIN = 60.0
"""Seconds until a scenario's process has ended, which is bounded by itself."""
OLDEST_SCENARIOS = "2025-06-18"
"""The oldest revision that the suite has more than a handful of scenarios for."""
OLDEST_SCHEMA = "2025-03-26"
#: What the scenarios of `OLDEST_SCENARIOS` ask for and older revisions do not have.
NEWER = {
    "2025-03-26": {"tools-call-elicitation"},
    "2024-11-05": {"tools-call-elicitation", "tools-call-audio", "server-session-lifecycle"},
}


@dataclass(frozen=True)
class Leg:
    """One side and one revision.

    `negotiated`: the suite is made to speak it.  `scored`: only what counts for a tier.
    """

    side: Side
    revision: str
    negotiated: bool = False
    scored: bool = False

    @classmethod
    def read(cls, side: Side, version: str) -> Leg:
        """Read a version as it is written on the command line."""
        kind, _, revision = version.rpartition(":")
        return cls(side, revision, kind == "wire", kind == "req")

    def listing(self) -> list[str]:
        """The suite's arguments that list the scenarios."""
        if self.scored:
            return ["list", "--requirements", self.revision]
        listed = max(self.revision, OLDEST_SCENARIOS) if self.negotiated else self.revision
        return ["list", "--spec-version", listed]

    def options(self) -> list[str]:
        """The suite's arguments that say which schema is meant."""
        forced = ["--force"] if self.negotiated or self.scored else []
        return ["--spec-version", max(self.revision, OLDEST_SCHEMA), *forced]


@dataclass(frozen=True)
class Check:
    """One check of a scenario and what came of it."""

    scenario: str
    id: str
    status: str
    text: str = ""

    def __str__(self) -> str:
        return f"{self.status} {self.scenario}:{self.id} {self.text}".rstrip()


@dataclass(frozen=True)
class Verdict:
    """All checks of a leg."""

    scenarios: list[str]
    checks: list[Check]

    def of(self, *statuses: str) -> list[Check]:
        """The checks of which that came."""
        return [check for check in self.checks if check.status in statuses]

    @property
    def wrong(self) -> list[Check]:
        """What failed, and what the suite warns of."""
        return self.of("FAILURE", "WARNING")

    def __str__(self) -> str:
        numbers = [
            f"{len(self.of(status))} {word}"
            for status, word in (("SUCCESS", "passed"), ("FAILURE", "failed"), ("WARNING", "warnings"))
        ]
        lines = [*map(str, self.of("SKIPPED")), *map(str, self.wrong)]
        return "\n".join([*lines, f"{len(self.scenarios)} scenarios: {', '.join(numbers)}"])


def examine(
    suite: Suite,
    leg: Leg,
    folder: Path,
    target: str | None = None,
    only: str = "",
    at_once: int = AT_ONCE,
) -> Verdict:
    """Run a leg and return its verdict; `target` is a URL or a command, else what this project has.

    `only` is a regular expression on the names of scenarios, of which so many run `at_once`; raw results lie
    in `folder` afterwards.
    """
    names = [name for name in scenarios(suite, leg) if re.search(only, name)]
    with serving() if target is None and leg.side == "server" else contextlib.nullcontext(target) as found:
        subject = found or shlex.join([sys.executable, str(HERE / "client.py")])

        def one(name: str) -> list[Check]:
            return examine_one(suite, leg, name, subject, folder)

        with ThreadPoolExecutor(at_once) as pool:
            gathered = list(pool.map(one, names))
    return Verdict(names, [check for checks in gathered for check in checks])


@contextlib.contextmanager
def serving() -> Generator[str]:
    """Run this project's server; yields its URL.

    By name, since the suite takes the host of the URL for one that must be let in.
    """
    port = free_port()
    command = [sys.executable, "-m", "tests.conformance.server", "--port", str(port)]
    with listening(command, port, {"PYTHONPATH": str(HERE.parents[1])}):
        yield f"http://localhost:{port}/mcp"


def scenarios(suite: Suite, leg: Leg) -> list[str]:
    """The names of the scenarios of a leg; authorization has tests of its own."""
    listed = run([suite.node, suite.program, *leg.listing()], within=ENDS_WITHIN)
    assert listed.returncode == 0, listed
    side, names = "", list[str]()
    for line in listed.stdout.decode().splitlines():
        heading = re.match(r"(Server|Client) scenarios|\S", line)
        if heading is not None:
            side = (heading[1] or "").lower()
        item = re.match(r"  - (\S+)", line)
        if item is not None and side == leg.side:
            names.append(item[1])
    newer = NEWER.get(leg.revision, set[str]())
    return [name for name in names if name not in newer and not name.startswith("auth/")]


def examine_one(suite: Suite, leg: Leg, name: str, subject: str, folder: Path) -> list[Check]:
    """Run one scenario and return its checks, and one more where they do not say what went wrong."""
    results = folder / name.replace("/", "-")
    results.mkdir(parents=True)
    hook = ["--import", (HERE / "negotiate.mjs").as_uri()] if leg.negotiated else []
    where = ["--url" if leg.side == "server" else "--command", subject]
    command = [
        *(suite.node, *hook, suite.program, leg.side, "--scenario", name, *where),
        *(*leg.options(), "--timeout", str(SCENARIO_MS), "-o", results),
    ]
    ended = run(command, within=ENDS_WITHIN, env={"CONFORMANCE_WIRE": leg.revision, "NO_COLOR": "1"})
    log = ended.stdout.decode(errors="replace") + ended.stderr
    (results / "suite.log").write_text(log, encoding="utf-8")
    checks = [check for path in sorted(results.rglob("checks.json")) for check in read_checks(name, path)]
    wrong = [check for check in checks if check.status in ("FAILURE", "WARNING")]
    if all(check.status == "INFO" or check.id.startswith("wire-schema-") for check in checks):
        # Also a scenario that never got anywhere ends without a failure.
        checks.append(Check(name, "no-checks", "FAILURE", f"nothing was checked: {log[-1000:]}"))
    elif ended.returncode != 0 and not wrong:
        # A client that did not end in order.
        checks.append(Check(name, "exit", "FAILURE", log[-1000:]))
    return checks


def read_checks(scenario: str, path: Path) -> list[Check]:
    """Read the suite's results."""
    found: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    checks = [
        Check(scenario, each["id"], each["status"], said(each.get("description"), each.get("errorMessage")))
        for each in found
    ]
    return [replace(check, text="") if check.status == "SUCCESS" else check for check in checks]


def said(*texts: str | None) -> str:
    """These texts in one line."""
    return " ".join(": ".join(filter(None, texts)).split())


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("side", choices=["server", "client"])
    parser.add_argument("version", help="a revision, alone or after `wire:` or `req:`")
    parser.add_argument("--target", help="a URL, or the command of a client (default: those of this folder)")
    parser.add_argument("--only", default="", help="a regular expression on the names of scenarios")
    parser.add_argument("--results", type=Path, help="a new folder for what the suite wrote")
    options = parser.parse_args()
    leg = Leg.read(options.side, options.version)
    with tempfile.TemporaryDirectory() as temporary:
        folder: Path = options.results or Path(temporary)
        verdict = examine(install(), leg, folder, options.target, options.only)
    print(verdict)
    sys.exit(1 if verdict.wrong else 0)


if __name__ == "__main__":
    main()
