"""Which things of a server are there for its clients: rules that allow, and rules that deny.

What a deny matches is hidden, whatever allows it.  As soon as something of a kind is allowed, everything
else of that kind is hidden.  A kind without rules is there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from anywire.bridge.policy.pattern import Kind, Pattern, read_pattern
from anywire.bridge.policy.spelling import spellings

__all__ = ("Policy",)


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
        if kind is not Kind.RESOURCE:
            return _reason(rules, [[name, *self._merged(kind, name)]])
        spelled = spellings(name)
        if spelled is None:
            return "its URI is too long, or encoded too often"
        return _reason(rules, [[each, *self._merged(kind, each)] for each in spelled])

    def _merged(self, kind: Kind, name: str) -> list[str]:
        """Return what a thing is called among those of several servers."""
        if self._server is None:
            return []
        if kind is not Kind.RESOURCE:
            return [f"{self._server}__{name}"]
        if name.startswith("ui://"):
            return [f"ui://{self._server}/{name.removeprefix('ui://')}"]
        return [f"{self._server}+{name}"]


def _reason(rules: _Rules, named: list[list[str]]) -> str | None:
    """`named` are the spellings of a name, each with what it is called elsewhere."""
    for pattern in rules.deny:
        # Whether `/Secret` is `/secret` is for the server's disk to say: it is denied if it might be.
        match = pattern.matches_any_case if pattern.kind is Kind.RESOURCE else pattern.matches
        if any(match(name) for names in named for name in names):
            return f"deny {pattern.text!r}"
    if not rules.allow:
        return None
    is_allowed = all(any(each.matches(name) for name in names for each in rules.allow) for names in named)
    return None if is_allowed else "nothing allows it"
