"""One request of the stateless era over HTTP, as a transport: its closing is the request's cancellation.

Specification: MCP `basic/transports/streamable-http`, 2026-07-28.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec

from anywire.errors import TransportClosed
from anywire.transport.contract import Callbacks, call_back, refuse_when_closed
from anywire.transport.http_stream import OutgoingStream
from anywire.wire.codec import encode
from anywire.wire.message import Batch, ErrorResponse, Message, Notification, Request, Response

__all__ = ("HttpCallTransport",)


class HttpCallTransport(msgspec.Struct, eq=False):
    """Carries one request in and everything that belongs to it out.  See `transport.contract.Transport`."""

    _request: Request
    #: What is to be sent.
    stream: OutgoingStream
    #: The reply, once there is one.
    reply: Response | ErrorResponse | None = None
    #: True once the response is complete, or its client has gone.
    closed: bool = False
    #: Called when that has become true, for whoever has nothing else to hear.
    on_gone: Callable[[], None] | None = None
    # Made when somebody asks: most requests are answered before anybody has anything to hear.
    _callbacks: Callbacks | None = None
    _close_fired: asyncio.Event | None = None

    def __repr__(self) -> str:
        state = "closed" if self.closed else "answered" if self.reply is not None else "open"
        return f"<HttpCallTransport {self._request.method}, {state}>"

    @property
    def callbacks(self) -> Callbacks:
        """What is called; see `transport.contract.Callbacks`."""
        if self._callbacks is None:
            self._callbacks = Callbacks()
        return self._callbacks

    @callbacks.setter
    def callbacks(self, callbacks: Callbacks) -> None:
        self._callbacks = callbacks

    async def start(self) -> None:
        """Receive the request."""
        if not self.closed:
            call_back(self.callbacks.on_message, self._request)

    def post(self, message: Message | Batch, related: bytes | None = None) -> None:
        """Send something that belongs to the request; the reply is the last of it.

        What belongs to no request has no place here and is dropped.  A client that reads too slowly for
        what nobody waits to send has gone: it asked for it, and can ask again.
        """
        if type(message) is Response and self.reply is None and not self.closed:
            self.reply = message
            self.stream.put(encode(message), last=True)
        elif self.stream.full and isinstance(message, Notification):
            self.end(gone=True)
        else:
            self._put(message, related)

    def _put(self, message: Message | Batch, related: bytes | None) -> None:
        refuse_when_closed(self.closed, "the request")
        if self.reply is not None or isinstance(message, Batch | Request):
            return
        if isinstance(message, Response | ErrorResponse):
            self.reply = message
            self.stream.put(encode(message), last=True)
        elif related is not None:
            self.stream.put(encode(message))

    async def send(self, message: Message | Batch, related: bytes | None = None) -> None:
        """As `post`, and wait while the client reads too slowly."""
        self._put(message, related)
        if self.stream.full:
            await self.stream.room()

    async def close(self) -> None:
        """End the response."""
        self.end()
        if self._close_fired is not None:
            await self._close_fired.wait()

    def end(self, *, gone: bool = False) -> None:
        """The response is complete, or its client has gone."""
        if self.closed:
            return
        self.closed = True
        if gone:
            self.stream.abandon()
        self.stream.end()
        if self.on_gone is not None:
            asyncio.get_running_loop().call_soon(self.on_gone)
        if self._callbacks is None:
            return
        self._close_fired = asyncio.Event()
        # Not from here: this may be inside another callback.
        asyncio.get_running_loop().call_soon(self._fire_close, gone)

    def _fire_close(self, gone: bool) -> None:
        call_back(self.callbacks.on_close, TransportClosed("the client has gone") if gone else None)
        if self._close_fired is not None:
            self._close_fired.set()
