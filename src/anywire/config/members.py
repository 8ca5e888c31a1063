"""The members of one server in a file, taken by what they mean; a sentence for what cannot be used."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import cast

from anywire.config.dialect import Dialect
from anywire.config.document import as_object
from anywire.config.template import Template, read_template
from anywire.errors import ConfigError

__all__ = ("Members",)


class Members:
    """Reads the members of one server.  Each method raises `ConfigError` for a value of the wrong kind.

    No value is repeated in an error: it may be secret.
    """

    def __init__(self, members: Mapping[str, object], dialect: Dialect) -> None:
        self._dialect = dialect
        self._values: dict[str, tuple[str, object]] = {}
        for name, value in members.items():
            meaning = dialect.members.get(name)
            if meaning is None or value is None:  # null is as good as absent
                continue
            other = self._values.get(meaning)
            if other is not None and other[1] != value:
                raise ConfigError(f"{other[0]} and {name} say two things; give one")
            self._values[meaning] = (name, value)

    def value(self, meaning: str) -> object:
        """Return what the file has for this meaning, None for nothing."""
        return self._values.get(meaning, ("", None))[1]

    def name(self, meaning: str) -> str:
        """Return by which name the file has it."""
        return self._values.get(meaning, (meaning, None))[0]

    def word(self, meaning: str) -> str | None:
        """Return a text."""
        value = self.value(meaning)
        if value is None or isinstance(value, str):
            return value
        raise self._wrong(meaning, "a text")

    def flag(self, meaning: str) -> bool | None:
        """Return true or false."""
        value = self.value(meaning)
        if value is None or isinstance(value, bool):
            return value
        raise self._wrong(meaning, "true or false")

    def number(self, meaning: str) -> float | None:
        """Return how many of its units a time has: more than 0."""
        value = self.value(meaning)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self._wrong(meaning, "a number")
        if not 0 < value < math.inf:
            raise ConfigError(f"{self.name(meaning)} is no time to wait; write more than 0")
        return value

    def words(self, meaning: str) -> tuple[str, ...] | None:
        """Return a list of texts."""
        value = self.value(meaning)
        if value is None:
            return None
        items = cast("list[object]", value) if isinstance(value, list) else [None]
        if not all(isinstance(item, str) for item in items):
            raise self._wrong(meaning, "a list of texts")
        return tuple(cast("list[str]", items))

    def template(self, meaning: str) -> Template | None:
        """Return a text with variables."""
        word = self.word(meaning)
        return None if word is None else self.read(word, self.name(meaning))

    def templates(self, meaning: str) -> dict[str, Template | None]:
        """Return texts by name, None for one that is null.  A number or a truth value is its text."""
        value = self.value(meaning)
        if value is None:
            return {}
        members = as_object(value)
        if members is None:
            raise self._wrong(meaning, "an object of texts")
        return {name: self._text(meaning, name, member) for name, member in members.items()}

    def read(self, text: str, name: str) -> Template:
        """Read a text with variables that is the member of that name, or in it."""
        try:
            return read_template(text, self._dialect.syntax)
        except ConfigError as error:
            raise ConfigError(f"{name}: {error}") from None

    def _text(self, meaning: str, name: str, value: object) -> Template | None:
        if value is None:
            return None
        if isinstance(value, bool):
            value = "true" if value else "false"
        if isinstance(value, int | float):
            value = str(value)
        if not isinstance(value, str):
            raise ConfigError(f"{name} in {self.name(meaning)} is no text")
        return self.read(value, f"{name} in {self.name(meaning)}")

    def _wrong(self, meaning: str, expected: str) -> ConfigError:
        return ConfigError(f"{self.name(meaning)} is not {expected}")
