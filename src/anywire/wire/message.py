"""What a JSON-RPC 2.0 message is.

The envelope of a message is decoded once; `id`, `params`, `result` and `error` stay the JSON bytes
that stood on the wire until someone asks for more.  That is why `1`, `1.0` and `"1"` go back to a
peer as they came, and why a relay changes nothing that it does not know.

Builders (`create_request` and its kin) make messages from plain values.  Guards
(`validate_request`, `is_notification`, `is_response`) take any object, a message or plain JSON
data, and never raise.

Specification: JSON-RPC 2.0; MCP `basic/index`, all revisions.
"""

from __future__ import annotations

import json
import math
from enum import Enum, IntEnum
from typing import Any, Final, TypeAlias, TypeGuard, TypeVar, final

import msgspec

from anywire.errors import LocalProtocolError
from anywire.wire.value import decode_value, encode_value

__all__ = (
    "JSONRPC_VERSION",
    "NULL_ID",
    "Batch",
    "ErrorCodes",
    "ErrorObject",
    "ErrorResponse",
    "Fault",
    "FaultKind",
    "JsonRpcErrorCode",
    "Message",
    "Notification",
    "PlainId",
    "Request",
    "Response",
    "create_error_response",
    "create_notification",
    "create_request",
    "create_response",
    "error_reply",
    "folded_key",
    "id_key",
    "id_token",
    "is_notification",
    "is_response",
    "plain_id",
    "validate_request",
)

T = TypeVar("T")

(_BACKSLASH,) = b"\\"  # a byte is found several times as fast as a string of one

#: The only JSON-RPC version there is on this wire.
JSONRPC_VERSION: Final = "2.0"

#: The id of an error whose request could not be read, where a revision wants it written.
NULL_ID: Final = b"null"

#: An id as a plain value.  JSON-RPC allows fractions; MCP asks for integers or strings.
PlainId: TypeAlias = int | float | str


class JsonRpcErrorCode(IntEnum):
    """The five codes that JSON-RPC 2.0 itself defines."""

    ParseError = -32700
    InvalidRequest = -32600
    MethodNotFound = -32601
    InvalidParams = -32602
    InternalError = -32603


class ErrorCodes(IntEnum):
    """The standard codes and three that header-framed servers use.

    The last three stand in no MCP revision and collide with meanings that are in use elsewhere
    (-32001 time-outs and lost sessions, -32002 resource not found); anywire itself sends none of
    them.
    """

    ParseError = -32700
    InvalidRequest = -32600
    MethodNotFound = -32601
    InvalidParams = -32602
    InternalError = -32603
    ToolNotFound = -32001
    ToolExecutionError = -32002
    ServerNotInitialized = -32003


class _Message(msgspec.Struct, frozen=True, eq=False, gc=False):
    """What all messages share: equality by content, whatever bytes they were read from."""

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Message) or type(self) is not type(other):
            return NotImplemented
        return _content(self) == _content(other)

    def __ne__(self, other: object) -> bool:
        return not self == other  # the base has one of its own, which looks at all fields

    def __hash__(self) -> int:
        return hash((type(self), _content(self)))


@final
class Request(_Message, frozen=True, eq=False, gc=False):
    """A message that wants an answer.

    `id` and `params` are raw JSON (UTF-8 bytes; params None: absent).  `frame` is the whole message
    as it was read, empty for one that was built here; equality does not look at it.
    """

    id: bytes
    method: str
    params: bytes | None = None
    frame: bytes = b""


@final
class Notification(_Message, frozen=True, eq=False, gc=False):
    """A message that must not be answered.  Fields as in `Request`."""

    method: str
    params: bytes | None = None
    frame: bytes = b""


@final
class Response(_Message, frozen=True, eq=False, gc=False):
    """The result of a request; `id` and `result` are raw JSON."""

    id: bytes
    result: bytes
    frame: bytes = b""


@final
class ErrorResponse(_Message, frozen=True, eq=False, gc=False):
    """The failure of a request; `id` and `error` are raw JSON.

    `id` is `NULL_ID` or None (the member is absent) where the failed request's could not be read.
    """

    id: bytes | None
    error: bytes
    frame: bytes = b""

    def detail(self) -> ErrorObject:
        """Decode `error`; an object that is not as the specification has it is read as far as it goes."""
        try:
            return decode_value(self.error, ErrorObject, _error_decoder)
        except msgspec.MsgspecError:
            return _loose_error(self.error)


