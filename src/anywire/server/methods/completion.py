"""`completion/complete`."""

from __future__ import annotations

import msgspec
from msgspec import UnsetType

from anywire.protocol.types.completion import CompleteParams, PromptReference
from anywire.server.completing import encode_completion
from anywire.server.service import Serving
from anywire.wire.codec import decode_value
from anywire.wire.message import JsonRpcErrorCode, Request

__all__ = ("complete",)


def complete(session: Serving, request: Request) -> None:
    """Serve `completion/complete`: by the program's function, else by what the parameter's type allows."""
    try:
        params = decode_value(request.params or b"{}", CompleteParams)
    except msgspec.MsgspecError as error:
        session.fail(request.id, JsonRpcErrorCode.InvalidParams, f"Invalid params: {error}")
        return
    of = params.ref.name if isinstance(params.ref, PromptReference) else params.ref.uri
    argument, catalogue = params.argument, session.service.catalogue
    completion = catalogue.completion(of, argument.name)
    if completion is not None:
        given = None if isinstance(params.context, UnsetType) else params.context.arguments
        known = {} if given is None or isinstance(given, UnsetType) else given
        arguments = completion.arguments(argument.value, known)
        session.run_handler(request, bytes(params.meta), completion, arguments)
        return
    choices = catalogue.choices(of, argument.name)
    if choices is None:
        reason = f"Invalid params: there is no prompt or resource template {of!r}"
        session.fail(request.id, JsonRpcErrorCode.InvalidParams, reason)
    else:
        session.reply(request.id, encode_completion(c for c in choices if c.startswith(argument.value)))
