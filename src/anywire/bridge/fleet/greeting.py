"""What a client is told by `initialize`, and what each server is told of the client.

Specification: MCP `basic/lifecycle#initialization`, 2024-11-05 to 2025-11-25.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import UNSET, Raw

from anywire._version import __version__
from anywire.bridge.fleet.names import Label, listed, text_of
from anywire.protocol.features import Feature, has
from anywire.protocol.legacy import ServerConversation, ServerIdentity
from anywire.protocol.revisions import negotiate_protocol_version
from anywire.protocol.types.initialize import (
    Implementation,
    InitializeParams,
    PromptsCapability,
    ResourcesCapability,
    ServerCapabilities,
    ToolsCapability,
)
from anywire.wire.codec import encode_value
from anywire.wire.splice import drop_members, get_member, set_member

__all__ = ("NOBODY", "can", "greet", "instructions", "introduce")

_WE: Final = Implementation("anywire", __version__)
#: What a server is told of a client that has not said who it is.
NOBODY: Final = encode_value(InitializeParams(negotiate_protocol_version(), Raw(b"{}"), _WE))
#: How much of what a server says about itself is handed on.
_MOST_INSTRUCTIONS: Final = 8_000


def greet(params: bytes | None, text: str) -> tuple[str, bytes]:
    """Agree with a client on a revision; return it, and the raw result of `initialize`."""
    conversation = ServerConversation()
    revision = negotiate_protocol_version(text_of(get_member(params or b"", "protocolVersion")))
    capabilities = ServerCapabilities(
        tools=ToolsCapability(list_changed=True),
        logging={},
        prompts=PromptsCapability(list_changed=True),
        resources=ResourcesCapability(subscribe=True, list_changed=True),
        completions={} if has(Feature.COMPLETIONS_CAPABILITY, revision) else UNSET,
    )
    return revision, conversation.initialize(params, ServerIdentity(_WE, capabilities, text))


def introduce(params: bytes | None, revision: str) -> bytes:
    """Return the params of `initialize` for a server: the client's own, with the revision agreed on.

    Without tasks: their ids would be of several servers, and cannot be told apart.
    """
    if params is None or params[:1] != b"{":
        return NOBODY
    if text_of(get_member(params, "protocolVersion")) != revision:
        params = set_member(params, "protocolVersion", encode_value(revision))
    capabilities = get_member(params, "capabilities")
    if capabilities is None or get_member(capabilities, "tasks") is None:
        return params
    return set_member(params, "capabilities", drop_members(capabilities, "tasks"))


def can(capabilities: bytes, method: str) -> bool:
    """Say whether a server has said that it has what a method is about."""
    name = "logging" if method == "logging/setLevel" else method.partition("/")[0]
    return get_member(capabilities, name) not in (None, b"null")


def instructions(labels: Sequence[Label], own: Mapping[str, str]) -> str:
    """Say which servers are together and how their things are named; `own`: what they say themselves."""
    if not labels:
        return "This server brings others together; at present there are none."
    first = labels[0]
    parts = [
        f"This server brings several together: {listed(labels)}. A tool or a prompt is called SERVER__NAME,"
        f" such as {first.prefix}__NAME; the resource URI of a server is SERVER+URI, such as"
        f" {first.scheme}+URI."
    ]
    said = {label.server: text for label in labels if (text := own.get(label.server))}
    parts += [f"What {server} says of itself:\n{_cut(text)}" for server, text in said.items()]
    return "\n\n".join(parts)


def _cut(text: str) -> str:
    return text if len(text) <= _MOST_INSTRUCTIONS else f"{text[:_MOST_INSTRUCTIONS]} …"
