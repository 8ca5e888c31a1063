"""The handshake era, 2024-11-05 to 2025-11-25: how a conversation opens and what it then allows.

Specification: MCP `basic/lifecycle`, `basic/index#messages`, 2024-11-05 to 2025-11-25.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

import msgspec
from msgspec import Raw

from anywire.protocol.features import Feature, has
from anywire.protocol.revisions import (
    MCP_LATEST_PROTOCOL_VERSION,
    negotiate_protocol_version,
    null_id,
)
from anywire.protocol.types.initialize import (
    ClientCapabilities,
    Implementation,
    InitializeParams,
    InitializeResult,
    ServerCapabilities,
)
from anywire.protocol.types.logging import LogLevel
from anywire.protocol.types.reading import read
from anywire.wire.codec import encode_value

__all__ = ("ClientConversation", "ServerConversation", "ServerIdentity")


#: Many clients say the same of themselves: so many of these are remembered, if no longer than that.
_REMEMBERED: Final = 64
_REMEMBERED_BYTES: Final = 2048


class ServerIdentity(msgspec.Struct, frozen=True):
    """What a server tells every client that initializes."""

    info: Implementation
    capabilities: ServerCapabilities
    instructions: str | None = None


class _Conversation:
    """What both sides know once the handshake is done."""

    __slots__ = ("revision",)

    def __init__(self) -> None:
        #: The revision agreed on, None before the handshake.
        self.revision: str | None = None

    @property
    def batches(self) -> bool:
        """Whether a message may be an array of messages."""
        return has(Feature.BATCHES, self.revision)

    @property
    def null_id(self) -> bytes | None:
        """The id written in an error whose request could not be read; None: the member is left out."""
        return null_id(self.revision)


#: What is known of a client before it has said anything.
_NOBODY: Final = Implementation()
_NOTHING: Final = ClientCapabilities()


class ServerConversation(_Conversation):
    """The server's side of one conversation.

    There is no gate: requests before `initialize` are served, and it may be repeated, since real
    clients do both.
    """

    __slots__ = ("_state", "_subscriptions", "client_capabilities", "client_info", "log_level")

    def __init__(self) -> None:
        super().__init__()
        #: Who the client says it is.
        self.client_info = _NOBODY
        #: The least severe level of log messages that the client wants.
        self.log_level: LogLevel | None = "info"
        #: What the client can do.
        self.client_capabilities = _NOTHING
        # Made when they are used: most conversations have neither.
        self._subscriptions: set[str] | None = None
        self._state: dict[str, Any] | None = None

    @property
    def subscriptions(self) -> set[str]:
        """The resources whose changes the client wants to hear of."""
        if self._subscriptions is None:
            self._subscriptions = set()
        return self._subscriptions

    @property
    def state(self) -> dict[str, Any]:
        """What the program keeps for this conversation."""
        if self._state is None:
            self._state = {}
        return self._state

    def initialize(self, params: bytes | None, identity: ServerIdentity) -> bytes:
        """Agree on a revision and return the raw result of `initialize`; bad params do not matter."""
        version, self.client_info, self.client_capabilities = _said(params or b"{}")
        self.revision = negotiate_protocol_version(version)
        result = InitializeResult(
            protocol_version=self.revision,
            capabilities=Raw(encode_value(identity.capabilities)),
            server_info=identity.info,
            instructions=identity.instructions or msgspec.UNSET,
        )
        return encode_value(result)


class ClientConversation(_Conversation):
    """The client's side of one conversation."""

    __slots__ = ("capabilities", "info", "server")

    def __init__(self, info: Implementation, capabilities: bytes = b"{}") -> None:
        super().__init__()
        #: What the client says of itself.
        self.info = info
        #: What it can do, raw JSON.
        self.capabilities = capabilities
        #: What the server said of itself, None before it did.
        self.server: InitializeResult | None = None

    def initialize_params(self, version: str = MCP_LATEST_PROTOCOL_VERSION) -> bytes:
        """Return the raw params of `initialize`."""
        return encode_value(InitializeParams(version, Raw(self.capabilities), self.info))

    def initialized(self, result: bytes) -> None:
        """Take the raw result of `initialize`.

        Raises `msgspec.MsgspecError` for a result that cannot be read, `ValueError` for a revision
        that we do not speak: the specification wants the client to disconnect then.
        """
        server = read(result, InitializeResult)
        if negotiate_protocol_version(server.protocol_version) != server.protocol_version:
            raise ValueError(f"the server answered with the unknown revision {server.protocol_version!r}")
        self.server, self.revision = server, server.protocol_version

    def discovered(self, revision: str, server: InitializeResult) -> None:
        """The server is of the stateless era: there is no handshake, and this is what it says of itself."""
        self.server, self.revision = server, revision


def _said(params: bytes) -> tuple[object, Implementation, ClientCapabilities]:
    """Return what the params of `initialize` say: the revision, who the client is, and what it can do."""
    return _read_said(params) if len(params) > _REMEMBERED_BYTES else _remembered_said(params)


def _read_said(params: bytes) -> tuple[object, Implementation, ClientCapabilities]:
    client = _read_params(params)
    return client.protocol_version, client.client_info, _read_capabilities(client.capabilities)


_remembered_said = lru_cache(_REMEMBERED)(_read_said)


def _read_params(params: bytes) -> InitializeParams:
    """Read the params of `initialize`; a member that is unusable costs no other."""
    try:
        return read(params, InitializeParams)
    except msgspec.MsgspecError:
        return InitializeParams()


def _read_capabilities(raw: Raw) -> ClientCapabilities:
    try:
        return read(raw, ClientCapabilities)
    except msgspec.MsgspecError:
        return ClientCapabilities()
