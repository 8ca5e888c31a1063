"""What came out of an examination."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Protocol, cast

import msgspec

from anywire.doctor.check import Check, Finding, Weight
from anywire.transport.redact import told_without
from anywire.wire.framing import Framing

__all__ = ("Report", "report_of")


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
        """Whether it can be talked with and nothing is wrong; notes do not count."""
        return self.reached and all(finding.check.weight is Weight.NOTE for finding in self.findings)

    def without(self, ids: Iterable[str]) -> Report:
        """Return the report without the findings on these checks."""
        ignored = frozenset(ids)
        findings = tuple(finding for finding in self.findings if finding.check.id not in ignored)
        trifles = tuple(finding for finding in self.trifles if finding.check.id not in ignored)
        return msgspec.structs.replace(self, findings=findings, trifles=trifles)

    def hiding(self, secrets: Collection[str]) -> Report:
        """Return the report without these values, which a server may have repeated."""
        if not secrets:
            return self

        def hidden(finding: Finding) -> Finding:
            return msgspec.structs.replace(finding, found=told_without(finding.found, secrets))

        return msgspec.structs.replace(
            self,
            findings=tuple(map(hidden, self.findings)),
            trifles=tuple(map(hidden, self.trifles)),
            server={name: _hide(value, secrets) for name, value in self.server.items()},
        )


def _hide(value: object, secrets: Collection[str]) -> object:
    match value:
        case str():
            return told_without(value, secrets)
        case dict():
            members = cast("dict[str, object]", value)
            return {name: _hide(each, secrets) for name, each in members.items()}
        case _:
            return value


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
