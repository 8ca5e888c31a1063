"""What all lists have in common: pages, and cursors between them.

Specification: MCP `server/utilities/pagination`.
"""

from __future__ import annotations

import msgspec

from anywire.protocol.types.pagination import PaginatedParams
from anywire.server.catalogue import CursorUnknown, Offer
from anywire.server.service import Serving
from anywire.wire.codec import decode_value
from anywire.wire.message import JsonRpcErrorCode, Request

__all__ = ("list_page",)


def list_page(session: Serving, request: Request, offer: Offer) -> None:
    """Answer a `…/list` with the page that its cursor asks for."""
    try:
        cursor = decode_value(request.params or b"{}", PaginatedParams).cursor
        page = session.service.catalogue.page(
            offer, None if isinstance(cursor, msgspec.UnsetType) else cursor
        )
    except (msgspec.MsgspecError, CursorUnknown) as error:
        session.fail(request.id, JsonRpcErrorCode.InvalidParams, f"Invalid params: {error}")
    else:
        session.reply(request.id, page)
