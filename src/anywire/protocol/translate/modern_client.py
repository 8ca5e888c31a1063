"""A stateless client before a handshake server: what each of its requests becomes.

Every request is the whole of a conversation of the handshake era.  What may be asked there and not here
is refused as a stateless server refuses it; methods that no revision knows are passed on.

Specification: MCP `basic/index`, `basic/versioning`, 2026-07-28.
"""

from __future__ import annotations

from typing import Final, TypeAlias

import msgspec
from msgspec import UnsetType

from anywire.protocol.methods import METHODS
from anywire.protocol.modern import Envelope, EnvelopeFault, read_envelope
from anywire.protocol.translate.envelope_shapes import Greeted
from anywire.protocol.translate.input_rounds import CallInRounds
from anywire.protocol.translate.translated_call import TranslatedCall
from anywire.protocol.translate.translated_listen import TranslatedListen
from anywire.protocol.translate.virtual_handshake import Answer, Step, VirtualHandshake
from anywire.protocol.types.listen import ListenParams
from anywire.wire.codec import decode_value
from anywire.wire.event import Refused
from anywire.wire.limits import Limits
from anywire.wire.message import JsonRpcErrorCode, Request, Response, error_reply
from anywire.wire.splice import get_member

__all__ = ("IN_ROUNDS", "Discovery", "Read", "Retry", "read_request", "refused")

#: The methods whose server may ask the client before it answers.
IN_ROUNDS: Final = frozenset({"tools/call", "prompts/get", "resources/read"})


class Discovery(VirtualHandshake):
    """`server/discover`: what a server says to a handshake is the answer."""

    def _opened(self, greeted: Greeted) -> list[Step]:
        self.over = True
        return [Answer(Response(self.id, greeted.discover_result()))]


class Retry(msgspec.Struct, frozen=True):
    """A request that goes on with a call that waits for it; `state` says with which."""

    request: Request
    envelope: Envelope
    state: str


#: What a request becomes.
Read: TypeAlias = VirtualHandshake | Retry | Refused


def read_request(request: Request, name: str, limits: Limits) -> Read:
    """Say what becomes of a request; `name` is that of the server, for sentences."""
    params = request.params or b"{}"
    envelope = read_envelope(params)
    if isinstance(envelope, EnvelopeFault):
        return refused(request, envelope.code, envelope.message, envelope.data)
    known = METHODS.get(request.method)
    if known is not None and envelope.revision not in known.to_server:
        return refused(request, JsonRpcErrorCode.MethodNotFound, f"Method not found: {request.method}")
    match request.method:
        case "server/discover":
            return Discovery(request, envelope, name)
        case "subscriptions/listen":
            return _listen(request, envelope, name, limits)
        case method if method in IN_ROUNDS:
            return _call(request, envelope, name)
        case _:
            return TranslatedCall(request, envelope, name)


def refused(request: Request, code: int, reason: str, data: object = None) -> Refused:
    """Return the error that answers a request."""
    return Refused(error_reply(request.id, code, reason, msgspec.UNSET if data is None else data))


def _call(request: Request, envelope: Envelope, name: str) -> Read:
    params = request.params or b"{}"
    if get_member(params, "task") is not None:
        reason = f"Invalid params: {envelope.revision} has no tasks that a client asks for"
        return refused(request, JsonRpcErrorCode.InvalidParams, reason)
    if b'"inputResponses"' not in params and b'"requestState"' not in params:
        return CallInRounds(request, envelope, name)
    state = get_member(params, "requestState")
    if state is not None and state != b"null":
        return Retry(request, envelope, _text(state))
    if get_member(params, "inputResponses") is None:
        return CallInRounds(request, envelope, name)  # the words stand elsewhere, in the arguments
    reason = "Invalid params: inputResponses come with the requestState that they were asked with"
    return refused(request, JsonRpcErrorCode.InvalidParams, reason)


def _text(raw: bytes) -> str:
    """Read a state; what is no text at all is a state of nobody's."""
    try:
        return decode_value(raw, str)
    except msgspec.MsgspecError:
        return ""


def _listen(request: Request, envelope: Envelope, name: str, limits: Limits) -> Read:
    try:
        wanted = decode_value(request.params or b"{}", ListenParams).notifications
    except msgspec.MsgspecError as error:
        return refused(request, JsonRpcErrorCode.InvalidParams, f"Invalid params: {error}")
    uris = wanted.resource_subscriptions
    if not isinstance(uris, UnsetType) and len(uris) > limits.subscriptions:
        reason = f"Invalid params: more than {limits.subscriptions} resources in one subscription"
        return refused(request, JsonRpcErrorCode.InvalidParams, reason)
    return TranslatedListen(request, envelope, name, wanted)
