"""Each fault is found, and nothing else; a server without one is healthy."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import msgspec
import pytest

from anywire.doctor.check import Weight
from anywire.doctor.era_check import ERA_CHECKS
from anywire.doctor.http.check import HTTP_CHECKS
from anywire.doctor.patience import Patience
from anywire.doctor.report import Report
from anywire.doctor.shown import shown
from anywire.doctor.stdio.check import STDIO_CHECKS
from anywire.doctor.stdio.examine import examine
from anywire.transport.process import Command
from anywire.wire.framing import Framing
from tests.cli.commands import ROOT, SERVERS, server
from tests.doctor.test_fifteen import EXPECTED
from tests.interop.processes import watch

#: Servers that do everything right.
HEALTHY = ("gallery", "healthy", "stateless", "toolbox")
#: Checks that no server of the folder fails: their test is elsewhere on this page, or over HTTP.
ELSEWHERE = {"not-started", "slow-start", "very-slow-start"}
OVER_HTTP = set(HTTP_CHECKS)
FAULTS = sorted(path.stem for path in SERVERS.glob("*.py") if path.stem not in HEALTHY)
#: A server with this fault has that other one by its nature.
AS_WELL = {
    "ignores-term": {"ignores-eof"},
    "discover-missing": {"stateless-only"},
    "discover-result": {"stateless-only"},
}
#: What is looked at only where there is the stateless era.
STATELESS = {each.id for each in ERA_CHECKS} - {"stateless-only"}

AT_ONCE = 6
"""So many servers are examined at once."""

PATIENCE = Patience(silent_seconds=0.8, idle_seconds=0.5, overdue_seconds=0.5, leave_seconds=1.0)
# These never answer, so that the whole of the patience is spent on them.
SHORT = msgspec.structs.replace(PATIENCE, start_seconds=2.0, answer_seconds=2.0)
NEVER_ANSWER = {"silent", "stderr_only", "no_answer", "several_lines", "ping", "serves_http", "not_utf_8"}


async def examined(
    name: str, *arguments: str | Path, framing: Framing | None = None, patience: Patience = PATIENCE
) -> Report:
    """The report on a server of the folder."""
    command = Command(tuple(server(name, *arguments)), cwd=str(ROOT))
    return await examine(command, framing=framing, patience=patience)


def found(report: Report) -> set[str]:
    """The ids of the findings."""
    return {finding.check.id for finding in (*report.findings, *report.trifles)}


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Report]:
    """The report on every faulty server.  They are waited for, mostly, so a few are examined at once."""
    lock = tmp_path_factory.mktemp("not_again") / "lock"
    few = asyncio.Semaphore(AT_ONCE)

    async def one(name: str) -> Report:
        patience = SHORT if name in NEVER_ANSWER else PATIENCE
        async with few:
            return await examined(name, *([lock] if name == "not_again" else []), patience=patience)

    async def all_of_them() -> list[Report]:
        return await asyncio.gather(*map(one, FAULTS))

    return dict(zip(FAULTS, asyncio.run(all_of_them()), strict=True))


@pytest.mark.parametrize("name", FAULTS)
def test_each_fault_is_found_and_no_other(name: str, reports: dict[str, Report]) -> None:
    """The file of a faulty server is named for the check that finds it."""
    check, report = name.replace("_", "-"), reports[name]

    assert found(report) == {check, *AS_WELL.get(check, ())}
    assert report.healthy == (STDIO_CHECKS[check].weight <= Weight.NOTE)
    assert bool(report.trifles) == (STDIO_CHECKS[check].weight is Weight.TRIFLE)
    assert not found(report) & {*report.passed, *report.not_made}
    assert found(report) | {*report.passed, *report.not_made} == set(STDIO_CHECKS)


def test_each_check_has_a_faulty_server() -> None:
    """No check is without proof that it finds something."""
    shown = {name.replace("_", "-") for name in FAULTS}
    assert shown <= set(STDIO_CHECKS)
    assert set(STDIO_CHECKS) - OVER_HTTP <= shown | ELSEWHERE | set(EXPECTED.values())


@pytest.mark.parametrize("name", HEALTHY)
async def test_a_server_without_a_fault_is_healthy(name: str) -> None:
    """Everything that can be examined of it passes."""
    report = await examined(name)

    assert report.findings == ()
    assert report.healthy
    assert report.trifles == ()
    # Nothing of it takes its time, and there may be one era only.
    era = {"probe-breaks"} if name == "stateless" else STATELESS
    assert set(report.not_made) == {"serialised", *era}
    assert report.framing is Framing.NEWLINE
    assert report.server["protocolVersion"] == "2025-11-25"


async def test_a_server_of_anywire_is_healthy() -> None:
    """We take our own medicine."""
    target = f"{ROOT / 'examples' / 'server.py'}:server"
    command = Command((sys.executable, "-m", "anywire", "serve", target), cwd=str(ROOT))

    report = await examine(command, patience=PATIENCE)

    assert report.findings == ()


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (Command(("anywire-no-such-program",)), "no program 'anywire-no-such-program' was found on the PATH"),
        (Command((sys.executable,), cwd="/nowhere"), "there is no folder /nowhere"),
        (Command((str(Path(__file__)),)), "may not be executed"),
    ],
)
async def test_a_command_that_cannot_be_started_is_told_why(command: Command, expected: str) -> None:
    """Not found, not executable, nowhere to run."""
    report = await examine(command, patience=PATIENCE)

    (finding,) = report.findings
    assert finding.check.id == "not-started"
    assert expected in finding.found
    assert not report.reached


@pytest.mark.parametrize(
    ("limits", "expected"),
    [({"slow_seconds": 0.0}, "slow-start"), ({"very_slow_seconds": 0.0}, "very-slow-start")],
)
async def test_a_slow_start_is_weighed(limits: dict[str, float], expected: str) -> None:
    """Slow is a note, too slow for many clients a warning; never both."""
    report = await examined("healthy", patience=msgspec.structs.replace(PATIENCE, **limits))

    assert found(report) == {expected}
    assert report.healthy == (expected == "slow-start")


async def test_a_framing_that_was_given_is_no_finding() -> None:
    """Who asks for headers knows of them; everything else is examined in them."""
    report = await examined("header_framing", framing=Framing.HEADERS)

    assert report.findings == ()
    assert report.framing is Framing.HEADERS
    assert set(report.not_made) == {"serialised", "crlf", "bom", *STATELESS}


def test_checks_stand_in_order_of_weight() -> None:
    """What keeps a server from working comes first in every report."""
    weights = [check.weight for check in STDIO_CHECKS.values()]

    assert weights == sorted(weights, reverse=True)
    assert all(id == check.id for id, check in STDIO_CHECKS.items())
    assert all(check.title and check.advice for check in STDIO_CHECKS.values())


def test_the_words_of_a_finding_say_what_was_seen(reports: dict[str, Report]) -> None:
    """Evidence, not only a verdict."""
    early = reports["exits_early"].findings[0].found

    assert "first 'Server ready'" in reports["noise"].findings[0].found
    assert "exited with code 3" in early
    assert "its last words: API_KEY is not set" in early


@pytest.mark.chaos
async def test_nothing_outlives_an_examination() -> None:
    """Not even what the server left behind or what ignores every signal but KILL."""
    with watch():
        for name in ("left_behind", "ignores_term"):
            await examined(name)


async def test_python_is_examined_as_other_clients_start_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """anywire turns Python's buffering off for its children; a server must not be taken for better by that."""
    told = (sys.executable, "-S", "-c", "import os, sys; sys.exit(repr(os.environ.get('PYTHONUNBUFFERED')))")

    bare = await examine(Command(told), patience=PATIENCE)
    monkeypatch.setitem(os.environ, "PYTHONUNBUFFERED", "1")
    inherited = await examine(Command(told, inherit_env=True), patience=PATIENCE)
    given = await examine(Command(told, {"PYTHONUNBUFFERED": "x"}), patience=PATIENCE)

    assert "its last words: ''" in bare.findings[0].found
    assert "its last words: '1'" in inherited.findings[0].found
    assert "its last words: 'x'" in given.findings[0].found


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"hello", "'hello'"),
        ("grüße".encode(), "'grüße'"),
        (b"\xff\n", r"'\\xff\n'"),
        (b"a" * 120, repr("a" * 120)),
        (b"a" * 121, repr("a" * 120) + " …"),
    ],
)
def test_bytes_are_shown_as_text_where_they_are_text(data: bytes, expected: str) -> None:
    """Nothing that a server writes steers a terminal, and a flood of it stays short."""
    assert shown(data) == expected
    assert len(shown(b"\0" * 1000)) < 130
