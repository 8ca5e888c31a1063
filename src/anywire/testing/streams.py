"""A wire with several streams, in memory: what HTTP looks like to the layers above it.

Each request of the client opens a stream of its own.  Its reply, and every message that is `related`
to it, travel on that stream, which ends with the reply.  Everything else that the server sends goes
on the general stream; while the client has none open, it waits there, and the oldest is given up
when too much waits.  A client may drop one stream: what was still to come on it is lost, the
conversation goes on.

Order holds within a stream, not between two of them.
"""

from __future__ import annotations

import asyncio
from collections import deque
from functools import partial

from anywire.errors import LimitExceeded
from anywire.transport.contract import Callbacks, call_back, refuse_when_closed
from anywire.transport.memory import PairListener
from anywire.wire.limits import DEFAULT_LIMITS, Limits
from anywire.wire.message import Batch, ErrorResponse, Fault, Message, Request, Response, id_key

__all__ = ("StreamsClient", "StreamsListener", "StreamsServer", "streams_pair")

#: Messages that wait for a general stream before the oldest is given up.
BACKLOG = 1_000


class _Stream:
    """One way to one end: messages in order, handed over by the loop."""

    def __init__(self, name: str, receiver: _End, keys: list[bytes]) -> None:
        self.name = name
        #: The requests whose replies end it; empty for a stream that does not end by itself.
        self.keys = set(keys)
        self.waiting: deque[tuple[Message | Batch, _Stream | None]] = deque()
        self._receiver = receiver
        self._scheduled = False
        self._dropped = False
        self._room = asyncio.Event()
        self._room.set()

    def put(self, message: Message | Batch, opens: _Stream | None = None) -> None:
        """Send a message on it; lost when the stream was dropped or its receiver is closed."""
        if self._dropped or self._receiver.closed:
            return
        self.waiting.append((message, opens))
        if len(self.waiting) > self._receiver.high:
            self._room.clear()
        self.schedule()

    def drop(self) -> None:
        """Lose what waits and what will come."""
        self._dropped = True
        self.waiting.clear()
        self._room.set()

    async def room(self) -> None:
        """Wait while too much waits."""
        await self._room.wait()

    def schedule(self) -> None:
        """Have the loop hand over what waits, once the receiver has started."""
        if self.waiting and self._receiver.started and not self._scheduled:
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self._hand_over)

    def _hand_over(self) -> None:
        self._scheduled = False
        for _ in range(len(self.waiting)):
            if not self.waiting:
                break  # dropped by a callback
            self._receiver.receive(*self.waiting.popleft())
        if len(self.waiting) <= self._receiver.high:
            self._room.set()
        self.schedule()
        self._receiver.stream_rests(self)


class _End:
    """What both ends share."""

    def __init__(self, name: str, limits: Limits) -> None:
        self.callbacks = Callbacks()
        self.name = name
        self.high = limits.requests_in_flight
        self.started = False
        #: The streams on which this end receives.
        self.streams: list[_Stream] = []
        self._closed = False
        self._peer_ended = False
        self._close_fired = asyncio.Event()

    @property
    def closed(self) -> bool:
        """True once `close()` was called."""
        return self._closed

    async def start(self) -> None:
        """Receive what was sent meanwhile, and go on receiving."""
        self.started = True
        for stream in self.streams:
            stream.schedule()
        asyncio.get_running_loop().call_soon(self._end_when_empty)

    async def close(self) -> None:
        """End the conversation: what was sent arrives, then the other end hears the end."""
        if not self._closed:
            self._closed = True
            for stream in self.streams:
                stream.drop()
            self.streams.clear()
            self.tell_other()
            asyncio.get_running_loop().call_soon(self._fire_close)
        await self._close_fired.wait()

    def tell_other(self) -> None:
        """This end is closed: let the other hear of it."""
        raise NotImplementedError

    def _fire_close(self) -> None:
        call_back(self.callbacks.on_close, None)
        self._close_fired.set()

    def receive(self, message: Message | Batch, opens: _Stream | None) -> None:
        """Hand a message to whoever listens."""
        call_back(self.callbacks.on_message, message)

    def stream_rests(self, stream: _Stream) -> None:
        """A stream has handed over what it had."""
        self._end_when_empty()

    def peer_ended(self) -> None:
        """The other end sends no more."""
        self._peer_ended = True
        asyncio.get_running_loop().call_soon(self._end_when_empty)

    def _end_when_empty(self) -> None:
        if not self._peer_ended or not self.started or self._closed:
            return
        if not any(stream.waiting for stream in self.streams):
            self._peer_ended = False
            call_back(self.callbacks.on_end)


