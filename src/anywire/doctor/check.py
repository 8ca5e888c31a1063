"""The checks as data: what may be wrong, how much it weighs, what to do about it.

An error keeps a client that goes by the specification from working with the server.  A warning is a
broken rule that some clients do not forgive, or one that costs all of them time.  A note is worth
knowing and breaks nothing.  A trifle is what nearly every server has, and hardly a client minds: it is
told apart from findings.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum

import msgspec

__all__ = ("Check", "Finding", "Weight", "by_weight", "finding_of")

#: A report is for people: so much of what was found is told.
_MOST_CHARACTERS = 2000
_MOST_LINES = 20


class Weight(IntEnum):
    """How bad a finding is."""

    TRIFLE = 0
    NOTE = 1
    WARNING = 2
    ERROR = 3


class Check(msgspec.Struct, frozen=True):
    """Something that may be wrong: `title` says what, `advice` what to do."""

    id: str
    weight: Weight
    title: str
    advice: str


class Finding(msgspec.Struct, frozen=True):
    """Something that is wrong: which check, and what exactly was found."""

    check: Check
    found: str


def finding_of(check: Check, found: str) -> Finding:
    """Return a finding that says no more than a person reads."""
    lines = found[:_MOST_CHARACTERS].splitlines()
    told = "\n".join(lines[:_MOST_LINES])
    return Finding(check, told if len(told) >= len(found.rstrip()) else f"{told} …")


def by_weight(*groups: Iterable[Check]) -> dict[str, Check]:
    """Return checks by their ids, heaviest first; those of one weight stay in their order."""
    checks = (check for group in groups for check in group)
    return {check.id: check for check in sorted(checks, key=lambda each: each.weight, reverse=True)}
