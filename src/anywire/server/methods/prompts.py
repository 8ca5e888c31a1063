"""`prompts/list` and `prompts/get`."""

from __future__ import annotations

import msgspec
from msgspec import Raw

from anywire.server.catalogue import Offer
from anywire.server.methods.listing import list_page
from anywire.server.service import Serving
from anywire.wire.codec import decode_value
from anywire.wire.message import JsonRpcErrorCode, Request

__all__ = ("get_prompt", "list_prompts")


class _Params(msgspec.Struct):
    """The params of `prompts/get`; arguments stay raw, since some clients send more than strings."""

    name: str
    arguments: Raw = Raw(b"{}")
    meta: Raw = msgspec.field(default=Raw(b"{}"), name="_meta")


def list_prompts(session: Serving, request: Request) -> None:
    """Answer `prompts/list`."""
    list_page(session, request, Offer.PROMPTS)


def get_prompt(session: Serving, request: Request) -> None:
    """Serve `prompts/get`."""
    try:
        params = decode_value(request.params or b"{}", _Params)
        prompt = session.service.catalogue.prompts.get(params.name)
        if prompt is None:
            known = ", ".join(sorted(session.service.catalogue.prompts)[:20]) or "none"
            reason = f"Invalid params: unknown prompt {params.name!r}; prompts of this server: {known}"
            session.fail(request.id, JsonRpcErrorCode.InvalidParams, reason)
            return
        arguments = prompt.handler.read_arguments(params.arguments)
    except msgspec.MsgspecError as error:
        session.fail(request.id, JsonRpcErrorCode.InvalidParams, f"Invalid params: {error}")
    else:
        session.run_handler(request, bytes(params.meta), prompt, arguments)
