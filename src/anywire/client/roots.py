"""`roots/list`: the folders that the program lets a server work in.

Specification: MCP `client/roots`.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeAlias, cast

from anywire.client.asked import Asked
from anywire.client.callback import Callback
from anywire.errors import ConfigError
from anywire.protocol.types.roots import ListRootsResult, Root
from anywire.wire.codec import encode_value

__all__ = ("Folders", "RootLike", "Roots", "RootsSource", "make_root")

#: A root, a path, or a `file:` URI.
RootLike: TypeAlias = Root | str | os.PathLike[str]

#: Roots that are looked at whenever the server asks, or a function that returns them.
RootsSource: TypeAlias = (
    Sequence[RootLike]
    | Callable[[], Iterable[RootLike] | Awaitable[Iterable[RootLike]]]
    | Callable[[Asked], Iterable[RootLike] | Awaitable[Iterable[RootLike]]]
)


class Folders:
    """Roots that the program keeps in a sequence; it may change."""

    def __init__(self, roots: Sequence[RootLike]) -> None:
        if isinstance(roots, str | bytes) or not isinstance(cast("object", roots), Sequence):
            raise ConfigError(f"roots must be a sequence or a function, not {roots!r}")
        self._roots = roots
        for root in roots:
            make_root(root)  # what is no root is told at once

    async def answer(self, asked: Asked) -> bytes:
        """Return the raw result."""
        return _write(self._roots)


class Roots:
    """Roots that a function of the program returns."""

    def __init__(self, callback: Callback) -> None:
        self._callback = callback

    async def answer(self, asked: Asked) -> bytes:
        """Return the raw result.  Raises whatever the program raised."""
        return _write(await self._callback.call(asked))


def make_root(root: object) -> Root:
    """Return a root as it is told.  Raises `ConfigError` for what is none: its URI must be `file:`."""
    if isinstance(root, Root):
        made = root
    elif isinstance(root, str) and "://" in root:
        made = Root(root)
    elif isinstance(root, str | os.PathLike):
        made = Root(Path(cast("str", root)).absolute().as_uri())
    else:
        raise ConfigError(f"{root!r} is no root: give a Root, a path or a file: URI")
    if not made.uri.startswith("file:"):
        raise ConfigError(f"{made.uri!r} is no root: its URI must begin with file:")
    return made


def _write(roots: Iterable[RootLike]) -> bytes:
    return encode_value(ListRootsResult([make_root(root) for root in roots]))
