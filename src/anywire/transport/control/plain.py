"""A server inside a host's process, as hosts wire it up: plain JSON objects, through two callbacks."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from anywire.errors import ConfigError, LocalProtocolError, RemoteProtocolError
from anywire.transport.contract import call_back, ignore, loop_here, refuse_when_closed
from anywire.transport.memory import MemoryTransport
from anywire.wire.codec import decode, encode
from anywire.wire.limits import DEFAULT_LIMITS, Limits
from anywire.wire.message import Batch, ErrorResponse, Fault, Message, Notification, Request, Response
from anywire.wire.value import decode_value, encode_value

__all__ = ("PlainMessage", "SdkMcpTransport")


class PlainMessage(dict[str, Any]):
    """A message as plain JSON data, which knows the bytes it was.

    A transport of ours that gets it back goes on with those bytes, unless its content was changed.
    """

    def __init__(self, frame: bytes) -> None:
        super().__init__(decode_value(frame, dict[str, Any]))
        #: The message as JSON (UTF-8).
        self.frame = frame


class SdkMcpTransport(MemoryTransport):
    """One conversation with a server in this process, whose messages somebody else carries.

    `send_mcp_message` gets each message of the server's as plain JSON data, synchronously and in order.
    What comes for the server is given to `on_message`, which is `receive` unless a server that speaks plain
    JSON itself puts its own function there.  `on_close` is called once, after the end.  For a `Server` this
    is a transport like any other: `server.accept(transport)`.
    """

    def __init__(self, send_mcp_message: Callable[[Any], object], *, limits: Limits = DEFAULT_LIMITS) -> None:
        """Make one.  Raises `ConfigError` for an `async` function, which nobody would await."""
        super().__init__("Transport", limits)
        if inspect.iscoroutinefunction(send_mcp_message):
            raise ConfigError(
                "send_mcp_message is called synchronously: give a plain function, not an async one"
            )
        self._send_mcp_message = send_mcp_message
        self._limits = limits
        #: Takes each message for the server, as plain JSON data.
        self.on_message: Callable[[Any], object] = self.receive
        #: Called once, when the transport is closed.
        self.on_close: Callable[[], None] = ignore
        #: Gets what was given to `receive` and is no message.
        self.on_error: Callable[[Exception], None] = ignore

    def receive(self, message: Mapping[str, Any] | Sequence[Any]) -> None:
        """Take a message (or a batch of them) for the server; dropped after the end.

        Raises `LocalProtocolError` for what has no JSON, and in another thread than that of the event loop.
        """
        frame = _frame_of(message)
        decoded = decode(frame, self._limits)
        if isinstance(decoded, Fault):
            loop_here(self._loop, self.name).call_soon(self._refuse, decoded)
        else:
            self.take(decoded)

    async def send(self, message: Message | Batch | Mapping[str, Any], related: bytes | None = None) -> None:
        """Hand a message over, a plain one as the object it is.

        Raises `TransportClosed` after the end, and what the callback raises.
        """
        self._hand_over(message)

    def post(self, message: Message | Batch | Mapping[str, Any], related: bytes | None = None) -> None:
        """As `send`; but what the callback raises goes to the event loop's exception handler."""
        refuse_when_closed(self._closed, self.name)
        call_back(self._hand_over, message)

    def end_sending(self) -> None:
        """Send no more; whoever carries the messages hears of it by `on_close`."""
        self._sends_no_more = True

    def _hand_over(self, message: Message | Batch | Mapping[str, Any]) -> None:
        refuse_when_closed(self._closed or self._sends_no_more, self.name)
        self._send_mcp_message(_plain(message))

    def _refuse(self, fault: Fault) -> None:
        if not self._closed:
            call_back(self.on_error, RemoteProtocolError(fault.reason))
            call_back(self.callbacks.on_error, fault)

    def _fire_close(self) -> None:
        super()._fire_close()
        call_back(self.on_close)


def _plain(message: Message | Batch | Mapping[str, Any]) -> object:
    if isinstance(message, Batch):
        return [_plain(item) for item in message.items if not isinstance(item, Fault)]
    if isinstance(message, Request | Notification | Response | ErrorResponse):
        return PlainMessage(encode(message))
    return message


def _frame_of(message: object) -> bytes:
    if isinstance(message, PlainMessage) and message == decode_value(message.frame, object):
        return message.frame
    if isinstance(message, list):
        items = cast("list[object]", message)
        return b"[%b]" % b",".join(map(_frame_of, items))
    try:
        return encode_value(message)
    except TypeError as error:
        raise LocalProtocolError(f"a message is plain JSON data: {error}") from None
