"""How a client opens and asks in either era, as the doctor does it."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

import msgspec

from anywire._version import __version__
from anywire.protocol.legacy import ClientConversation
from anywire.protocol.modern import LATEST_STATELESS_REVISION, write_envelope
from anywire.protocol.revisions import MCP_LATEST_PROTOCOL_VERSION
from anywire.protocol.types.initialize import Implementation
from anywire.wire.codec import encode_value
from anywire.wire.message import Notification, Request
from anywire.wire.splice import get_member, set_member

__all__ = (
    "DISCOVER",
    "INITIALIZED",
    "NO_REVISION",
    "PADDED",
    "STATELESS",
    "Era",
    "initialize",
    "stateless_request",
)

#: The first question to a server of the stateless era.
DISCOVER: Final = "server/discover"
#: What follows the answer to `initialize`.
INITIALIZED: Final = Notification("notifications/initialized")
#: A revision that there is not.
NO_REVISION: Final = "2099-12-31"

#: The params of a harmless request that is longer than readers of lines and parsers of bodies
#: take by default.
PADDED: Final = b'{"_meta":{"anywire/padding":"%b"}}' % (b"x" * 256 * 1024)

_CLIENT: Final = ClientConversation(Implementation("anywire doctor", __version__))


class Era(msgspec.Struct, frozen=True):
    """How a server is spoken to: with a handshake that asks for `revision`, or `stateless`.

    `harmless` is a method without effect.
    """

    revision: str = MCP_LATEST_PROTOCOL_VERSION
    stateless: bool = False
    harmless: str = "ping"

    def opening(self, id: bytes) -> Request:
        """Return the request with which a conversation begins."""
        return stateless_request(id, self.harmless) if self.stateless else initialize(id, self.revision)

    def request(self, id: bytes, method: str, params: bytes | None = None) -> Request:
        """Return a request with all that it must say of itself."""
        return stateless_request(id, method, params) if self.stateless else Request(id, method, params)


#: Without a handshake.
STATELESS: Final = Era(stateless=True, harmless=DISCOVER)


def initialize(id: bytes, version: str = MCP_LATEST_PROTOCOL_VERSION) -> Request:
    """Return the request with which a client of the handshake era opens."""
    return Request(id, "initialize", _CLIENT.initialize_params(version))


def stateless_request(
    id: bytes,
    method: str,
    params: bytes | None = None,
    *,
    revision: str = LATEST_STATELESS_REVISION,
    without: Collection[str] = (),
) -> Request:
    """Return a request of the stateless era; keys of its `_meta` can be left out."""
    info = encode_value(_CLIENT.info)
    written = write_envelope(params, revision, _CLIENT.capabilities, info)
    for key in without:
        meta = msgspec.json.decode(get_member(written, "_meta") or b"{}", type=dict[str, msgspec.Raw])
        meta.pop(key, None)
        written = set_member(written, "_meta", encode_value(meta))
    return Request(id, method, written)
