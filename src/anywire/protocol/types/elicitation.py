"""Asking the client's user: a form to fill in, or an address to visit.

Specification: MCP `client/elicitation`, since 2025-06-18; addresses since 2025-11-25; in 2026-07-28 only
inside a result that requires input.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Raw, UnsetType

from anywire.protocol.types.metadata import NotificationParams, RequestParams, WithMeta
from anywire.protocol.types.reading import read

__all__ = (
    "ElicitAction",
    "ElicitFormParams",
    "ElicitParams",
    "ElicitResult",
    "ElicitUrlParams",
    "ElicitationCompleteParams",
    "read_elicit_params",
)

#: What the user did: sent it, refused, or went away without a choice.
ElicitAction: TypeAlias = Literal["accept", "decline", "cancel"]


class ElicitFormParams(RequestParams, frozen=True):
    """A form: `requested_schema` is a JSON Schema, an object whose properties are all of plain types."""

    message: str
    requested_schema: dict[str, Any]
    mode: Literal["form"] | UnsetType = UNSET
    task: dict[str, Any] | UnsetType = UNSET


class ElicitUrlParams(RequestParams, frozen=True, tag_field="mode", tag="url"):
    """An address for the user to visit; `elicitation_id`, which 2025-11-25 must have, names it later."""

    message: str
    url: str
    elicitation_id: str | UnsetType = UNSET
    task: dict[str, Any] | UnsetType = UNSET


#: The params of `elicitation/create`.
ElicitParams: TypeAlias = ElicitFormParams | ElicitUrlParams


class ElicitResult(WithMeta, frozen=True):
    """The result of `elicitation/create`; `content` is what was filled in."""

    forgiven: ClassVar[frozenset[str] | None] = frozenset({"meta"})

    action: ElicitAction
    content: dict[str, Any] | UnsetType = UNSET


class ElicitationCompleteParams(NotificationParams, frozen=True):
    """The params of `notifications/elicitation/complete`, in 2025-11-25: the user is done at that address."""

    elicitation_id: str


class _Mode(msgspec.Struct):
    mode: object = None


def read_elicit_params(raw: bytes | Raw) -> ElicitParams:
    """Read the params of `elicitation/create`: a form unless it says otherwise.

    Raises `msgspec.MsgspecError` for a mode that is not known.
    """
    mode = read(raw, _Mode).mode
    if mode not in (None, "form", "url"):
        raise msgspec.ValidationError(f"Invalid value {mode!r} - at `$.mode`")
    return read(raw, ElicitUrlParams if mode == "url" else ElicitFormParams)
