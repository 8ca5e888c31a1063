"""What a handshake server asks its client, as a stateless client can be asked it; and what comes back.

Specification: MCP `basic/patterns/mrtr`, 2026-07-28; `client/sampling`, `client/elicitation`, `client/roots`,
2025-11-25.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec
from msgspec import UNSET, UnsetType

from anywire.protocol.modern import LATEST_STATELESS_REVISION
from anywire.protocol.translate.envelope_shapes import stateless_question
from anywire.protocol.types.elicitation import ElicitResult, ElicitUrlParams
from anywire.protocol.types.error_data import McpErrorCode
from anywire.protocol.types.initialize import ClientCapabilities
from anywire.protocol.types.reading import read
from anywire.protocol.types.roots import ListRootsResult
from anywire.protocol.types.sampling import CreateMessageResult
from anywire.wire.message import ErrorResponse, JsonRpcErrorCode, Request, Response
from anywire.wire.scan import scan_array
from anywire.wire.splice import get_member, set_member

__all__ = ("answer_fault", "is_accepted", "missing_capability", "refusal_of", "takes_urls", "visits_of")

#: What may be asked, and what its answer must be.
_ANSWERS: Final[Mapping[str, type[msgspec.Struct]]] = {
    "elicitation/create": ElicitResult,
    "sampling/createMessage": CreateMessageResult,
    "roots/list": ListRootsResult,
}
_MOST_VISITS: Final = 100
_NEEDED: Final = b'{"elicitation":{"url":{}}}'


def refusal_of(request: Request, capabilities: ClientCapabilities) -> tuple[int, str] | None:
    """Say why a request of the server's is not put to the client, and with which code; None: it is."""
    method, params = request.method, request.params or b"{}"
    if method not in _ANSWERS:
        reason = f"{method}: a client of {LATEST_STATELESS_REVISION} answers no such request"
        return JsonRpcErrorCode.MethodNotFound, reason
    if get_member(params, "task") is not None:
        reason = f"{method}: there are no tasks in {LATEST_STATELESS_REVISION}; ask without"
        return JsonRpcErrorCode.InvalidParams, reason
    missing = _missing(method, params, capabilities)
    if missing:
        code = JsonRpcErrorCode.InvalidParams if "." in missing else JsonRpcErrorCode.MethodNotFound
        return code, f"{method}: the client did not declare the capability {missing!r}, so it was not asked"
    return None


def _missing(method: str, params: bytes, capabilities: ClientCapabilities) -> str:
    if method == "roots/list":
        return "roots" if capabilities.roots is UNSET else ""
    if method == "sampling/createMessage":
        if isinstance(capabilities.sampling, UnsetType):
            return "sampling"
        with_tools = get_member(params, "tools") is not None
        return "sampling.tools" if with_tools and capabilities.sampling.tools is UNSET else ""
    if isinstance(capabilities.elicitation, UnsetType):
        return "elicitation"
    if get_member(params, "mode") == b'"url"':
        return "" if capabilities.elicitation.takes_urls else "elicitation.url"
    return "" if capabilities.elicitation.takes_forms else "elicitation.form"


def answer_fault(method: str, raw: bytes) -> str:
    """Say why an answer is none to a question of that method; empty: it is one."""
    try:
        read(raw, _ANSWERS[method])
    except msgspec.MsgspecError as error:
        return str(error)
    return ""


def takes_urls(capabilities: ClientCapabilities) -> bool:
    """Say whether the client's user can be sent to addresses."""
    elicitation = capabilities.elicitation
    return not isinstance(elicitation, UnsetType) and elicitation.takes_urls


def visits_of(reply: Response | ErrorResponse, capabilities: ClientCapabilities) -> list[bytes]:
    """Return the visits that an error wants before the call is made again, as params of questions.

    2025-11-25 says so with an error of its own; there are none in any other, or where the client has no way
    to be sent to an address.
    """
    if not isinstance(reply, ErrorResponse) or not takes_urls(capabilities):
        return []
    detail = reply.detail()
    if detail.code != McpErrorCode.UrlElicitationRequired or isinstance(detail.data, UnsetType):
        return []
    wanted = get_member(bytes(detail.data), "elicitations") or b""
    if wanted[:1] != b"[":
        return []
    visits: list[bytes] = []
    for item in scan_array(wanted, _MOST_VISITS):
        question = stateless_question("elicitation/create", item)
        try:
            read(item, ElicitUrlParams)
        except msgspec.MsgspecError:
            return []
        if question is not None:
            visits.append(question)
    return visits


def is_accepted(answer: bytes) -> bool:
    """Say whether a user has agreed, in an answer to `elicitation/create` that is one."""
    return read(answer, ElicitResult).action == "accept"


def missing_capability(error: bytes) -> bytes:
    """Return the raw error that wants visits as one that says what the client would need for them."""
    data = get_member(error, "data") or b"{}"
    data = set_member(data if data[:1] == b"{" else b"{}", "requiredCapabilities", _NEEDED)
    error = set_member(error, "data", data)
    return set_member(error, "code", b"%d" % McpErrorCode.MissingRequiredClientCapability)
