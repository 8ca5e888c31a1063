"""`examine`: all checks on one server, in order, and the report."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

import msgspec

from anywire.doctor import contact, conversation, leaving, listing, rough
from anywire.doctor.check import CHECKS, Check, Finding, Weight
from anywire.doctor.examination import Broken, Examination, Step, Unfit
from anywire.doctor.patience import Patience
from anywire.errors import SpawnFailed
from anywire.transport.process import Command
from anywire.wire.framing import Framing

__all__ = ("STEPS", "Report", "examine", "report_of")

_UNBUFFERED = "PYTHONUNBUFFERED"

#: What is examined, in this order: each step relies on those before.
STEPS = (
    Step("starting it", contact.first_contact),
    Step("ping", conversation.ping),
    Step("notifications", conversation.notifications),
    Step("an unknown method", conversation.unknown_method),
    Step("ids", conversation.ids),
    Step("its tools", listing.tools),
    Step("several requests at once", conversation.at_once),
    Step("the end of its input", leaving.leave),
    Step("a second start", conversation.again),
    Step("lines as Windows writes them", rough.odd_lines),
    Step("a malformed line", rough.malformed),
    Step("an unknown revision", rough.unknown_revision),
    Step("a client of a newer revision", rough.probe),
)


class Report(msgspec.Struct, frozen=True):
    """What came out: the findings, heaviest first; ids of checks that passed, and that were not made.

    `reached` says whether it could be talked with at all; `framing` is None for a server over HTTP.
    """

    findings: tuple[Finding, ...]
    passed: tuple[str, ...]
    not_made: tuple[str, ...]
    reached: bool
    server: dict[str, object]
    framing: Framing | None
    first_answer_seconds: float | None

    @property
    def healthy(self) -> bool:
        """Whether nothing is wrong; notes do not count."""
        return all(finding.check.weight is Weight.NOTE for finding in self.findings)

    def without(self, ids: Iterable[str]) -> Report:
        """Return the report without the findings on these checks."""
        ignored = frozenset(ids)
        findings = tuple(finding for finding in self.findings if finding.check.id not in ignored)
        return msgspec.structs.replace(self, findings=findings)


async def examine(
    command: Command,
    *,
    framing: Framing | None = None,
    patience: Patience = Patience(),  # noqa: B008 it is frozen
    on_step: Callable[[str], None] = lambda _: None,
) -> Report:
    """Start the command, several times if need be, make all checks and end it with all it started.

    `framing` is found out unless it is given.  `on_step` gets what is being looked at.  Never raises
    for what a server does; takes as long as the server makes it take, within `patience`.
    """
    exam = Examination(_as_other_clients(command), framing, patience)
    made: set[str] = set()
    reached = False
    try:
        for step in STEPS:
            on_step(step.title)
            try:
                made.update(await step.run(exam))
                reached = True
            except Broken:
                continue
            except (Unfit, SpawnFailed):
                break
    finally:
        await exam.drop()
    if reached:
        made.add("exits-later")
        made.update(leaving.judge_noise(exam))
    made.update(leaving.judge_output(exam))
    return report_of(exam, CHECKS, made, reached=reached, framing=exam.framing)


class _Examined(Protocol):
    """An examination that is over."""

    findings: dict[str, Finding]
    server: dict[str, object]
    first_answer_seconds: float | None


def report_of(
    exam: _Examined,
    checks: Mapping[str, Check],
    made: set[str],
    *,
    reached: bool,
    framing: Framing | None = None,
) -> Report:
    """Return the report on what an examination found, in the order of these checks."""
    order = list(checks)
    findings = sorted(
        exam.findings.values(), key=lambda each: (-each.check.weight, order.index(each.check.id))
    )
    return Report(
        findings=tuple(findings),
        passed=tuple(id for id in order if id in made and id not in exam.findings),
        not_made=tuple(id for id in order if id not in made and id not in exam.findings),
        reached=reached,
        server=exam.server,
        framing=framing if reached else None,
        first_answer_seconds=exam.first_answer_seconds,
    )


def _as_other_clients(command: Command) -> Command:
    """Start the command as clients do that do not turn Python's buffering off."""
    if command.inherit_env and _UNBUFFERED in os.environ:
        return command
    return msgspec.structs.replace(command, env={_UNBUFFERED: "", **command.env})
