"""`tools/list` and `tools/call`."""

from __future__ import annotations

import msgspec

from anywire.protocol.types.tools import CallToolParams
from anywire.server.calling import run_handler
from anywire.server.catalogue import Offer
from anywire.server.exchange import Exchange
from anywire.server.methods.listing import list_page
from anywire.server.result import encode_failure
from anywire.wire.codec import value_reader
from anywire.wire.message import JsonRpcErrorCode

__all__ = ("call_tool", "list_tools")

_read_params = value_reader(msgspec.json.Decoder(CallToolParams))


def list_tools(exchange: Exchange) -> None:
    """Answer `tools/list`."""
    list_page(exchange, Offer.TOOLS)


def call_tool(exchange: Exchange) -> None:
    """Serve `tools/call`: an unknown tool and bad arguments are results, so that a model can mend them."""
    try:
        call = _read_params(exchange.params or b"{}")
    except msgspec.MsgspecError as error:
        exchange.fail(JsonRpcErrorCode.InvalidParams, f"Invalid params: {error}")
        return
    if not call.name:
        reason = "Invalid params: tools/call needs the name of a tool"
        exchange.fail(JsonRpcErrorCode.InvalidParams, reason)
        return
    tool = exchange.session.service.catalogue.tools.get(call.name)
    if tool is None:
        exchange.reply(encode_failure(_unknown(exchange, call.name)))
        return
    try:
        arguments = tool.read_arguments(call.arguments)
    except msgspec.MsgspecError as error:
        exchange.reply(encode_failure(f"Invalid arguments for tool {call.name!r}: {error}"))
        return
    run_handler(exchange, tool, arguments)


def _unknown(exchange: Exchange, name: str) -> str:
    known = ", ".join(sorted(exchange.session.service.catalogue.tools)[:20]) or "none"
    return f"Unknown tool {name!r}. Tools of this server: {known}"