class ErrorObject(msgspec.Struct, frozen=True):
    """The `error` member of a response; `data` is raw JSON or absent."""

    code: int = JsonRpcErrorCode.InternalError
    message: str = ""
    data: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


#: One JSON-RPC message.
Message: TypeAlias = Request | Notification | Response | ErrorResponse


class FaultKind(Enum):
    """What was wrong with some input; the value is the JSON-RPC code that answers it."""

    #: Not JSON, or not UTF-8.
    PARSE_ERROR = (JsonRpcErrorCode.ParseError, "parse error")
    #: JSON, but not a message.
    INVALID_REQUEST = (JsonRpcErrorCode.InvalidRequest, "invalid request")
    #: Larger than the limit; its bytes were not kept.
    TOO_LARGE = (JsonRpcErrorCode.InvalidRequest, "message too large")
    #: A block of headers without a usable length.
    BAD_HEADER = (JsonRpcErrorCode.ParseError, "bad header")
    #: The peer changed from one framing to the other.
    FRAMING_CHANGED = (JsonRpcErrorCode.ParseError, "framing changed")
    #: Text between two messages: the rest of one that was wrong, which has had its answer.
    STRAY = (JsonRpcErrorCode.ParseError, "stray text")
    #: The stream ended inside a message.
    TRUNCATED = (JsonRpcErrorCode.ParseError, "truncated message")

    @property
    def code(self) -> int:
        """The JSON-RPC error code with which a request of this fault is answered."""
        return int(self.value[0])


@final
class Fault(msgspec.Struct, frozen=True):
    """Input that is no message, as a value: what was wrong, where, and whom it concerns.

    `reason` is a sentence for people.  `id` is the raw id of the message where it could be read.
    `is_reply` says that it had a `result` or an `error`: such a thing is never answered, or two
    endpoints could answer each other for ever.  `data` holds the offending bytes, at most the first
    `Limits.excerpt_bytes` of them; `size` counts all of them, 0 while more are to come.  `position`
    is the offset in bytes of the trouble: within the message where one message is wrong, within the
    stream where the framing is; -1 where it is not known.  `number` is its place in a stream, the first
    line or message that is not blank being 1; 0 where that is not known.  `is_bare` says that it was an
    object with an id and nothing that makes it a request or a reply.
    """

    kind: FaultKind
    reason: str
    id: bytes | None = None
    is_reply: bool = False
    data: bytes = b""
    size: int = 0
    position: int = -1
    number: int = 0
    is_bare: bool = False

    @property
    def may_settle(self) -> bool:
        """Whether whoever waits for an answer under its id has to take it for that: no other will come."""
        return self.is_reply or self.is_bare

    @property
    def code(self) -> int:
        """The JSON-RPC error code with which a request of this fault is answered."""
        return self.kind.code

    def answer(self, null_id: bytes | None = NULL_ID) -> ErrorResponse | None:
        """Build the reply this fault deserves, or None where it must not have one.

        `null_id` stands in for an id that could not be read: `NULL_ID` up to 2025-06-18, None (left
        out) from 2025-11-25 on.
        """
        if self.is_reply or self.kind is FaultKind.STRAY:
            return None
        return error_reply(self.id or null_id, self.code, self.reason)


@final
class Batch(msgspec.Struct, frozen=True):
    """A JSON array of messages, as 2025-03-26 allows; each item on its own is a message or a fault."""

    items: tuple[Message | Fault, ...]
    frame: bytes = b""


class _LooseError(msgspec.Struct):
    code: msgspec.Raw = msgspec.Raw(b"null")
    message: msgspec.Raw = msgspec.Raw(b"null")
    data: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


_encode = msgspec.json.Encoder().encode
_decode_plain = msgspec.json.Decoder(PlainId).decode
_error_decoder = msgspec.json.Decoder(ErrorObject, strict=False)


def _loose_error(raw: bytes) -> ErrorObject:
    """Read what can be read of an error that is not as it should be; all of it where there is no text."""
    error = _decoded(raw, _LooseError) or _LooseError()
    code, message = _decoded(error.code, int), _decoded(error.message, str)
    return ErrorObject(
        JsonRpcErrorCode.InternalError if code is None else code,
        raw.decode(errors="replace")[:1000] if message is None else message,
        error.data,
    )


