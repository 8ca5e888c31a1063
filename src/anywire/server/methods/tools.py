"""`tools/list` and `tools/call`."""

from __future__ import annotations

import msgspec

from anywire.protocol.types.tools import CallToolParams
from anywire.server.catalogue import Offer
from anywire.server.methods.listing import list_page
from anywire.server.result import encode_failure
from anywire.server.service import Serving
from anywire.wire.codec import decode_value
from anywire.wire.message import JsonRpcErrorCode, Request

__all__ = ("call_tool", "list_tools")

_call_params = msgspec.json.Decoder(CallToolParams)


def list_tools(session: Serving, request: Request) -> None:
    """Answer `tools/list`."""
    list_page(session, request, Offer.TOOLS)


def call_tool(session: Serving, request: Request) -> None:
    """Serve `tools/call`: an unknown tool and bad arguments are results, so that a model can mend them."""
    try:
        call = decode_value(request.params or b"{}", CallToolParams, _call_params)
    except msgspec.MsgspecError as error:
        session.fail(request.id, JsonRpcErrorCode.InvalidParams, f"Invalid params: {error}")
        return
    if not call.name:
        reason = "Invalid params: tools/call needs the name of a tool"
        session.fail(request.id, JsonRpcErrorCode.InvalidParams, reason)
        return
    tool = session.service.catalogue.tools.get(call.name)
    if tool is None:
        session.reply(request.id, encode_failure(_unknown(session, call.name)))
        return
    try:
        arguments = tool.read_arguments(call.arguments)
    except msgspec.MsgspecError as error:
        session.reply(request.id, encode_failure(f"Invalid arguments for tool {call.name!r}: {error}"))
        return
    session.run_handler(request, bytes(call.meta), tool, arguments)


def _unknown(session: Serving, name: str) -> str:
    known = ", ".join(sorted(session.service.catalogue.tools)[:20]) or "none"
    return f"Unknown tool {name!r}. Tools of this server: {known}"
