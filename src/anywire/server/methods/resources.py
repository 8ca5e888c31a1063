"""The methods of `resources/`: lists, reading, subscriptions."""

from __future__ import annotations

import msgspec

from anywire.errors import ResourceNotFound
from anywire.protocol.types.resources import ReadResourceParams, SubscribeParams
from anywire.server.catalogue import Offer
from anywire.server.methods.listing import list_page
from anywire.server.service import Serving
from anywire.wire.codec import decode_value, encode_value
from anywire.wire.message import JsonRpcErrorCode, Request

__all__ = ("list_resources", "list_templates", "read_resource", "subscribe", "unsubscribe")


def list_resources(session: Serving, request: Request) -> None:
    """Answer `resources/list`."""
    list_page(session, request, Offer.RESOURCES)


def list_templates(session: Serving, request: Request) -> None:
    """Answer `resources/templates/list`."""
    list_page(session, request, Offer.TEMPLATES)


def read_resource(session: Serving, request: Request) -> None:
    """Serve `resources/read`."""
    try:
        params = decode_value(request.params or b"{}", ReadResourceParams)
        found = session.service.catalogue.read(params.uri)
        if found is None:
            session.refuse(request.id, ResourceNotFound(params.uri))
            return
        reading, values = found
        arguments = reading.handler.read_arguments(encode_value(values))
    except msgspec.MsgspecError as error:
        session.fail(request.id, JsonRpcErrorCode.InvalidParams, f"Invalid params: {error}")
    else:
        session.run_handler(request, bytes(params.meta), reading, arguments)


def subscribe(session: Serving, request: Request) -> None:
    """Answer `resources/subscribe`: tell the client from now on when the resource has changed."""
    uri = _uri(session, request)
    if uri is None:
        return
    if session.service.catalogue.read(uri) is None:
        session.refuse(request.id, ResourceNotFound(uri))
    elif len(session.subscriptions) >= session.limits.subscriptions and uri not in session.subscriptions:
        reason = f"more than {session.limits.subscriptions} subscriptions; end some of them first"
        session.fail(request.id, JsonRpcErrorCode.InternalError, reason)
    else:
        session.subscriptions.add(uri)
        session.reply(request.id, b"{}")


def unsubscribe(session: Serving, request: Request) -> None:
    """Answer `resources/unsubscribe`, whether or not there was a subscription."""
    uri = _uri(session, request)
    if uri is not None:
        session.subscriptions.discard(uri)
        session.reply(request.id, b"{}")


def _uri(session: Serving, request: Request) -> str | None:
    try:
        return decode_value(request.params or b"{}", SubscribeParams).uri
    except msgspec.MsgspecError as error:
        session.fail(request.id, JsonRpcErrorCode.InvalidParams, f"Invalid params: {error}")
        return None
