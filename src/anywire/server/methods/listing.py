"""What all lists have in common: pages, and cursors between them.

Specification: MCP `server/utilities/pagination`.
"""

from __future__ import annotations

import msgspec

from anywire.server.catalogue import CursorUnknown, Offer
from anywire.server.service import Serving
from anywire.wire.codec import decode_value
from anywire.wire.message import JsonRpcErrorCode, Request

__all__ = ("list_page",)


class _Params(msgspec.Struct):
    """Only the cursor matters; some clients send null for none, and arrays for no params."""

    cursor: object = None


def list_page(session: Serving, request: Request, offer: Offer) -> None:
    """Answer a `…/list` with the page that its cursor asks for."""
    try:
        page = session.service.catalogue.page(offer, _cursor(request.params))
    except CursorUnknown as error:
        session.fail(request.id, JsonRpcErrorCode.InvalidParams, f"Invalid params: {error}")
    else:
        session.reply(request.id, page)


def _cursor(params: bytes | None) -> str | None:
    try:
        cursor = decode_value(params or b"{}", _Params).cursor
    except msgspec.MsgspecError:
        return None
    if cursor is not None and not isinstance(cursor, str):
        raise CursorUnknown("a cursor is a string")
    return cursor
