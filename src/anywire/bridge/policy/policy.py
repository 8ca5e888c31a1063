"""Which things of a server are there for its clients: rules that allow, and rules that deny.

What a deny matches is hidden, whatever allows it.  As soon as something of a kind is allowed, everything
else of that kind is hidden.  A kind without rules is there.

A URI that some rule could concern has to be written plainly; then it is hidden if any reader might take it
for what is denied, and there only if all that it means is allowed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final

import msgspec

from anywire.bridge.policy.pattern import Kind, Pattern, read_pattern
from anywire.bridge.policy.plain import oddity
from anywire.bridge.policy.spelling import lookalikes, parts_of, same_as

__all__ = ("Policy",)

_NOT_ALLOWED: Final = "nothing allows it"
_SCHEME: Final = re.compile(r"(?!url:)([a-z][a-z0-9+.-]*):")


class _Rules(msgspec.Struct, frozen=True):
    allow: tuple[Pattern, ...]
    deny: tuple[Pattern, ...]


class Policy:
    """Rules, each a pattern as `pattern.read_pattern` reads them.  Raises `ConfigError` for one that is none.

    `server` is what the server is called among several; then a pattern may as well match the name that a
    thing has there: `SERVER__tool`, `SERVER+file:///notes`, `ui://SERVER/page`.
    """

    def __init__(
        self, allow: Iterable[str] = (), deny: Iterable[str] = (), server: str | None = None
    ) -> None:
        allowed, denied = [read_pattern(each) for each in allow], [read_pattern(each) for each in deny]
        self._server = server
        self._rules: Mapping[Kind, _Rules] = {
            kind: _Rules(
                tuple(each for each in allowed if each.kind is kind),
                tuple(each for each in denied if each.kind is kind),
            )
            for kind in {each.kind for each in allowed + denied}
        }

    def __repr__(self) -> str:
        rules = [
            f"{verb} {each.text!r}"
            for of_kind in self._rules.values()
            for verb, patterns in (("allow", of_kind.allow), ("deny", of_kind.deny))
            for each in patterns
        ]
        return f"<Policy {', '.join(rules)}>"

    def concerns(self, *kinds: Kind) -> bool:
        """Say whether there are rules for one of these kinds."""
        return any(kind in self._rules for kind in kinds)

    def allows_only_some(self, kind: Kind) -> bool:
        """Say whether what no rule names is hidden."""
        return kind in self._rules and bool(self._rules[kind].allow)

    def reason(self, kind: Kind, name: str | None) -> str | None:
        """Say which rule hides a thing, None where it is there.

        `name` is its name or its URI, None for a thing that has none of which anything could be said: that is
        hidden where only some are allowed.
        """
        rules = self._rules.get(kind)
        if rules is None:
            return None
        if name is None:
            return "it has no name, and only some names are allowed" if rules.allow else None
        if kind is Kind.RESOURCE:
            return self._reason_for_uri(rules, name)
        names = [name, *self._merged(kind, name)]
        for pattern in rules.deny:
            if any(map(pattern.matches, names)):
                return _denied(pattern)
        is_allowed = not rules.allow or any(each.matches(name) for name in names for each in rules.allow)
        return None if is_allowed else _NOT_ALLOWED

    def _reason_for_uri(self, rules: _Rules, uri: str) -> str | None:
        scheme = _SCHEME.match(uri)
        if scheme and not rules.allow and not self._may_be_denied(rules, scheme[1]):
            return None
        if (odd := oddity(uri)) is not None:
            return odd
        same = same_as(uri)
        # Whether `/Secret` is `/secret` is for the server's disk to say: it is denied if it might be.
        alike = [name for each in lookalikes(same) for name in self._names(each)] if rules.deny else []
        for pattern in rules.deny:
            if any(map(pattern.matches_any_case, alike)):
                return _denied(pattern)
        if not rules.allow:
            return None
        if not all(_matches(rules.allow, Pattern.matches, self._names(each)) for each in same):
            return _NOT_ALLOWED
        parts = {part for each in same for part in parts_of(each)} - same
        if all(_matches(rules.allow, Pattern.matches_part, self._names(each)) for each in parts):
            return None
        return "nothing allows it without its query or another part that readers may leave out"

    def _may_be_denied(self, rules: _Rules, scheme: str) -> bool:
        return any(each.may_concern(scheme, self._server) for each in rules.deny)

    def _names(self, uri: str) -> list[str]:
        return [uri, *self._merged(Kind.RESOURCE, uri)]

    def _merged(self, kind: Kind, name: str) -> list[str]:
        """Return what a thing is called among those of several servers."""
        if self._server is None:
            return []
        if kind is not Kind.RESOURCE:
            return [f"{self._server}__{name}"]
        if name.startswith("ui://"):
            return [f"ui://{self._server}/{name.removeprefix('ui://')}"]
        return [f"{self._server}+{name}"]


def _matches(patterns: Iterable[Pattern], match: Callable[[Pattern, str], bool], names: list[str]) -> bool:
    return any(match(pattern, name) for pattern in patterns for name in names)


def _denied(pattern: Pattern) -> str:
    return f"deny {pattern.text!r}"
