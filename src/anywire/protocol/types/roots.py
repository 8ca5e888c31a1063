"""The folders that a client lets a server work in.

Specification: MCP `client/roots`, all revisions; in 2026-07-28 only inside a result that requires input.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import UNSET, UnsetType

from anywire.protocol.types.metadata import WithMeta
from anywire.protocol.types.reading import Item

__all__ = ("ListRootsResult", "Root")


class Root(WithMeta, frozen=True):
    """One folder or file: a `file:` URI, and a name for people."""

    uri: str
    name: str | UnsetType = UNSET


class ListRootsResult(WithMeta, frozen=True):
    """The result of `roots/list`."""

    roots: Sequence[Item[Root]]
