"""The two ends of a bridge, as a user names them.

A FACE is what the bridge offers (`stdio`, `stdio+headers`); a TARGET is what it calls
(`-- CMD ARGS…`, with the framing that the command speaks).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from anywire.errors import ConfigError
from anywire.wire.framing import Framing

__all__ = ("FACES", "child_environment", "face_framing", "target_framing")

#: The faces by name.
FACES: Final[Mapping[str, Framing]] = {"stdio": Framing.NEWLINE, "stdio+headers": Framing.HEADERS}


def face_framing(face: str) -> Framing:
    """Return the framing of a face.  Raises `ConfigError` for one that there is not."""
    try:
        return FACES[face]
    except KeyError:
        raise ConfigError(f"there is no face {face!r}; faces are: {', '.join(FACES)}") from None


def target_framing(name: str) -> Framing:
    """Return the framing of that name.  Raises `ConfigError` for one that there is not."""
    try:
        return Framing(name)
    except ValueError:
        names = ", ".join(framing.value for framing in Framing)
        raise ConfigError(f"there is no framing {name!r}; framings are: {names}") from None


def child_environment(words: list[str], environment: Mapping[str, str]) -> dict[str, str]:
    """Read `NAME=VALUE` (set it) and `NAME` (let it through from `environment`).

    Raises `ConfigError` for a name that is not set, or no name.
    """
    result: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not name:
            raise ConfigError(f"{word!r} names no variable; write NAME=VALUE or NAME")
        if not equals and name not in environment:
            raise ConfigError(f"the variable {name} is not set, so it cannot be let through")
        result[name] = value if equals else environment[name]
    return result