def _decoded(raw: bytes | msgspec.Raw, type: type[T]) -> T | None:
    try:
        return decode_value(raw, type)
    except msgspec.MsgspecError:
        return None


def _content(message: _Message) -> tuple[object, ...]:
    return tuple(getattr(message, name) for name in message.__struct_fields__ if name != "frame")


def id_token(value: PlainId) -> bytes:
    """Return the JSON spelling of an id.  Raises `LocalProtocolError` for anything that is no id."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise LocalProtocolError(f"an id is a string or a number, not {value!r}")
    if isinstance(value, float) and not math.isfinite(value):
        raise LocalProtocolError(f"an id is a finite number, not {value!r}")
    try:
        return _encode(value)
    except UnicodeEncodeError:
        return json.dumps(value).encode()  # half a surrogate pair: the escape is JSON
    except ValueError as error:
        raise LocalProtocolError("an id of too many digits") from error


def plain_id(token: bytes) -> PlainId:
    """Return an id's JSON spelling as a plain value: `b'1'` is 1, `b'"1"'` is "1", `b'1.0'` is 1.0.

    Raises `LocalProtocolError` for a token that is no id.
    """
    try:
        value: PlainId = json.loads(token) if b"\\" in token else _decode_plain(token)
        id_token(value)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise LocalProtocolError(f"{token[:100]!r} is no id that Python can hold") from error
    return value


def id_key(token: bytes) -> bytes:
    r"""Return the spelling under which an id is looked up: one for each decoded value and type.

    `"a"` and `"\u0061"` are one key; `1`, `1.0` and `"1"` are three.  The usual spellings are their
    own keys, so this costs nothing for them.
    """
    if token.isdigit() or (_BACKSLASH not in token and token[:1] == b'"'):
        return token
    try:
        return _encode(_decode_plain(token))
    except (msgspec.MsgspecError, UnicodeError):
        return token  # a lone surrogate, or a number that Python cannot hold: only itself


def folded_key(key: bytes) -> bytes:
    """Return the key of the number that an id spells with the wrong type: `"7"` or `7.0` where it was `7`."""
    return key[1:-1] if key[:1] == b'"' else key.removesuffix(b".0")


def create_request(id: PlainId, method: str, params: object = msgspec.UNSET) -> Request:
    """Build a request; `params` is any value that encodes to JSON, absent when not given."""
    return Request(id_token(id), method, _optional(params))


def create_notification(method: str, params: object = msgspec.UNSET) -> Notification:
    """Build a notification; it has no id."""
    return Notification(method, _optional(params))


def create_response(id: PlainId | None, result: object) -> Response:
    """Build a successful response; an id of None is written as null."""
    return Response(NULL_ID if id is None else id_token(id), encode_value(result))


def create_error_response(
    id: PlainId | None, code: int, message: str, data: object = msgspec.UNSET
) -> ErrorResponse:
    """Build an error response; `data` is absent when not given, an id of None is written as null."""
    return error_reply(NULL_ID if id is None else id_token(id), code, message, data)


def error_reply(id: bytes | None, code: int, message: str, data: object = msgspec.UNSET) -> ErrorResponse:
    """Build the error that answers the request of a raw id, as it stood on the wire; None: it is left out."""
    members: dict[str, object] = {"code": int(code), "message": message}
    if data is not msgspec.UNSET:
        members["data"] = data
    return ErrorResponse(id, encode_value(members))


def _optional(value: object) -> bytes | None:
    return None if value is msgspec.UNSET else encode_value(value)


def _is_object(value: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


def validate_request(value: object) -> bool:
    """Say whether this is a JSON-RPC 2.0 request: a `Request`, or plain data with version, method and id."""
    if isinstance(value, Request):
        return bool(value.method)
    if not _is_object(value) or value.get("jsonrpc") != JSONRPC_VERSION:
        return False
    method, id = value.get("method"), value.get("id")
    if not isinstance(method, str) or not method or isinstance(id, bool):
        return False
    return isinstance(id, int | float | str)


def is_notification(value: object) -> bool:
    """Say whether this is a notification: a `Notification`, or plain data with a method and no id."""
    if isinstance(value, Notification):
        return True
    return _is_object(value) and isinstance(value.get("method"), str) and "id" not in value


def is_response(value: object) -> bool:
    """Say whether this answers a request: a response, or plain data with a `result` or an `error`."""
    if isinstance(value, Response | ErrorResponse):
        return True
    return _is_object(value) and ("result" in value or "error" in value)
