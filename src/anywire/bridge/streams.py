"""Which request of the client does a message of the server belong to?

A pipe need not know.  Over HTTP it decides on which stream the message travels: progress goes where
its token came from; anything else that comes while exactly one request is unanswered belongs to it.

Specification: MCP `basic/transports#streamable-http`, `basic/utilities/progress`.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import msgspec
from msgspec import UNSET, Raw, UnsetType

from anywire.wire.message import Message, Notification, Request, id_key
from anywire.wire.value import decode_value

__all__ = ("Belonging", "Relating")


@runtime_checkable
class Relating(Protocol):
    """A target that knows by itself which request of the client a message belongs to."""

    #: The raw id of the request that the message being handed over is about; None: not known.
    related: bytes | None


class _Meta(msgspec.Struct, rename="camel"):
    progress_token: Raw | UnsetType = UNSET


class _Params(msgspec.Struct):
    meta: _Meta = msgspec.field(default_factory=_Meta, name="_meta")


class _Progress(msgspec.Struct, rename="camel"):
    progress_token: Raw = Raw()


_params = msgspec.json.Decoder(_Params)
_progress = msgspec.json.Decoder(_Progress)


class Belonging:
    """The progress tokens of a client's unanswered requests."""

    def __init__(self) -> None:
        self._ids: dict[bytes, bytes] = {}
        self._tokens: dict[bytes, bytes] = {}  # of which request a token is ...
        self._token_of: dict[bytes, bytes] = {}  # ... and the way back

    def asked(self, request: Request) -> None:
        """A request is on its way."""
        key = id_key(request.id)
        self._ids[key] = request.id
        try:
            token = decode_value(request.params or b"{}", _Params, _params).meta.progress_token
        except msgspec.MsgspecError:
            return
        if not isinstance(token, UnsetType):
            known = id_key(bytes(token))
            self._tokens[known] = key
            self._token_of[key] = known

    def settled(self, key: bytes) -> None:
        """A request has its answer, or needs none any more."""
        self._ids.pop(key, None)
        token = self._token_of.pop(key, None)
        if token is not None and self._tokens.get(token) == key:  # a later request may have taken it over
            del self._tokens[token]

    def of(self, message: Message) -> bytes | None:
        """Return the raw id of the request that a message of the server belongs to, if one can be told."""
        if isinstance(message, Notification) and message.method == "notifications/progress":
            try:
                token = decode_value(message.params or b"{}", _Progress, _progress).progress_token
            except msgspec.MsgspecError:
                return None
            return self._ids.get(self._tokens.get(id_key(bytes(token)), b""))
        return next(iter(self._ids.values())) if len(self._ids) == 1 else None
