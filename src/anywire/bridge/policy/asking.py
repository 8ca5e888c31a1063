"""What a request names, and whether that is there.

A name must have one reading: a member that occurs twice, or once more with other capitals, is one name to us
and might be another to the server (there are decoders that take `Name` for `name`), so such a request is
refused.  What is hidden is answered as if it did not exist.

Specification: MCP `server/tools#error-handling`, `server/prompts#error-handling`,
`server/resources#error-handling`, `server/utilities/completion#error-handling`, all revisions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeVar

import msgspec

from anywire.bridge.policy.pattern import Kind
from anywire.bridge.policy.policy import Policy
from anywire.errors import ResourceNotFound
from anywire.protocol.modern import claims_stateless, code_of
from anywire.protocol.translate.shapes import decoded, with_member
from anywire.wire.codec import encode_value
from anywire.wire.message import (
    ErrorResponse,
    JsonRpcErrorCode,
    Notification,
    Request,
    Response,
    error_reply,
)
from anywire.wire.scan import scan_object
from anywire.wire.splice import get_items, get_member, set_member

__all__ = ("Refused", "in_one_reading", "is_hidden_change", "judge")

_Asking = TypeVar("_Asking", bound=Request | Notification)

#: What each method is about, and the member of its params that names it.
_NAMED: Final[Mapping[str, tuple[Kind, str]]] = {
    "tools/call": (Kind.TOOL, "name"),
    "prompts/get": (Kind.PROMPT, "name"),
    "resources/read": (Kind.RESOURCE, "uri"),
    "resources/subscribe": (Kind.RESOURCE, "uri"),
    "resources/unsubscribe": (Kind.RESOURCE, "uri"),
}
_COMPLETE: Final = "completion/complete"
_LISTEN: Final = "subscriptions/listen"
_UPDATED: Final = "notifications/resources/updated"
#: What a completion may refer to.
_REFERENCES: Final = ((Kind.PROMPT, "name"), (Kind.RESOURCE, "uri"))
_ENVELOPE: Final = frozenset({"jsonrpc", "id", "method", "params"})


class Refused(msgspec.Struct, frozen=True):
    """Why something does not go on to the server.

    `name` is what it names, None where that cannot be said; `reason` is for whoever runs the bridge.
    """

    kind: Kind
    name: str | None
    reason: str

    def answer(self, request: Request) -> Response | ErrorResponse:
        """Return what most servers answer that have no such thing, in the era of the request.

        Of a tool it is a result in the handshake era, which the model reads, an error in the stateless one.
        """
        if self.name is None:
            return error_reply(request.id, JsonRpcErrorCode.InvalidParams, f"Invalid params: {self.reason}")
        if self.kind is Kind.RESOURCE and request.method != _COMPLETE:
            missing = ResourceNotFound(self.name)
            code = code_of(missing.code) if claims_stateless(request.params) else missing.code
            return error_reply(request.id, code, missing.message, missing.data)
        what = "resource template" if self.kind is Kind.RESOURCE else self.kind.value
        sentence = f"Unknown {what}: {self.name}"
        if self.kind is Kind.TOOL and not claims_stateless(request.params):
            content = [{"type": "text", "text": sentence}]
            return Response(request.id, encode_value({"content": content, "isError": True}))
        return error_reply(request.id, JsonRpcErrorCode.InvalidParams, sentence)


def in_one_reading(message: _Asking) -> _Asking:
    """Return a message whose envelope is read by everybody as it is read here."""
    names = (member.name for member in scan_object(message.frame).members)
    if any(name.casefold() in _ENVELOPE and name not in _ENVELOPE for name in names):
        return msgspec.structs.replace(message, frame=b"")  # so that it is written anew
    return message


def judge(message: _Asking, policy: Policy) -> _Asking | Refused:
    """Return what goes on to the server, or why nothing does."""
    params = message.params or b"{}"
    if (named := _NAMED.get(message.method)) is not None:
        return _hidden(params, *named, policy) or message
    if message.method == _COMPLETE and policy.concerns(Kind.PROMPT, Kind.RESOURCE):
        return _hidden_reference(params, policy) or message
    if message.method == _LISTEN and policy.concerns(Kind.RESOURCE):
        return _listening(message, params, policy)
    return message


def is_hidden_change(notification: Notification, policy: Policy) -> bool:
    """Say whether the server tells of a change of what is hidden."""
    if notification.method != _UPDATED or not policy.concerns(Kind.RESOURCE):
        return False
    uri = decoded(get_member(notification.params or b"{}", "uri"), str)
    return policy.reason(Kind.RESOURCE, uri) is not None


def _hidden(params: bytes, kind: Kind, member: str, policy: Policy) -> Refused | None:
    if not policy.concerns(kind):
        return None
    name = decoded(_only(params, member), str)
    if name is None:
        return _unclear(kind, member)
    reason = policy.reason(kind, name)
    return None if reason is None else Refused(kind, name, reason)


def _hidden_reference(params: bytes, policy: Policy) -> Refused | None:
    reference = _only(params, "ref")
    if reference is None:
        return _unclear(Kind.PROMPT, "ref")
    for kind, member in _REFERENCES:
        if _occurs(reference, member) and (hidden := _hidden(reference, kind, member, policy)) is not None:
            return hidden
    return None


def _listening(message: _Asking, params: bytes, policy: Policy) -> _Asking | Refused:
    """What is hidden is not subscribed to; the server acknowledges the rest."""
    wanted = _only(params, "notifications")
    if wanted is None:
        return _unclear(Kind.RESOURCE, "notifications")
    if not _occurs(wanted, "resourceSubscriptions"):
        return message
    uris = get_items(_only(wanted, "resourceSubscriptions") or b"null")
    if uris is None:
        return _unclear(Kind.RESOURCE, "resourceSubscriptions")
    kept = [uri for uri in uris if policy.reason(Kind.RESOURCE, decoded(uri, str)) is None]
    if len(kept) == len(uris):
        return message
    rest = set_member(wanted, "resourceSubscriptions", b"[%b]" % b",".join(kept))
    return with_member(message, "params", set_member(params, "notifications", rest))


def _unclear(kind: Kind, member: str) -> Refused:
    return Refused(kind, None, f"{member!r} is needed, once, and of its type")


def _occurs(data: bytes, name: str) -> bool:
    return any(member.name.casefold() == name.casefold() for member in scan_object(data).members)


def _only(data: bytes, name: str) -> bytes | None:
    """Return the raw value of a member that no reader can take for another, None where there is none."""
    found = [each for each in scan_object(data).members if each.name.casefold() == name.casefold()]
    if len(found) != 1 or found[0].name != name:
        return None
    return data[found[0].value_start : found[0].value_end]
