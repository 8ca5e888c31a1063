"""A result that asks for something first: the client answers by sending its request again.

Specification: MCP `basic/patterns/mrtr`, 2026-07-28.
"""

from __future__ import annotations

from typing import ClassVar

import msgspec
from msgspec import UNSET, Raw, UnsetType

from anywire.protocol.types.metadata import RequestParams, WithMeta

__all__ = ("InputRequest", "InputRequired", "RetriableParams")


class InputRequest(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """What is asked of the client: a method of the client's with its params, and no id."""

    method: str
    params: Raw | UnsetType = UNSET


class InputRequired(WithMeta, frozen=True, tag_field="resultType", tag="input_required"):
    """The result of a request that needs input: requests under keys of the server's, its state, or both."""

    forgiven: ClassVar[frozenset[str] | None] = frozenset({"meta"})

    input_requests: dict[str, InputRequest] | UnsetType = UNSET
    request_state: str | UnsetType = UNSET


class RetriableParams(RequestParams, frozen=True, kw_only=True):
    """The params of a request whose result may be an `InputRequired`.

    When it is sent again, `input_responses` has a raw result under each key that was asked for, and
    `request_state` is the state exactly as it came.
    """

    input_responses: dict[str, Raw] | UnsetType = UNSET
    request_state: str | UnsetType = UNSET
