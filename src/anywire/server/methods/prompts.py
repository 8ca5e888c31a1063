"""`prompts/list` and `prompts/get`."""

from __future__ import annotations

import msgspec
from msgspec import Raw

from anywire.server.calling import run_handler
from anywire.server.catalogue import Offer
from anywire.server.exchange import Exchange
from anywire.server.methods.listing import list_page
from anywire.wire.codec import decode_value
from anywire.wire.message import JsonRpcErrorCode

__all__ = ("get_prompt", "list_prompts")


class _Params(msgspec.Struct):
    """The params of `prompts/get`; arguments stay raw, since some clients send more than strings."""

    name: str
    arguments: Raw = Raw(b"{}")
    meta: Raw = msgspec.field(default=Raw(b"{}"), name="_meta")


def list_prompts(exchange: Exchange) -> None:
    """Answer `prompts/list`."""
    list_page(exchange, Offer.PROMPTS)


def get_prompt(exchange: Exchange) -> None:
    """Serve `prompts/get`."""
    try:
        params = decode_value(exchange.params or b"{}", _Params)
        prompt = exchange.session.service.catalogue.prompts.get(params.name)
        if prompt is None:
            known = ", ".join(sorted(exchange.session.service.catalogue.prompts)[:20]) or "none"
            reason = f"Invalid params: unknown prompt {params.name!r}; prompts of this server: {known}"
            exchange.fail(JsonRpcErrorCode.InvalidParams, reason)
            return
        arguments = prompt.handler.read_arguments(params.arguments)
    except msgspec.MsgspecError as error:
        exchange.fail(JsonRpcErrorCode.InvalidParams, f"Invalid params: {error}")
    else:
        run_handler(exchange, prompt, arguments)
