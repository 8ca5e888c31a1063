"""Which function serves which method."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from anywire.protocol.modern import discover_result
from anywire.protocol.types.logging import SetLevelParams
from anywire.server.exchange import Exchange
from anywire.server.methods.completion import complete
from anywire.server.methods.listen import listen
from anywire.server.methods.prompts import get_prompt, list_prompts
from anywire.server.methods.resources import (
    list_resources,
    list_templates,
    read_resource,
    subscribe,
    unsubscribe,
)
from anywire.server.methods.tools import call_tool, list_tools
from anywire.server.stateless import StatelessExchange
from anywire.wire.codec import decode_value, encode_value
from anywire.wire.message import JsonRpcErrorCode

__all__ = ("METHODS", "STATELESS_METHODS")


def _initialize(exchange: Exchange) -> None:
    exchange.reply(exchange.handshake.initialize(exchange.params, exchange.session.service.identity))


def _ping(exchange: Exchange) -> None:
    exchange.reply(b"{}")


def _set_level(exchange: Exchange) -> None:
    try:
        level = decode_value(exchange.params or b"{}", SetLevelParams).level
    except msgspec.MsgspecError as error:
        exchange.fail(JsonRpcErrorCode.InvalidParams, f"Invalid params: {error}")
    else:
        exchange.handshake.log_level = level
        exchange.reply(b"{}")


def _discover(exchange: Exchange) -> None:
    identity = exchange.session.service.identity
    exchange.fresh_seconds = exchange.session.service.fresh_seconds
    exchange.reply(discover_result(encode_value(identity.capabilities), identity.instructions))


#: What is served in either era.
_EITHER: Final[Mapping[str, Callable[[Exchange], None]]] = {
    "tools/call": call_tool,
    "tools/list": list_tools,
    "resources/list": list_resources,
    "resources/templates/list": list_templates,
    "resources/read": read_resource,
    "prompts/list": list_prompts,
    "prompts/get": get_prompt,
    "completion/complete": complete,
}

#: What serves each method of the handshake era; whatever is raised costs the request and no other.
METHODS: Final[Mapping[str, Callable[[Exchange], None]]] = {
    **_EITHER,
    "initialize": _initialize,
    "ping": _ping,
    "logging/setLevel": _set_level,
    "resources/subscribe": subscribe,
    "resources/unsubscribe": unsubscribe,
}

#: What serves each method of the stateless era.
STATELESS_METHODS: Final[Mapping[str, Callable[[StatelessExchange], None]]] = {
    **_EITHER,
    "server/discover": _discover,
    "subscriptions/listen": listen,
}
