"""Secrets whose values are known: those that were given, and those that were found, bounded in number."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Final

from anywire.protocol.methods import METHODS
from anywire.transport.redact import parts_of
from anywire.wire.value import encode_value

__all__ = ("KnownSecrets",)

# So many of those that were found are remembered, the latest.
_MOST_FOUND: Final = 200
# A value that is shorter, or a mere word, would be found anywhere; one that is longer is not said again.
_LEAST_BYTES: Final = 8
_MOST_BYTES: Final = 512
_WORD: Final = re.compile(rb"[a-zA-Z]+|[0-9.]+|[/_ ]+")


class KnownSecrets:
    """Knows `values`, such as those of headers and of variables, and what it is told."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        self._given: set[bytes] = set()
        self._found: dict[bytes, None] = {}
        self.give(values)

    def give(self, values: Iterable[str]) -> None:
        """Know these as well, for good."""
        known = {part for value in values for part in parts_of(value)} - METHODS.keys()
        self._given.update(spelled for part in known for spelled in _spellings(part))

    def learn(self, spelled: bytes) -> bool:
        """Remember what stood between the quotes of a secret; say whether it is new."""
        if not _LEAST_BYTES <= len(spelled) <= _MOST_BYTES or _WORD.fullmatch(spelled):
            return False
        is_new = self._found.pop(spelled, 0) == 0
        self._found[spelled] = None
        if len(self._found) > _MOST_FOUND:
            del self._found[next(iter(self._found))]
        return is_new

    def pattern_in(self, text: bytes) -> re.Pattern[bytes] | None:
        """Return what finds, as its group, each of them that is in a JSON text; None where none is."""
        there = [value for value in (*self._given, *self._found) if value in text]
        if not there:
            return None
        # The longest first: what a shorter one leaves of a longer one would show.  An escape is passed over
        # as a whole, so that nothing is found that begins in the middle of one.
        any_there = b"|".join(map(re.escape, sorted(there, key=len, reverse=True)))
        return re.compile(rb"(%b)|\\." % any_there)


def _spellings(value: str) -> tuple[bytes, ...]:
    """Return how a value may stand inside a JSON string."""
    plain = encode_value(value)[1:-1]
    return plain, json.dumps(value)[1:-1].encode(), plain.replace(b"/", b"\\/")
