"""Patterns for the names of things: which kind, and a glob.

    delete_*            tools whose names begin so
    tool:[a-c]?x        tools as well
    prompt:*            all prompts
    resource:file:///*  resources, and templates of resources, by their URIs

A glob has `*` (anything), `?` (one character) and `[...]` (one of these, `[!...]` one of the others), and
matches a whole name; `[?]` is the sign itself, with which the query of a URI begins.  No pattern takes more
time than the product of its length and that of the name: what stands for a `*` is never looked for a second
time.
"""

from __future__ import annotations

import re
from enum import Enum
from fnmatch import translate
from functools import cached_property
from typing import Final
from urllib.parse import unquote

import msgspec

from anywire.bridge.policy.plain import folded
from anywire.bridge.policy.spelling import eased, parts_of, without_slashes
from anywire.errors import ConfigError

__all__ = ("Kind", "Pattern", "read_pattern")

#: The signs of a glob, percent-encoded in a URI: decoded they would mean something else.
_ENCODED_SIGN: Final = re.compile(r"%(2[aA]|3[fF]|5[bB])")
_SIGN: Final = re.compile(r"[*?\[]")
#: What looks like a sign of a glob and stands for itself: for some readers for the letter that the sign is.
_LOOKALIKE: Final = re.compile("[\uff0a\ufe61\uff1f\ufe56\uff3b\ufe47]")
#: Where the sign `?` is while a glob is read as a URI, in which a literal one begins the query.
_ANY_ONE: Final = "\ue0ff"


class Kind(Enum):
    """What a pattern can be about."""

    TOOL = "tool"
    PROMPT = "prompt"
    #: A resource, or a template of resources.
    RESOURCE = "resource"


class Pattern(msgspec.Struct, frozen=True, dict=True):
    """What some things are called; `text` is the pattern as somebody wrote it."""

    text: str
    kind: Kind
    glob: str

    def matches(self, name: str) -> bool:
        """Say whether that is a name of such a thing, letter by letter."""
        return any(each.match(name) for each in self._exact)

    def matches_part(self, name: str) -> bool:
        """Say whether it is a part of such a URI, as `spelling.parts_of` takes parts."""
        return self.matches(name) or any(each.match(name) for each in self._parts)

    def matches_any_case(self, name: str) -> bool:
        """Say whether it is such a name if capitals, and what `plain.folded` does not see, do not count."""
        return any(each.match(name) for each in self._any_case)

    def may_concern(self, scheme: str, server: str | None) -> bool:
        """Say whether URIs of a scheme could match at all; among several servers they may begin with one."""
        start, colon, _ = _SIGN.split(self.glob, maxsplit=1)[0].partition(":")
        return not colon or start.casefold() in (scheme, f"{server}+{scheme}".casefold())

    @cached_property
    def _exact(self) -> list[re.Pattern[str]]:
        return [re.compile(translate(glob)) for glob in self._globs()]

    @cached_property
    def _parts(self) -> list[re.Pattern[str]]:
        parts = {_with_signs(part) for glob in self._globs() for part in parts_of(_without_signs(glob))}
        return [re.compile(translate(glob)) for glob in parts]

    @cached_property
    def _any_case(self) -> list[re.Pattern[str]]:
        globs = {each for glob in self._globs() for each in (glob, folded(_LOOKALIKE.sub(_as_letter, glob)))}
        globs |= set(map(without_slashes, globs)) if self.kind is Kind.RESOURCE else set()
        return [re.compile(translate(glob), re.IGNORECASE) for glob in globs]

    def _globs(self) -> list[str]:
        """Return the glob, and as it is without its percent-encodings: URIs are looked at without theirs."""
        if self.kind is not Kind.RESOURCE or "%" not in self.glob:
            return [self.glob]
        decoded = unquote(_ENCODED_SIGN.sub(lambda sign: f"[{unquote(sign[0])}]", self.glob))
        return [self.glob, eased(self.glob), decoded]


def read_pattern(text: str) -> Pattern:
    """Read `GLOB` or `KIND:GLOB`; without a kind it is about tools.

    Raises `ConfigError` for an empty one, and for a kind that there is not: a rule that is about nothing
    would protect nothing.
    """
    name, colon, rest = text.partition(":")
    kind, glob = (Kind.TOOL, text) if not colon else (_kind(name, text), rest)
    if not glob:
        raise ConfigError(f"the pattern {text!r} names nothing; write delete_*, say, or {kind.value}:*")
    return Pattern(text, kind, glob)


def _kind(name: str, text: str) -> Kind:
    try:
        return Kind(name)
    except ValueError:
        kinds = ", ".join(f"{kind.value}:" for kind in Kind)
        raise ConfigError(
            f"the pattern {text!r} is about {name!r}, which is none of {kinds}; for a URI write "
            f"resource:{text}, for a tool of such a name tool:{text}"
        ) from None


def _as_letter(sign: re.Match[str]) -> str:
    return f"[{folded(sign[0])}]"


def _without_signs(glob: str) -> str:
    return glob.replace("[?]", "\0").replace("?", _ANY_ONE).replace("\0", "?")


def _with_signs(glob: str) -> str:
    return glob.replace("?", "[?]").replace(_ANY_ONE, "?")
