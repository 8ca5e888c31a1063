"""What all lists have in common: pages, and cursors between them.

Specification: MCP `server/utilities/pagination`.
"""

from __future__ import annotations

import msgspec

from anywire.server.catalogue import CursorUnknown, Offer
from anywire.server.exchange import Exchange
from anywire.wire.codec import decode_value
from anywire.wire.message import JsonRpcErrorCode

__all__ = ("list_page",)


class _Params(msgspec.Struct):
    """Only the cursor matters; some clients send null for none, and arrays for no params."""

    cursor: object = None


def list_page(exchange: Exchange, offer: Offer) -> None:
    """Answer a `…/list` with the page that its cursor asks for."""
    try:
        page = exchange.session.service.catalogue.page(offer, _cursor(exchange.params))
    except CursorUnknown as error:
        exchange.fail(JsonRpcErrorCode.InvalidParams, f"Invalid params: {error}")
    else:
        exchange.fresh_seconds = exchange.session.service.fresh_seconds
        exchange.reply(page)


def _cursor(params: bytes | None) -> str | None:
    try:
        cursor = decode_value(params or b"{}", _Params).cursor
    except msgspec.MsgspecError:
        return None
    if cursor is not None and not isinstance(cursor, str):
        raise CursorUnknown("a cursor is a string")
    return cursor
