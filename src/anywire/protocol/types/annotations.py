"""Hints about content and resources: for whom they are, and how much they matter.

Specification: MCP `server/resources#annotations`, all revisions; `lastModified` since 2025-06-18.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec
from msgspec import UNSET, UnsetType

__all__ = ("Annotations", "Role")

#: Who says something, or is to read it.
Role: TypeAlias = Literal["user", "assistant"]


class Annotations(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """For whom something is, its priority from 0 (optional) to 1 (required), when it changed (ISO 8601)."""

    audience: list[Role] | UnsetType = UNSET
    priority: int | float | UnsetType = UNSET
    last_modified: str | UnsetType = UNSET
