"""What a handshake agrees on, kept so that each request can say it.

Specification: MCP `basic/lifecycle`, 2024-11-05 to 2025-11-25; `basic/index#_meta`, 2026-07-28.
"""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec import UNSET

from anywire.protocol.modern import LATEST_STATELESS_REVISION, write_envelope
from anywire.protocol.revisions import negotiate_protocol_version
from anywire.protocol.translate.shapes import (
    client_capabilities_upward,
    decoded,
    initialize_result,
    is_object,
)
from anywire.protocol.types.initialize import ClientCapabilities, Implementation, ServerCapabilities
from anywire.protocol.types.logging import LogLevel, SetLevelParams
from anywire.protocol.types.reading import read
from anywire.wire.codec import decode_value, encode_value
from anywire.wire.splice import get_member

__all__ = ("Terms",)

# What a server of the handshake era may send to a client that has set no level; ours sends this.
_USUAL_LEVEL: Final[LogLevel] = "info"


class Terms:
    """What one client said of itself, and the server to it; there is no gate before that."""

    def __init__(self) -> None:
        #: The revision in which the client is spoken to, None before its `initialize`.
        self.revision: str | None = None
        #: The client has said that the handshake is done, which it may before it has been answered.
        self.is_open = False
        #: What the client can be asked.
        self.declared = ClientCapabilities()
        #: What the server can do.
        self.server = ServerCapabilities()
        #: The least severe level of log messages that each request asks for; None: no messages.
        self.log_level: LogLevel | None = None
        self._capabilities = b"{}"
        self._info = encode_value(Implementation())

    @property
    def knows_extensions(self) -> bool:
        """Whether the client has a word for what no revision defines."""
        return self.declared.extensions is not UNSET

    @property
    def lists(self) -> list[str]:
        """The changes of lists that the server promises to tell, as members of a filter."""
        server = self.server
        promised = {
            "toolsListChanged": server.tools is not UNSET and server.tools.list_changed is True,
            "promptsListChanged": server.prompts is not UNSET and server.prompts.list_changed is True,
            "resourcesListChanged": server.resources is not UNSET and server.resources.list_changed is True,
        }
        return [name for name, is_promised in promised.items() if is_promised]

    def greet(self, params: bytes | None) -> bytes:
        """Take the raw params of `initialize`; return those of the question that is asked instead."""
        given = params if params is not None and is_object(params) else b"{}"
        self.revision = negotiate_protocol_version(decoded(get_member(given, "protocolVersion"), object))
        capabilities, info = get_member(given, "capabilities"), get_member(given, "clientInfo")
        if capabilities is None or not is_object(capabilities):
            capabilities = b"{}"
        self._capabilities = client_capabilities_upward(capabilities, self.revision)
        if info is not None and is_object(info):
            self._info = info
        try:
            self.declared = read(self._capabilities, ClientCapabilities)
        except msgspec.MsgspecError:
            self.declared = ClientCapabilities()
        return self.envelope(None, logs=False)

    def welcome(self, discovered: bytes) -> bytes | str:
        """Take what the server says of itself; return the raw result of `initialize`, or why none."""
        revision = negotiate_protocol_version(self.revision)
        result = initialize_result(discovered, revision, extensions=self.knows_extensions)
        if isinstance(result, str):
            return result
        try:
            self.server = read(get_member(result, "capabilities") or b"{}", ServerCapabilities)
        except msgspec.MsgspecError:
            self.server = ServerCapabilities()
        if self.log_level is None and self.server.logging is not UNSET:
            self.log_level = _USUAL_LEVEL
        return result

    def set_level(self, params: bytes | None) -> str:
        """Take the raw params of `logging/setLevel`; say what is wrong with them, empty: nothing."""
        try:
            self.log_level = decode_value(params or b"{}", SetLevelParams).level
        except msgspec.MsgspecError as error:
            return str(error)
        return ""

    def envelope(self, params: bytes | None, *, logs: bool = True) -> bytes:
        """Return the raw params of a request (an object, or None) with who asks."""
        level = self.log_level if logs else None
        return write_envelope(params, LATEST_STATELESS_REVISION, self._capabilities, self._info, level)
