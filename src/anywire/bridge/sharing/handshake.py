"""One handshake for all clients of a server: done once, remembered, answered to each.

Specification: MCP `basic/lifecycle`, 2024-11-05 to 2025-11-25.
"""

from __future__ import annotations

from enum import Enum

import msgspec
from msgspec import UNSET

from anywire.bridge.sharing.flights import Flight
from anywire.protocol.features import Feature, has
from anywire.protocol.methods import needed_capability
from anywire.protocol.revisions import negotiate_protocol_version
from anywire.protocol.rewriting import with_id, with_member
from anywire.protocol.types.initialize import (
    ElicitationCapability,
    RootsCapability,
    SamplingCapability,
)
from anywire.wire.codec import encode_value
from anywire.wire.message import ErrorResponse, Request, Response
from anywire.wire.splice import get_member
from anywire.wire.value import decode_value

__all__ = ("Declares", "Handshake", "all_capabilities", "declared_capabilities", "missing_capability")


class Declares(Enum):
    """What a server that several clients share is told they can do."""

    #: Whatever can be carried to one of them; who cannot do it refuses when it is asked.
    ALL = "all"
    #: What the first of them said.
    FIRST = "first"


class Handshake:
    """The handshake with one server: not begun, under way (`flight`), or done (`reply`)."""

    def __init__(self, declares: Declares) -> None:
        self._declares = declares
        #: The request that is under way.
        self.flight: Flight | None = None
        #: What the server answered, as it came.
        self.reply: Response | None = None
        #: The revision agreed on.
        self.revision: str | None = None
        #: The server has been told that it is done.
        self.told = False

    def request(self, initialize: Request) -> Request:
        """Return the `initialize` that goes to the server for that of the first client."""
        if self._declares is Declares.FIRST:
            return initialize
        revision = negotiate_protocol_version(_text(get_member(initialize.params or b"", "protocolVersion")))
        return with_member(initialize, "capabilities", all_capabilities(revision))

    def settled(self, reply: Response | ErrorResponse | None) -> None:
        """The server has answered, or cannot (None): only a result is remembered."""
        self.flight = None
        if isinstance(reply, Response):
            self.reply = reply
            self.revision = _text(get_member(reply.result, "protocolVersion"))

    def answer(self, id: bytes) -> Response:
        """Return what the server answered to the first client, for another one."""
        assert self.reply is not None
        return with_id(self.reply, id)


def _text(raw: bytes | None) -> str | None:
    try:
        return None if raw is None else decode_value(raw, str)
    except msgspec.MsgspecError:
        return None


def all_capabilities(revision: str) -> bytes:
    """Return the raw capabilities of a client that can do everything that has a way to one of several."""
    can: dict[str, object] = {"roots": RootsCapability(list_changed=True)}
    tools = has(Feature.SAMPLING_TOOLS, revision)
    can["sampling"] = SamplingCapability({}, {}) if tools else SamplingCapability()
    if has(Feature.URL_ELICITATION, revision):
        can["elicitation"] = ElicitationCapability({}, {})
    elif has(Feature.ELICITATION, revision):
        can["elicitation"] = ElicitationCapability()
    return encode_value(can)


def declared_capabilities(params: bytes | None) -> bytes:
    """Return the raw capabilities in the params of `initialize`; unusable ones are none."""
    capabilities = get_member(params or b"", "capabilities")
    return capabilities if capabilities is not None and capabilities[:1] == b"{" else b"{}"


def missing_capability(request: Request, revision: str | None, capabilities: bytes) -> str | None:
    """Return the capability that a client must have declared to be asked this, if it has not."""
    needed = needed_capability(request.method, revision or "", of_server=False)
    if needed is None:
        return None
    declared: bytes | None = capabilities
    for name in needed.split("."):
        declared = get_member(declared or b"", name)
    if declared is None or declared == b"null":
        return needed
    params = request.params or b""
    if request.method == "elicitation/create" and _is_missing_mode(params, declared):
        return f"{needed}.{'url' if _is_url(params) else 'form'}"
    if request.method == "sampling/createMessage" and get_member(params, "tools") is not None:
        return None if get_member(declared, "tools") is not None else f"{needed}.tools"
    return None


def _is_missing_mode(params: bytes, declared: bytes) -> bool:
    can = ElicitationCapability(
        UNSET if get_member(declared, "form") is None else {},
        UNSET if get_member(declared, "url") is None else {},
    )
    return not (can.takes_urls if _is_url(params) else can.takes_forms)


def _is_url(params: bytes) -> bool:
    return _text(get_member(params, "mode")) == "url"
