"""`examine`: all checks on one server, in order, and the report."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Protocol

import msgspec

from anywire.doctor import contact, conversation, leaving, listing, rough, stateless
from anywire.doctor.check import Check, Finding, Weight
from anywire.doctor.examination import Broken, Examination, Step, Unfit
from anywire.doctor.patience import Patience
from anywire.doctor.stdio_check import STDIO_CHECKS
from anywire.errors import SpawnFailed
from anywire.transport.process import Command
from anywire.wire.framing import Framing

__all__ = ("Report", "examine", "report_of")

_UNBUFFERED = "PYTHONUNBUFFERED"
# What makes sense only where hands are shaken.
_HANDSHAKES = (conversation.ping, rough.unknown_revision, rough.probe)

#: What is examined first: it shows how the server wants to be spoken to.
CONTACT = Step("starting it", contact.first_contact)
#: What is examined then, in this order: each step relies on those before.
HANDSHAKE_STEPS = (
    Step("ping", conversation.ping),
    Step("notifications", conversation.notifications),
    Step("an unknown method", conversation.unknown_method),
    Step("ids", conversation.ids),
    Step("its tools", listing.tools),
    Step("its other lists", listing.declared),
    Step("several requests at once", conversation.at_once),
    Step("a long message", conversation.long_message),
    Step("the end of its input", leaving.leave),
    Step("a second start", conversation.again),
    Step("lines as Windows writes them", rough.odd_lines),
    Step("a malformed line", rough.malformed),
    Step("an unknown revision", rough.unknown_revision),
    Step("a client of a newer revision", rough.probe),
)
#: What is examined without a handshake where there can be one as well.
STATELESS_STEPS = (
    Step("the stateless era", rough.stateless),
    Step("its results", stateless.results),
    Step("what requests must say of themselves", stateless.envelope),
    Step("an unknown version", stateless.version),
)
#: What is examined where there is no handshake.
STATELESS_ONLY_STEPS = (
    Step("its results", stateless.discover),
    *(step for step in HANDSHAKE_STEPS if step.run not in _HANDSHAKES),
    *STATELESS_STEPS[1:],
)


class Report(msgspec.Struct, frozen=True):
    """What came out: the findings, heaviest first; ids of checks that passed, and that were not made.

    `trifles` are what nearly every server has.

    `reached` says whether it could be talked with at all; `framing` is None for a server over HTTP.
    """

    findings: tuple[Finding, ...]
    passed: tuple[str, ...]
    not_made: tuple[str, ...]
    reached: bool
    server: dict[str, object]
    framing: Framing | None
    first_answer_seconds: float | None
    trifles: tuple[Finding, ...] = ()

    @property
    def healthy(self) -> bool:
        """Whether nothing is wrong; notes do not count."""
        return all(finding.check.weight is Weight.NOTE for finding in self.findings)

    def without(self, ids: Iterable[str]) -> Report:
        """Return the report without the findings on these checks."""
        ignored = frozenset(ids)
        findings = tuple(finding for finding in self.findings if finding.check.id not in ignored)
        trifles = tuple(finding for finding in self.trifles if finding.check.id not in ignored)
        return msgspec.structs.replace(self, findings=findings, trifles=trifles)


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
        for step in _steps(exam):
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
    return report_of(exam, STDIO_CHECKS, made, reached=reached, framing=exam.framing)


def _steps(exam: Examination) -> Iterator[Step]:
    """Yield what is to be examined next, as far as it is known by then."""
    yield CONTACT
    if exam.era.stateless:
        yield from STATELESS_ONLY_STEPS
        return
    yield from HANDSHAKE_STEPS
    if exam.also_stateless:
        yield from STATELESS_STEPS


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
        findings=tuple(finding for finding in findings if finding.check.weight > Weight.TRIFLE),
        trifles=tuple(finding for finding in findings if finding.check.weight is Weight.TRIFLE),
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
