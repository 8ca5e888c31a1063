"""Secrets whose values are known: those that were given, and those that were found, bounded in number."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Final

from anywire.record.names import PROTOCOL_WORDS, tells
from anywire.transport.redact import HIDDEN, parts_of

__all__ = ("KnownSecrets", "Present")

# So many of those that were found are remembered, the latest; so many characters of each.
_MOST_FOUND: Final = 200
_MOST_CHARACTERS: Final = 100_000
# What is shorter is no secret, and would be found anywhere.
_LEAST_CHARACTERS: Final = 4
# What is shorter, or was found and is a mere word, is looked for as a whole word alone.
_WHOLE_BELOW: Final = 8
# A pattern of what is longer would take long to make.
_LONG: Final = 200
_WORD: Final = re.compile(r"[a-zA-Z]+|[0-9.]+|[/_ ]+")
_PROSE: Final = re.compile(r"[a-zA-Z .,;:!?'()-]*|[0-9.]{1,5}")
_CREDENTIAL: Final = re.compile(r"(?=[^\s]*[0-9])[^\s,;\"'<>()]{4,}+")
_RUN: Final = re.compile(r"[A-Za-z0-9 ._-]{3,}")
_MOST_WORDS: Final = 8


class KnownSecrets:
    """Knows `values`, such as those of headers and of variables, and what it is told."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        self._given: dict[str, tuple[bytes, ...]] = {}
        self._found: dict[str, tuple[bytes, ...]] = {}
        # Bytes that tell of a value, it, and whether it is looked for as a whole word; empty: not made yet.
        self._anchored: list[tuple[bytes, str, bool]] = []
        self.give(values)

    def give(self, values: Iterable[str]) -> None:
        """Know these as well, for good."""
        for part in {part for value in values for part in parts_of(value)} - PROTOCOL_WORDS:
            self._given[part] = _anchors(part)
        self._anchored = []

    def pass_by(self, values: Iterable[str]) -> None:
        """Know these as well, like what was found: until so many others have come."""
        for part in {part for value in values for part in parts_of(value)}:
            self.learn(part)

    def learn(self, value: str) -> bool:
        """Remember a secret; say whether it is new."""
        if not _LEAST_CHARACTERS <= len(value) <= _MOST_CHARACTERS or value in PROTOCOL_WORDS:
            return False
        if HIDDEN in value or not value.strip() or (tells(value) and _is_word(value)):
            return False
        known = self._found.pop(value, None)
        if known is None:
            self._anchored = []
        self._found[value] = known or _anchors(value)
        if len(self._found) > _MOST_FOUND:
            del self._found[next(iter(self._found))]
        return known is None

    def learn_from_prose(self, value: str) -> bool:
        """Remember what stood behind a telling word in a text, unless it is prose; say whether it is new."""
        is_new = False if _PROSE.fullmatch(value) else self.learn(value)
        if " " in value:
            for word in value.split(maxsplit=_MOST_WORDS)[:_MOST_WORDS]:
                if _CREDENTIAL.fullmatch(word) and not _PROSE.fullmatch(word):
                    is_new = self.learn(word) or is_new
        return is_new

    def has(self, value: str) -> bool:
        """Say whether this is one of them."""
        return value in self._given or value in self._found

    def in_text(self, raw: bytes) -> Present | None:
        """Return those of them that may be in a JSON text, or in a text of it; None: there is none.

        What is escaped in JSON, and in JSON inside of that, is found in the text that it means.
        """
        if not self._anchored:
            anchored = [
                (known is self._given, value) for known in (self._given, self._found) for value in known
            ]
            self._anchored = [
                (anchor, value, len(value) < _WHOLE_BELOW or (not given and _is_word(value)))
                for given, value in anchored
                for anchor in (self._given if given else self._found)[value]
            ]
        spelled_out = b"\\u00" in raw
        there = {(value, whole) for anchor, value, whole in self._anchored if anchor in raw or spelled_out}
        return Present(there) if there else None


class Present:
    """Secrets that may be in a text, and whether each is looked for as a whole word."""

    def __init__(self, values: Iterable[tuple[str, bool]]) -> None:
        # The longest first: what a shorter one leaves of a longer one would show.
        longest_first = sorted(values, key=lambda each: len(each[0]), reverse=True)
        self._long = [value for value, _ in longest_first if len(value) > _LONG]
        self._pattern = _pattern(tuple(each for each in longest_first if len(each[0]) <= _LONG))

    def replace_in(self, text: str, put: Callable[[str], str]) -> str:
        """Return a text with what is put in the place of each of them."""
        for value in self._long:
            if value in text:
                text = text.replace(value, put(value))
        return text if self._pattern is None else self._pattern.sub(lambda found: put(found[0]), text)


@lru_cache(maxsize=100)
def _pattern(values: tuple[tuple[str, bool], ...]) -> re.Pattern[str] | None:
    return re.compile("|".join(_sought(value, whole) for value, whole in values)) if values else None


def _sought(value: str, whole: bool) -> str:
    sought = re.escape(value)
    return rf"(?<![A-Za-z0-9]){sought}(?![A-Za-z0-9])" if whole else sought


def _is_word(value: str) -> bool:
    return _WORD.fullmatch(value) is not None


def _anchors(value: str) -> tuple[bytes, ...]:
    """Return bytes of which one is in every JSON text that has the value in it, however it is escaped."""
    runs: list[str] = _RUN.findall(value)
    if runs:
        return (max(runs, key=len).encode(),)
    plain = next((character for character in value if ord(character) > 127), value[0])
    if ord(plain) < 128:
        return (plain.encode() if plain >= " " else b"\\",)
    unit = plain.encode("utf-16-be", "surrogatepass")[:2].hex().encode()
    return plain.encode("utf-8", "surrogatepass"), unit, unit.upper()
