"""`completion/complete`."""

from __future__ import annotations

import msgspec
from msgspec import UnsetType

from anywire.protocol.types.completion import CompleteParams, PromptReference
from anywire.server.calling import run_handler
from anywire.server.completing import encode_completion
from anywire.server.exchange import Exchange
from anywire.wire.codec import decode_value
from anywire.wire.message import JsonRpcErrorCode

__all__ = ("complete",)


def complete(exchange: Exchange) -> None:
    """Serve `completion/complete`: by the program's function, else by what the parameter's type allows."""
    try:
        params = decode_value(exchange.params or b"{}", CompleteParams)
    except msgspec.MsgspecError as error:
        exchange.fail(JsonRpcErrorCode.InvalidParams, f"Invalid params: {error}")
        return
    of = params.ref.name if isinstance(params.ref, PromptReference) else params.ref.uri
    argument, catalogue = params.argument, exchange.session.service.catalogue
    completion = catalogue.completion(of, argument.name)
    if completion is not None:
        given = None if isinstance(params.context, UnsetType) else params.context.arguments
        known = {} if given is None or isinstance(given, UnsetType) else given
        arguments = completion.arguments(argument.value, known)
        run_handler(exchange, completion, arguments)
        return
    choices = catalogue.choices(of, argument.name)
    if choices is None:
        reason = f"Invalid params: there is no prompt or resource template {of!r}"
        exchange.fail(JsonRpcErrorCode.InvalidParams, reason)
    else:
        exchange.reply(encode_completion(c for c in choices if c.startswith(argument.value)))
