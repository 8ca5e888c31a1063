"""Sentences for whoever runs a bridge, with what they are about: text for people, members for programs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

__all__ = ("Event", "Fields", "with_fields")

#: What is known of an event besides its sentence: plain JSON data.
Fields: TypeAlias = Mapping[str, object]


class Event(str):
    """A sentence that says what kind of event it tells of, and its members.

    It goes wherever a sentence goes; who writes logs for programs finds the rest.
    """

    __slots__ = ("fields", "kind")

    kind: str
    fields: Fields

    def __new__(cls, sentence: str, kind: str, fields: Fields | None = None) -> Event:
        """Make a sentence that is told of."""
        made = super().__new__(cls, sentence)
        made.kind = kind
        made.fields = fields or {}
        return made


def with_fields(sentence: str, **fields: object) -> str:
    """Return the same sentence with more members."""
    known = sentence if isinstance(sentence, Event) else Event(sentence, "report")
    return Event(sentence, known.kind, {**known.fields, **fields})
