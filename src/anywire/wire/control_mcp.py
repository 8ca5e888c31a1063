"""Messages of MCP inside the control channel: one conversation for each name of a server.

What is carried stays the bytes it is.  `server_name` may be `serverName`; the names of the servers come as
a list, or as the keys of a map.
"""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec import UNSET, Raw, UnsetType

from anywire.wire.scan import scan_object
from anywire.wire.splice import get_member
from anywire.wire.value import decode_value

__all__ = (
    "ACKNOWLEDGED",
    "MCP_MESSAGE",
    "McpMessage",
    "mcp_answer",
    "mcp_request",
    "read_mcp_message",
    "read_mcp_response",
    "read_server_names",
)

#: The subtype of a control request that carries a message.
MCP_MESSAGE: Final = "mcp_message"

#: What stands for an answer where a message has none: hosts want a JSON-RPC response all the same.
ACKNOWLEDGED: Final = b'{"jsonrpc":"2.0","result":{},"id":0}'

_NAMES = frozenset({"server_name", "serverName", "message"})


class McpMessage(msgspec.Struct, frozen=True, gc=False):
    """One message of the conversation with the server of that name; the message is raw JSON."""

    server: str
    message: bytes


class _McpBody(msgspec.Struct):
    server_name: str | UnsetType = UNSET
    serverName: str | UnsetType = UNSET  # noqa: N815 as it stands on the wire
    message: Raw | UnsetType = UNSET


class _McpAnswer(msgspec.Struct):
    mcp_response: Raw | UnsetType = UNSET


_decode_body = msgspec.json.Decoder(_McpBody).decode
_decode_answer = msgspec.json.Decoder(_McpAnswer).decode


def read_mcp_message(request: bytes) -> McpMessage | None:
    """Read the body of an `mcp_message`; None for one that names no server or holds no message."""
    try:
        body = _decode_body(request)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return _read_carefully(request)
    server = body.server_name if body.server_name is not UNSET else body.serverName
    if server is UNSET or body.message is UNSET:
        return None
    return McpMessage(server, bytes(body.message))


def _read_carefully(request: bytes) -> McpMessage | None:
    scan = scan_object(request, _NAMES)
    values = {member.name: request[member.value_start : member.value_end] for member in scan.members}
    name, message = values.get("server_name", values.get("serverName", b"")), values.get("message")
    if message is None or name[:1] != b'"':
        return None
    try:
        return McpMessage(decode_value(name, str), message)
    except msgspec.MsgspecError:
        return None


def read_mcp_response(response: bytes | None) -> bytes | None:
    """Return the raw message that the answer to an `mcp_message` carries; None where it carries none."""
    if response is None:
        return None
    try:
        found = _decode_answer(response).mcp_response
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return get_member(response, "mcp_response")
    return None if found is UNSET else bytes(found)


def read_server_names(request: bytes) -> tuple[str, ...] | None:
    """Read which servers live in the program that sent this `initialize`; None where it does not say.

    Programs list the names, or have a map of them.
    """
    raw = get_member(request, "sdkMcpServers")
    if raw is None:
        return None
    try:
        found = decode_value(raw, object)
    except msgspec.MsgspecError:
        return None
    if not isinstance(found, list | dict):
        return None
    names: list[object] = list(found)  # pyright: ignore[reportUnknownArgumentType] plain JSON data
    return tuple(name for name in names if isinstance(name, str))


def mcp_request(id: bytes, server: bytes, message: bytes) -> bytes:
    """Write the request that carries a message; `server` is the name as JSON, the message is raw."""
    return (
        b'{"type":"control_request","request_id":%b,"request":{"subtype":"mcp_message",'
        b'"server_name":%b,"message":%b}}' % (id, server, message)
    )


def mcp_answer(id: bytes, message: bytes = ACKNOWLEDGED) -> bytes:
    """Write the answer to an `mcp_message`: a raw message, or that it was taken."""
    return (
        b'{"type":"control_response","response":{"subtype":"success","request_id":%b,'
        b'"response":{"mcp_response":%b}}}' % (id, message)
    )