class StreamsClient(_End):
    """The client's end.  Its general stream is open from the start unless `general` is False."""

    def __init__(self, limits: Limits, general: bool) -> None:
        super().__init__("streams (client)", limits)
        self._opened = 0
        self._sends_no_more = False
        self._general = general
        #: Every message of either end with the name of the stream on which it travelled.
        self.log: list[tuple[str, Message | Batch]] = []
        self.server = StreamsServer(self, limits)
        if general:
            self.open_general()

    def open_general(self) -> None:
        """Open the general stream; what waited for it comes now."""
        if self.server.general is None:
            self.server.general = self._open("general", [])
            self.server.send_backlog()

    def post(self, message: Message | Batch, related: bytes | None = None) -> None:
        """Send a message; a request, or a batch with requests, opens a stream."""
        refuse_when_closed(self._closed or self._sends_no_more, self.name)
        keys = _asked(message)
        opens = None
        if keys:
            self._opened += 1
            opens = self._open(f"stream {self._opened}", keys)
        self.log.append((opens.name if opens is not None else "post", message))
        self.server.incoming.put(message, opens)

    async def send(self, message: Message | Batch, related: bytes | None = None) -> None:
        """Send a message, and wait while the server has too many."""
        self.post(message, related)
        await self.server.incoming.room()

    def drop(self, id: bytes) -> None:
        """Drop the stream that the request of this raw id opened."""
        for stream in [stream for stream in self.streams if id_key(id) in stream.keys]:
            stream.drop()
            self.streams.remove(stream)

    def end_sending(self) -> None:
        """Ask nothing more; what was asked is still answered."""
        if not self._sends_no_more:
            self._sends_no_more = True
            self.server.peer_ended()

    def tell_other(self) -> None:
        """This end is closed: the server hears the end after what was sent."""
        self.end_sending()

    def stream_of(self, message: Message) -> str | None:
        """Return the name of the stream on which an equal message travelled last."""
        return next((name for name, each in reversed(self.log) if each == message), None)

    def stream_rests(self, stream: _Stream) -> None:
        """Forget a stream that has ended."""
        if stream.name != "general" and not stream.keys and stream in self.streams:
            self.streams.remove(stream)
        super().stream_rests(stream)

    def _open(self, name: str, keys: list[bytes]) -> _Stream:
        stream = _Stream(name, self, keys)
        self.streams.append(stream)
        return stream


class StreamsServer(_End):
    """The server's end: picks the stream for what it sends."""

    def __init__(self, client: StreamsClient, limits: Limits) -> None:
        super().__init__("streams (server)", limits)
        self._client = client
        #: What the client sends, in one order.
        self.incoming = _Stream("post", self, [])
        self.streams.append(self.incoming)
        #: The client's general stream, None while it has none.
        self.general: _Stream | None = None
        self._backlog: deque[Message | Batch] = deque()
        # By request: the newest last, since a second request of one id has its own stream.
        self._open_streams: dict[bytes, list[_Stream]] = {}

    @property
    def open_streams(self) -> int:
        """The number of requests whose streams have not ended."""
        return sum(map(len, self._open_streams.values()))

    def receive(self, message: Message | Batch, opens: _Stream | None) -> None:
        """Note which stream a request opened, before anybody can answer it."""
        for key in opens.keys if opens is not None else ():
            assert opens is not None
            self._open_streams.setdefault(key, []).append(opens)
        super().receive(message, opens)

    def post(self, message: Message | Batch, related: bytes | None = None) -> None:
        """Send a message on the stream of the request it is related to, else on the general one."""
        refuse_when_closed(self._closed, self.name)
        stream = self._stream_of(related)
        self._client.log.append((stream.name if stream is not None else "general", message))
        if stream is not None:
            stream.put(message)
            for key in _answered(message):
                self._end_for(key, stream)
        else:
            self._keep(message)

    async def send(self, message: Message | Batch, related: bytes | None = None) -> None:
        """Send a message, and wait while its stream has too many."""
        stream = self._stream_of(related)
        self.post(message, related)
        if stream is not None:
            await stream.room()

    def send_backlog(self) -> None:
        """The general stream has been opened: send what waits for it."""
        assert self.general is not None
        while self._backlog:
            self.general.put(self._backlog.popleft())

    def tell_other(self) -> None:
        """This end is closed: the client hears the end after what was sent."""
        self._open_streams.clear()
        self._client.peer_ended()

    def _stream_of(self, related: bytes | None) -> _Stream | None:
        streams = self._open_streams.get(id_key(related)) if related is not None else None
        return streams[-1] if streams else self.general

    def _end_for(self, key: bytes, stream: _Stream) -> None:
        """A reply went out: the stream ends with the last one that it waits for."""
        stream.keys.discard(key)
        streams = self._open_streams.get(key, [])
        if stream in streams:
            streams.remove(stream)
        if not streams:
            self._open_streams.pop(key, None)

    def _keep(self, message: Message | Batch) -> None:
        """There is no general stream: keep the message for when there is, within bounds."""
        self._backlog.append(message)
        if len(self._backlog) > BACKLOG:
            self._backlog.popleft()
            lost = LimitExceeded(f"{self.name}: more than {BACKLOG} messages wait for a general stream")
            call_back(self.callbacks.on_error, lost)


def _items(message: Message | Batch) -> tuple[Message | Fault, ...]:
    return message.items if isinstance(message, Batch) else (message,)


def _asked(message: Message | Batch) -> list[bytes]:
    """Return the keys of the requests that a message holds."""
    return [id_key(item.id) for item in _items(message) if isinstance(item, Request)]


def _answered(message: Message | Batch) -> list[bytes]:
    """Return the keys of the requests that a message answers."""
    replies = [item for item in _items(message) if isinstance(item, Response | ErrorResponse)]
    return [id_key(reply.id) for reply in replies if reply.id is not None]


def streams_pair(
    limits: Limits = DEFAULT_LIMITS, *, general: bool = True
) -> tuple[StreamsClient, StreamsServer]:
    """Return two transports that are each other's peer: the client's end and the server's."""
    client = StreamsClient(limits, general)
    return client, client.server


class StreamsListener(PairListener[StreamsClient, StreamsServer]):
    """Accepts conversations over `streams_pair`."""

    def __init__(self, limits: Limits = DEFAULT_LIMITS) -> None:
        super().__init__(partial(streams_pair, limits))
        self._limits = limits

    def connect(self, *, general: bool = True) -> StreamsClient:
        """Open a conversation, with a general stream or without one, and return the client's end.

        Raises `ConnectFailed` when nobody serves.
        """
        return self._open(partial(streams_pair, self._limits, general=general))
