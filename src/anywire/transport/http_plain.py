"""Streamable HTTP for programs that speak plain JSON objects: a small face on `http_client`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

import msgspec

from anywire.errors import (
    AnywireError,
    LocalProtocolError,
    RemoteProtocolError,
)
from anywire.transport.contract import ignore
from anywire.wire.codec import decode, encode
from anywire.wire.limits import DEFAULT_LIMITS
from anywire.wire.message import (
    Batch,
    Fault,
    Message,
)
from anywire.wire.value import decode_value, encode_value

if TYPE_CHECKING:
    pass

from anywire.transport.http_client import HttpClientTransport

__all__ = ("MAX_SSE_BYTES", "StreamableHttpClient", "StreamableHttpOptions")

#: The most that one event or one JSON body may hold for `StreamableHttpClient`; a longer one is
#: reported and skipped.
MAX_SSE_BYTES: Final = 10 * 1024 * 1024


class StreamableHttpOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What a `StreamableHttpClient` needs.

    `on_frame` gets every message of the server as plain JSON data, from whichever stream it comes;
    `on_error` what goes wrong with the general stream, and what cannot be read.
    """

    url: str
    on_frame: Callable[[Any], None]
    headers: Mapping[str, str] = msgspec.field(default_factory=dict[str, str])
    on_error: Callable[[Exception], None] = ignore


class StreamableHttpClient:
    """Streamable HTTP for programs that speak plain JSON objects and match replies by themselves.

    A small face on `HttpClientTransport`: the session id and the protocol version go on every later
    request by themselves, the general stream is opened when the handshake is done.
    """

    def __init__(self, options: StreamableHttpOptions) -> None:
        self._options = options
        limits = DEFAULT_LIMITS.replace(message_bytes=MAX_SSE_BYTES)
        self._transport = HttpClientTransport(options.url, headers=options.headers, limits=limits)
        callbacks = self._transport.callbacks
        callbacks.on_message = self._frame
        callbacks.on_error = self._error
        self._started = False

    async def send(self, frame: Mapping[str, Any]) -> None:
        """POST one frame; returns when everything that the server answers to it has been received.

        Raises an `AnywireError` when the server refuses it or cannot be reached, `TransportClosed`
        after `stop()`.
        """
        if not self._started:
            self._started = True
            await self._transport.start()
        message = decode(encode_value(frame))
        if isinstance(message, Fault):
            raise LocalProtocolError(message.reason)
        failures: list[AnywireError] = []
        await asyncio.shield(self._transport.begin(message, lambda _, error: failures.append(error)))
        if failures:
            raise failures[0]

    async def stop(self) -> None:
        """End the streams and the session; later sends are refused.  Idempotent."""
        await self._transport.close()

    def _frame(self, message: Message | Batch) -> None:
        for item in message.items if isinstance(message, Batch) else (message,):
            if isinstance(item, Fault):
                self._error(item)
            else:
                self._options.on_frame(decode_value(encode(item), object))

    def _error(self, error: Fault | AnywireError) -> None:
        self._options.on_error(RemoteProtocolError(error.reason) if isinstance(error, Fault) else error)
