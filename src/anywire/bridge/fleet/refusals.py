"""What a client is told that asks for something no server has, or that cannot be passed on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from anywire.bridge.fleet.names import Label, listed, text_of
from anywire.protocol.types.error_data import McpErrorCode
from anywire.wire.codec import encode_value
from anywire.wire.message import (
    ErrorResponse,
    JsonRpcErrorCode,
    Request,
    Response,
    error_reply,
)
from anywire.wire.splice import get_member

__all__ = ("failed", "in_flight", "invalid", "no_method", "unknown")

_SHOWN: Final = 200


def unknown(request: Request, labels: Sequence[Label]) -> Response | ErrorResponse:
    """Answer a request for something that no server has: of a tool it is a result, which a model can read."""
    params = request.params or b""
    servers = listed(labels) or "none at present"
    if request.method == "tools/call":
        name = _shown(get_member(params, "name"))
        unknown = "No tool is named" if name is None else f"Unknown tool: {name}"
        text = f"{unknown}. Tools are called SERVER__NAME; the servers are: {servers}."
        content = [{"type": "text", "text": text}]
        return Response(request.id, encode_value({"content": content, "isError": True}))
    if request.method == "prompts/get":
        name = _shown(get_member(params, "name"))
        unknown = "no prompt is named" if name is None else f"no prompt {name}"
        return invalid(request, f"{unknown}; prompts are called SERVER__NAME, the servers are: {servers}")
    if request.method == "completion/complete":
        return invalid(request, f"it refers to nothing that a server has; the servers are: {servers}")
    uri = _shown(get_member(params, "uri"))
    if uri is None:
        return invalid(request, f"no uri is given; URIs are SERVER+URI, the servers are: {servers}")
    reason = f"Resource not found: {uri}; URIs are SERVER+URI, the servers are: {servers}"
    data = {"uri": text_of(get_member(params, "uri"))}
    return error_reply(request.id, McpErrorCode.ResourceNotFound, reason, data)


def invalid(request: Request, reason: str) -> ErrorResponse:
    """Refuse a request for what its params say."""
    return error_reply(request.id, JsonRpcErrorCode.InvalidParams, f"Invalid params: {reason}")


def no_method(request: Request) -> ErrorResponse:
    """Refuse a request of which nobody can tell whom it is for."""
    method = request.method[:_SHOWN]
    reason = (
        f"Method not found: {method}: several servers are together here, and which of them is meant cannot be"
        " told; each server alone can be asked it, at /servers/NAME/mcp where the bridge is served over HTTP"
    )
    return error_reply(request.id, JsonRpcErrorCode.MethodNotFound, reason)


def in_flight(request: Request) -> ErrorResponse:
    """Refuse a request under the id of another."""
    id = request.id[:100].decode(errors="replace")
    reason = f"Invalid Request: a request with the id {id} is in flight already"
    return error_reply(request.id, JsonRpcErrorCode.InvalidRequest, reason)


def failed(request: Request, reason: str) -> ErrorResponse:
    """Answer a request that cannot be answered."""
    return error_reply(request.id, JsonRpcErrorCode.InternalError, reason)


def _shown(raw: bytes | None) -> str | None:
    text = text_of(raw)
    return None if text is None else text[:_SHOWN]
