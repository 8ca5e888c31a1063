"""The methods of `resources/`: lists, reading, subscriptions."""

from __future__ import annotations

import msgspec

from anywire.errors import ResourceNotFound
from anywire.protocol.types.resources import ReadResourceParams, SubscribeParams
from anywire.server.calling import run_handler
from anywire.server.catalogue import Offer
from anywire.server.exchange import Exchange
from anywire.server.methods.listing import list_page
from anywire.wire.codec import decode_value, encode_value
from anywire.wire.message import JsonRpcErrorCode

__all__ = ("list_resources", "list_templates", "read_resource", "subscribe", "unsubscribe")


def list_resources(exchange: Exchange) -> None:
    """Answer `resources/list`."""
    list_page(exchange, Offer.RESOURCES)


def list_templates(exchange: Exchange) -> None:
    """Answer `resources/templates/list`."""
    list_page(exchange, Offer.TEMPLATES)


def read_resource(exchange: Exchange) -> None:
    """Serve `resources/read`."""
    try:
        params = decode_value(exchange.params or b"{}", ReadResourceParams)
        found = exchange.session.service.catalogue.read(params.uri)
        if found is None:
            exchange.refuse(ResourceNotFound(params.uri))
            return
        reading, values = found
        arguments = reading.handler.read_arguments(encode_value(values))
    except msgspec.MsgspecError as error:
        exchange.fail(JsonRpcErrorCode.InvalidParams, f"Invalid params: {error}")
    else:
        exchange.fresh_seconds = reading.fresh_seconds
        run_handler(exchange, reading, arguments)


def subscribe(exchange: Exchange) -> None:
    """Answer `resources/subscribe`: tell the client from now on when the resource has changed."""
    uri = _uri(exchange)
    if uri is None:
        return
    session = exchange.session
    most, subscriptions = session.limits.subscriptions, exchange.handshake.subscriptions
    if session.service.catalogue.read(uri) is None:
        exchange.refuse(ResourceNotFound(uri))
    elif len(subscriptions) >= most and uri not in subscriptions:
        reason = f"more than {most} subscriptions; end some of them first"
        exchange.fail(JsonRpcErrorCode.InternalError, reason)
    else:
        subscriptions.add(uri)
        exchange.reply(b"{}")


def unsubscribe(exchange: Exchange) -> None:
    """Answer `resources/unsubscribe`, whether or not there was a subscription."""
    uri = _uri(exchange)
    if uri is not None:
        exchange.handshake.subscriptions.discard(uri)
        exchange.reply(b"{}")


def _uri(exchange: Exchange) -> str | None:
    try:
        return decode_value(exchange.params or b"{}", SubscribeParams).uri
    except msgspec.MsgspecError as error:
        exchange.fail(JsonRpcErrorCode.InvalidParams, f"Invalid params: {error}")
        return None
