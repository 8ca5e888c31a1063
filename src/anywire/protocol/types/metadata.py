"""What params and results have in common: `_meta`, and what says which request is meant.

Specification: MCP `basic/index#_meta`, all revisions; `resultType` 2026-07-28.
"""

from __future__ import annotations

from typing import Any, ClassVar, TypeAlias

import msgspec
from msgspec import UNSET, Raw, UnsetType

from anywire.protocol.types.reading import Received

__all__ = ("NotificationParams", "ProgressToken", "RequestId", "RequestParams", "Result", "WithMeta")

#: The id of a request, as a value; the wire core keeps it as the bytes that it is.
RequestId: TypeAlias = str | int

#: What ties a progress notification to its request.
ProgressToken: TypeAlias = str | int


class WithMeta(Received, frozen=True, kw_only=True):
    """What has a `_meta`: data for whom it concerns, under keys with a prefix."""

    meta: dict[str, Any] | UnsetType = msgspec.field(default=UNSET, name="_meta")


class RequestParams(Received, frozen=True, kw_only=True):
    """The params of a request, which may have none but `_meta`; that stays raw JSON."""

    forgiven: ClassVar[frozenset[str] | None] = frozenset()

    meta: Raw = msgspec.field(default=Raw(b"{}"), name="_meta")


class NotificationParams(WithMeta, frozen=True, kw_only=True):
    """The params of a notification, which may have none but `_meta`."""

    forgiven: ClassVar[frozenset[str] | None] = frozenset({"meta", "reason", "total", "message", "logger"})


class Result(WithMeta, frozen=True, kw_only=True):
    """A result; since 2026-07-28 it says in `result_type` whether it is `complete`."""

    forgiven: ClassVar[frozenset[str] | None] = frozenset(
        {"meta", "ttl_ms", "cache_scope", "description", "instructions"}
    )

    result_type: str | UnsetType = UNSET
