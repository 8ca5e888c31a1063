"""Which function serves which method."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from anywire.protocol.types.logging import SetLevelParams
from anywire.server.methods.completion import complete
from anywire.server.methods.prompts import get_prompt, list_prompts
from anywire.server.methods.resources import (
    list_resources,
    list_templates,
    read_resource,
    subscribe,
    unsubscribe,
)
from anywire.server.methods.tools import call_tool, list_tools
from anywire.server.service import Serving
from anywire.wire.codec import decode_value
from anywire.wire.message import JsonRpcErrorCode, Request

__all__ = ("METHODS",)


def _initialize(session: Serving, request: Request) -> None:
    session.reply(request.id, session.conversation.initialize(request.params, session.service.identity))


def _ping(session: Serving, request: Request) -> None:
    session.reply(request.id, b"{}")


def _set_level(session: Serving, request: Request) -> None:
    try:
        session.log_level = decode_value(request.params or b"{}", SetLevelParams).level
    except msgspec.MsgspecError as error:
        session.fail(request.id, JsonRpcErrorCode.InvalidParams, f"Invalid params: {error}")
    else:
        session.reply(request.id, b"{}")


#: Every method that a session serves; whatever is raised costs the request and no other.
METHODS: Final[Mapping[str, Callable[[Serving, Request], None]]] = {
    "tools/call": call_tool,
    "tools/list": list_tools,
    "initialize": _initialize,
    "ping": _ping,
    "logging/setLevel": _set_level,
    "resources/list": list_resources,
    "resources/templates/list": list_templates,
    "resources/read": read_resource,
    "resources/subscribe": subscribe,
    "resources/unsubscribe": unsubscribe,
    "prompts/list": list_prompts,
    "prompts/get": get_prompt,
    "completion/complete": complete,
}
