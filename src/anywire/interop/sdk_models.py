"""Messages as the official SDK's models, and back; 1.x and 2.x differ in their wrapping.

Each message is written and read as JSON, by the models that the SDK's own transports use, so that
what arrives is what would have arrived there.
"""

from __future__ import annotations

import json
from contextlib import AbstractContextManager
from functools import cache
from importlib import import_module
from typing import Any, Protocol, cast

from anywire.errors import AnywireError, ConfigError, LocalProtocolError, RemoteProtocolError
from anywire.wire.codec import decode, encode
from anywire.wire.message import (
    NULL_ID,
    Batch,
    ErrorResponse,
    Fault,
    FaultKind,
    JsonRpcErrorCode,
    Message,
    Notification,
    Request,
    Response,
    error_reply,
    id_token,
    plain_id,
)
from anywire.wire.scan import replace_lone_surrogates

__all__ = ("CONNECTION_CLOSED", "Models", "explain", "reply_with")

#: The code with which the SDK tells its callers that there is no connection any more.
CONNECTION_CLOSED = -32000


class _Model(Protocol):
    def model_validate_json(self, data: bytes, /) -> object: ...


class Models:
    """The SDK's models and exceptions, of whichever version is installed."""

    def __init__(self) -> None:
        types: Any = import_module("mcp.types")
        shared: Any = import_module("mcp.shared.message")
        self._anyio: Any = import_module("anyio")
        self._session_message: Any = shared.SessionMessage
        self._server_metadata: Any = shared.ServerMessageMetadata
        self._models: dict[type[Message], Any] = {
            Request: types.JSONRPCRequest,
            Notification: types.JSONRPCNotification,
            Response: types.JSONRPCResponse,
            ErrorResponse: types.JSONRPCError,
        }
        # A union of the models in 2.x, a model that holds one of them in 1.x.
        wrapper: Any = types.JSONRPCMessage
        self._wrapper: Any = wrapper if isinstance(wrapper, type) else None
        self._left_out = {"exclude_unset" if self._wrapper is None else "exclude_none": True}
        self.end_of_stream = cast("type[Exception]", self._anyio.EndOfStream)
        self.closed = cast("type[Exception]", self._anyio.ClosedResourceError)
        self.broken = cast("type[Exception]", self._anyio.BrokenResourceError)

    @staticmethod
    def load() -> Models:
        """Return the models; the package is imported by the first call.  Raises `ConfigError` without it."""
        return _load()

    def shield(self) -> AbstractContextManager[object]:
        """Return a block in which a cancelled scope around it is not felt."""
        return cast("AbstractContextManager[object]", self._anyio.CancelScope(shield=True))

    def wrap(self, message: Message, related: bytes | None = None) -> object:
        """Return a message as the SDK's sessions read it; half a surrogate pair reads as U+FFFD.

        Raises `RemoteProtocolError` for one that the SDK has no place for: a fraction as its id, a result
        that is no object.
        """
        if isinstance(message, ErrorResponse) and message.id is None:
            message = ErrorResponse(NULL_ID, message.error)
        model, frame = self._models[type(message)], encode(message)
        try:
            read = _read(model, frame)
        except ValueError as error:  # what the models raise is one
            kind = type(message).__name__
            raise RemoteProtocolError(f"the SDK cannot hold this {kind}: {explain(error)}") from None
        metadata = None if related is None else self._server_metadata(related_request_id=plain_id(related))
        return self._session_message(read if self._wrapper is None else self._wrapper(read), metadata)

    def unwrap(self, item: object) -> tuple[Message | Fault, bytes | None]:
        """Return what an SDK's session has written, and the raw id of the request that it belongs to.

        Half a surrogate pair reads as U+FFFD.  What cannot be written as JSON, or nests too deeply, is a
        fault that names the message it concerns.  Raises `LocalProtocolError` for what is no message.
        """
        carried: Any = getattr(item, "message", None)
        model: Any = getattr(carried, "root", carried)
        if type(model) not in self._models.values():
            raise LocalProtocolError(f"a {type(item).__name__} is no message of the SDK's")
        message = self._decode(model)
        if isinstance(message, Batch):
            raise LocalProtocolError("a batch is no message of the SDK's")
        related: Any = getattr(getattr(item, "metadata", None), "related_request_id", None)
        return message, None if related is None else id_token(related)

    def _decode(self, model: Any) -> Message | Batch | Fault:  # noqa: ANN401 one of the SDK's models
        try:
            try:
                frame = model.model_dump_json(by_alias=True, **self._left_out).encode()
            except ValueError:  # half a surrogate pair: Python's writer has an escape for it
                plain = model.model_dump(mode="json", by_alias=True, **self._left_out)
                frame = replace_lone_surrogates(json.dumps(plain, separators=(",", ":")).encode())
        except (ValueError, RecursionError) as error:
            id: Any = getattr(model, "id", None)
            token = id_token(id) if isinstance(id, int | float | str) else None
            is_reply = not hasattr(model, "method")
            return Fault(FaultKind.INVALID_REQUEST, f"it cannot be written: {error}", token, is_reply)
        return decode(frame)


@cache
def _load() -> Models:
    try:
        return Models()
    except ImportError as missing:
        raise ConfigError(
            f"this needs the official SDK for Python, the package 'mcp' (1.x or 2.x): {missing}"
        ) from None


def _read(model: _Model, frame: bytes) -> object:
    try:
        return model.model_validate_json(frame)
    except ValueError:
        mended = replace_lone_surrogates(frame)
        if mended == frame:
            raise
        return model.model_validate_json(mended)


def explain(error: ValueError) -> str:
    """Say what a model of the SDK refused, without the values: they may be anybody's secrets."""
    errors: Any = getattr(error, "errors", None)
    if errors is None:
        return str(error)
    found: list[dict[str, Any]] = errors(include_url=False, include_context=False, include_input=False)
    return "; ".join(f"{'.'.join(map(str, each['loc'])) or 'the message'}: {each['msg']}" for each in found)


def reply_with(id: bytes, reason: str | AnywireError, code: int | None = None) -> ErrorResponse:
    """Return the error that settles the request of that raw id."""
    if code is None:
        code = reason.code if isinstance(reason, AnywireError) else JsonRpcErrorCode.InternalError
    return error_reply(id, code, str(reason))
