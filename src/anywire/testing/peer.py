r"""A peer that a test plays: it says what the test wants and waits, within bounds, for what it expects.

    peer, transport = scripted_peer()
    serving = asyncio.create_task(server.serve(transport))
    async with peer:
        await peer.send({"jsonrpc": "2.0", "id": 1, "method": "ping"})
        await peer.expect({"jsonrpc": "2.0", "id": 1, "result": {}})
        await peer.send_bytes(b"not json\n")
        reply = await peer.receive()

It sits on one end of any wire; `scripted_peer` gives one in memory with bytes in between, so that
malformed input can be sent as well.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from anywire.errors import AnywireError, ConfigError
from anywire.protocol.revisions import MCP_LATEST_PROTOCOL_VERSION
from anywire.testing.byte_wire import ByteTransport, byte_pair
from anywire.transport.contract import Transport
from anywire.wire.codec import decode, decode_value, encode, encode_value
from anywire.wire.framing import Framing
from anywire.wire.limits import DEFAULT_LIMITS, Limits
from anywire.wire.message import Batch, Fault, Message, Response

__all__ = ("ScriptedPeer", "scripted_peer")

#: Turns of the loop after which whatever needs no time and no other thread has happened.
_TURNS = 60


class ScriptedPeer:
    """One end of a conversation, played by a test.

    Every wait ends after `patience` seconds with an `AssertionError` that says what was waited for.
    `write` puts bytes on the wire as they are; None where the wire has no bytes.
    """

    def __init__(
        self, transport: Transport, *, write: Callable[[bytes], object] | None = None, patience: float = 10.0
    ) -> None:
        self.transport = transport
        #: What came in and was not asked for yet, in order.
        self.inbox: deque[Message | Batch | Fault] = deque()
        #: The other side said that it sends no more.
        self.ended = False
        #: The wire is closed ...
        self.closed = False
        #: ... and this is why, None when it was in order.
        self.closed_with: AnywireError | None = None
        self._write = write
        self._patience = patience
        self._news = asyncio.Event()
        callbacks = transport.callbacks
        callbacks.on_message = self._take
        callbacks.on_error = self._take_error
        callbacks.on_end = self._take_end
        callbacks.on_close = self._take_close

    async def __aenter__(self) -> ScriptedPeer:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    # The wire.

    async def start(self) -> None:
        """Open the wire."""
        await self.transport.start()

    async def close(self) -> None:
        """Close the wire."""
        await self.transport.close()

    def end(self) -> None:
        """Send no more, and go on reading.  Raises `ConfigError` for a wire that cannot be half closed."""
        end_sending = getattr(self.transport, "end_sending", None)
        if end_sending is None:
            raise ConfigError(f"{self.transport!r} cannot end its sending alone")
        end_sending()

    # Out.

    async def send(self, message: Message | Batch | Mapping[str, Any] | list[Any] | str | bytes) -> None:
        """Send a message: as it is, as plain JSON data, or as JSON text.

        Raises `ConfigError` for a text that is no message; `send_bytes` sends anything.
        """
        if isinstance(message, Mapping | list):
            message = encode_value(message)
        elif isinstance(message, str):
            message = message.encode()
        if isinstance(message, bytes):
            decoded = decode(message)
            if isinstance(decoded, Fault):
                raise ConfigError(f"this is no message: {decoded.reason}: {message[:200]!r}")
            message = decoded
        await self.transport.send(message)

    async def send_bytes(self, data: bytes) -> None:
        """Put bytes on the wire as they are, framed or not."""
        if self._write is None:
            raise ConfigError("this wire has no bytes")
        self._write(data)

    async def notify(self, method: str, params: object = None) -> None:
        """Send a notification."""
        await self.send(_envelope({"method": method}, params))

    async def ask(self, id: object, method: str, params: object = None) -> None:
        """Send a request."""
        await self.send(_envelope({"id": id, "method": method}, params))

    async def call(self, id: object, tool: str, arguments: object = None, meta: object = None) -> None:
        """Send a `tools/call`."""
        params: dict[str, object] = {"name": tool}
        if arguments is not None:
            params["arguments"] = arguments
        if meta is not None:
            params["_meta"] = meta
        await self.ask(id, "tools/call", params)

    async def answer(self, request: Mapping[str, Any], result: object) -> None:
        """Answer a request of the other side's, given as it came from `receive`."""
        await self.send({"jsonrpc": "2.0", "id": request["id"], "result": result})

    async def initialize(
        self, revision: str = MCP_LATEST_PROTOCOL_VERSION, capabilities: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Shake hands as a client of that revision that can do so much; return the result."""
        client = {"name": "scripted", "version": "1"}
        params = {"protocolVersion": revision, "capabilities": capabilities or {}, "clientInfo": client}
        await self.ask("initialize", "initialize", params)
        reply = await self.receive_message()
        assert isinstance(reply, Response), f"an answer to initialize was expected, not {reply!r}"
        await self.notify("notifications/initialized")
        return decode_value(reply.result, dict[str, Any])

    # In.

    async def receive_message(self) -> Message | Batch | Fault:
        """Return the next thing that came in, a `Fault` for what is no message."""
        await self._until(lambda: bool(self.inbox), "a message")
        return self.inbox.popleft()

    async def receive(self) -> Any:  # noqa: ANN401 JSON is of any type
        """Return the next message as plain JSON data."""
        return _plain(await self.receive_message())

    async def receive_many(self, count: int) -> list[Any]:
        """Return so many messages, as plain JSON data."""
        return [await self.receive() for _ in range(count)]

    async def expect(self, *expected: object) -> None:
        """Wait for exactly these messages, given as plain JSON data, in this order."""
        for each in expected:
            got = await self.receive()
            assert got == each, f"expected {each!r}, got {got!r}"

    async def expect_end(self) -> None:
        """Wait until the other side has ended, or the wire has."""
        await self._until(lambda: self.ended or self.closed, "the end")

    async def expect_silence(self) -> None:
        """Let everything happen that needs no time, and see that nothing has come in."""
        for _ in range(_TURNS):
            await asyncio.sleep(0)
        assert not self.inbox, f"nothing was expected, got {[_plain(each) for each in self.inbox]!r}"

    async def _until(self, condition: Callable[[], bool], what: str) -> None:
        try:
            async with asyncio.timeout(self._patience):
                while not condition():
                    assert not self.closed, (
                        f"{what} was expected, but the wire is closed ({self.closed_with})"
                    )
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            raise AssertionError(f"{what} was expected within {self._patience:g} s") from None

    def _take(self, message: Message | Batch) -> None:
        self.inbox.append(message)
        self._news.set()

    def _take_error(self, error: Fault | AnywireError) -> None:
        if isinstance(error, Fault):
            self.inbox.append(error)
            self._news.set()

    def _take_end(self) -> None:
        self.ended = True
        self._news.set()

    def _take_close(self, error: AnywireError | None) -> None:
        self.closed, self.closed_with = True, error
        self._news.set()


def _envelope(members: dict[str, object], params: object) -> dict[str, object]:
    given = {} if params is None else {"params": params}
    return {"jsonrpc": "2.0", **members, **given}


def _plain(message: Message | Batch | Fault) -> object:
    if isinstance(message, Fault):
        return message
    return decode_value(encode(message), object)


def scripted_peer(
    framing: Framing = Framing.NEWLINE, limits: Limits = DEFAULT_LIMITS, *, patience: float = 10.0
) -> tuple[ScriptedPeer, ByteTransport]:
    """Return a peer and the transport at whose other end it sits, for a `Server` or a `Client`.

    The peer speaks that framing; the other end finds out by itself, or speaks newlines until then.
    """
    mine, other = byte_pair(framing, None if framing is Framing.NEWLINE else framing, limits)
    return ScriptedPeer(mine, write=mine.write, patience=patience), other
