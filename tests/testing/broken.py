"""Transports that break one promise each, and are otherwise sound."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from functools import partial

import msgspec

from anywire.errors import TransportClosed
from anywire.testing.byte_wire import ByteTransport
from anywire.testing.streams import StreamsClient, StreamsServer
from anywire.testing.transport_kit import Factory, Pair
from anywire.transport.contract import call_back
from anywire.transport.memory import MemoryTransport
from anywire.wire.codec import encode
from anywire.wire.framing import Framing
from anywire.wire.limits import DEFAULT_LIMITS
from anywire.wire.message import Batch, Message, Notification


class Sound(MemoryTransport):
    """A sound transport whose calls of callbacks can be tampered with."""

    def _call(self, callback: Callable[..., None], *arguments: object) -> None:
        call_back(callback, *arguments)

    def _deliver(self) -> None:
        self._scheduled = False
        for _ in range(len(self._inbox)):
            if self._inbox:
                self._call(self.callbacks.on_message, self._inbox.popleft())
        self._room.set()
        if self._inbox:
            self._schedule()
        elif self._ended and not self._closed:
            self._ended = False
            self._call(self.callbacks.on_end)

    def _fire_close(self) -> None:
        self._call(self.callbacks.on_close, None)
        self._close_fired.set()


class HandsOverBeforeStart(Sound):
    def take(self, message: Message | Batch) -> None:
        self._started = True
        super().take(message)


class Overtakes(Sound):
    def take(self, message: Message | Batch) -> None:
        super().take(message)
        if len(self._inbox) == 2:
            self._inbox.rotate()


class Loses(Sound):
    taken = 0

    def take(self, message: Message | Batch) -> None:
        self.taken += 1
        if self.taken % 7:
            super().take(message)


class Repeats(Sound):
    taken = 0

    def take(self, message: Message | Batch) -> None:
        self.taken += 1
        super().take(message)
        if not self.taken % 7:
            super().take(message)


class CutsBatches(Sound):
    def take(self, message: Message | Batch) -> None:
        super().take(Batch(message.items[:2]) if isinstance(message, Batch) else message)


class LosesLarge(Sound):
    def take(self, message: Message | Batch) -> None:
        if isinstance(message, Batch) or len(encode(message)) < 1_000_000:
            super().take(message)


class Rewrites(Sound):
    def take(self, message: Message | Batch) -> None:
        if isinstance(message, Notification) and message.frame:
            message = msgspec.structs.replace(message, frame=b"")
        super().take(message)


class WritesAscii(Sound):
    def take(self, message: Message | Batch) -> None:
        if isinstance(message, Notification) and message.params is not None and not message.params.isascii():
            message = Notification(message.method, message.params.decode().encode("ascii", "replace"))
        super().take(message)


class Overflows(Sound):
    def take(self, message: Message | Batch) -> None:
        if len(self._inbox) < 5_000:
            super().take(message)


class CallsInside(Sound):
    """Hands over within `post()`, so that two ends that answer each other recurse."""

    def _schedule(self) -> None:
        if self._started and (self._inbox or self._ended):
            self._deliver()

    def _deliver(self) -> None:
        while self._inbox:
            self._call(self.callbacks.on_message, self._inbox.popleft())
        super()._deliver()


class CallsFromAThread(Sound):
    def _deliver(self) -> None:
        thread = threading.Thread(target=super()._deliver)
        thread.start()
        thread.join()

    def _schedule(self) -> None:
        if threading.current_thread() is threading.main_thread():
            super()._schedule()


class SwallowsFaults(Sound):
    def _call(self, callback: Callable[..., None], *arguments: object) -> None:
        try:
            callback(*arguments)
        except Exception:
            pass


class StopsAtFaults(Sound):
    stopped = False

    def _call(self, callback: Callable[..., None], *arguments: object) -> None:
        def guarded(*arguments: object) -> None:
            try:
                callback(*arguments)
            except Exception:
                self.stopped = True
                raise

        if not self.stopped or callback == self.callbacks.on_close:
            super()._call(guarded, *arguments)


class DropsAtClose(Sound):
    async def close(self) -> None:
        assert isinstance(self.other, MemoryTransport)
        if not self._closed:
            self.other._inbox.clear()
        await super().close()


class NeverTellsTheEnd(Sound):
    def end(self) -> None:
        pass


class EndsTwice(Sound):
    def _deliver(self) -> None:
        again = self._ended and not self._inbox
        super()._deliver()
        if again and not self._closed:
            self._call(self.callbacks.on_end)


class SendsAfterTheEnd(Sound):
    def _deliver(self) -> None:
        if self._ended and self._inbox:
            self._call(self.callbacks.on_end)
        super()._deliver()


class ClosesTwice(Sound):
    async def close(self) -> None:
        if self._closed:
            self._call(self.callbacks.on_close, None)
        await super().close()


class ClosesLater(Sound):
    """`close()` returns before `on_close` has been called."""

    def _call(self, callback: Callable[..., None], *arguments: object) -> None:
        if callback == self.callbacks.on_close:
            asyncio.get_running_loop().call_later(0.01, super()._call, callback, *arguments)
        else:
            super()._call(callback, *arguments)


class NeverCloses(Sound):
    """`on_close` is never called."""

    def _call(self, callback: Callable[..., None], *arguments: object) -> None:
        if callback != self.callbacks.on_close:
            super()._call(callback, *arguments)


class OpenWhileClosing(Sound):
    @property
    def closed(self) -> bool:
        return False


class WaitsForTheFirstCloser(Sound):
    """What a cancelled closer began is never ended."""

    closing = False

    async def close(self) -> None:
        if self.closing:
            await self._done.wait()
            return
        self.closing = True
        self._done = asyncio.Event()
        await asyncio.sleep(0.01)
        await super().close()
        self._done.set()

    @property
    def closed(self) -> bool:
        return self.closing


class SendsAfterClose(Sound):
    def post(self, message: Message | Batch, related: bytes | None = None) -> None:
        if not self._closed:
            super().post(message, related)


class WrongErrorAfterClose(Sound):
    def post(self, message: Message | Batch, related: bytes | None = None) -> None:
        try:
            super().post(message, related)
        except TransportClosed:
            raise RuntimeError("closed") from None


class CallsAfterClose(Sound):
    async def close(self) -> None:
        late = not self._closed
        await super().close()
        if late:
            asyncio.get_running_loop().call_soon(self.callbacks.on_message, Notification("late"))


class CannotCloseUnstarted(Sound):
    async def close(self) -> None:
        assert self._started, "close() before start()"
        await super().close()


class LeavesATask(Sound):
    async def start(self) -> None:
        await super().start()
        self.task = asyncio.get_running_loop().create_task(asyncio.Event().wait())


class KeepsSendersWaiting(ByteTransport):
    async def close(self) -> None:
        await super().close()
        self._room.clear()

    def room_again(self) -> None:
        if not self._closing:
            super().room_again()


class WaitsForTheReader(ByteTransport):
    async def close(self) -> None:
        if not self._closing:
            while self._started and self.buffered:  # noqa: ASYNC110 it is the fault
                await asyncio.sleep(1)
        await super().close()


class IgnoresRelated(StreamsServer):
    def post(self, message: Message | Batch, related: bytes | None = None) -> None:
        super().post(message, related if related != b"1" else None)


class RefusesUnknownRelated(StreamsServer):
    def post(self, message: Message | Batch, related: bytes | None = None) -> None:
        if related is not None and related not in self._open_streams:
            raise KeyError(related)
        super().post(message, related)


@asynccontextmanager
async def two(kind: type[MemoryTransport]) -> AsyncGenerator[Pair]:
    client, server = kind("broken (client)"), kind("broken (server)")
    client.other, server.other = server, client
    yield client, server


@asynccontextmanager
async def two_in_bytes(kind: type[ByteTransport]) -> AsyncGenerator[Pair]:
    client = kind("broken (client)", Framing.NEWLINE, DEFAULT_LIMITS)
    server = kind("broken (server)", Framing.NEWLINE, DEFAULT_LIMITS)
    client.other, server.other = server, client
    yield client, server


@asynccontextmanager
async def two_with_streams(kind: type[StreamsServer]) -> AsyncGenerator[Pair]:
    client = StreamsClient(DEFAULT_LIMITS, general=False)
    client.server = kind(client, DEFAULT_LIMITS)
    client.open_general()
    yield client, client.server, client.stream_of


#: A name, what is broken, and a part of the sentence that must say so.
BROKEN: list[tuple[str, Factory, str]] = [
    ("HandsOverBeforeStart", partial(two, HandsOverBeforeStart), "nothing is received before start"),
    ("Overtakes", partial(two, Overtakes), "messages go out in the order of the calls"),
    ("Loses", partial(two, Loses), "messages go out in the order of the calls: 8. of 100 messages came in"),
    ("Repeats", partial(two, Repeats), "messages go out in the order of the calls"),
    ("CutsBatches", partial(two, CutsBatches), "a batch arrives whole"),
    ("LosesLarge", partial(two, LosesLarge), "a large message arrives whole"),
    ("Rewrites", partial(two, Rewrites), "a message that was read goes on as the bytes it was"),
    ("WritesAscii", partial(two, WritesAscii), "text of any alphabet arrives as it was"),
    ("Overflows", partial(two, Overflows), "thousands of messages arrive"),
    ("CallsInside", partial(two, CallsInside), "was called inside another callback"),
    ("CallsFromAThread", partial(two, CallsFromAThread), "was called from another thread"),
    (
        "SwallowsFaults",
        partial(two, SwallowsFaults),
        "a callback that raises does not stop the transport: the loop's",
    ),
    ("StopsAtFaults", partial(two, StopsAtFaults), "a callback that raises does not stop the transport"),
    ("DropsAtClose", partial(two, DropsAtClose), "what was sent before close"),
    (
        "NeverTellsTheEnd",
        partial(two, NeverTellsTheEnd),
        "then the end: neither on_end nor on_close was called",
    ),
    ("EndsTwice", partial(two, EndsTwice), "on_end of .* was called 2 times"),
    ("SendsAfterTheEnd", partial(two, SendsAfterTheEnd), "on_message of .* was called after on_end"),
    ("ClosesTwice", partial(two, ClosesTwice), "on_close of .* was called after on_close"),
    ("ClosesLater", partial(two, ClosesLater), "on_close of .* was called 0 times, not once"),
    ("NeverCloses", partial(two, NeverCloses), "on_close of .* was called 0 times, not once"),
    ("OpenWhileClosing", partial(two, OpenWhileClosing), "closed of .* is False"),
    (
        "WaitsForTheFirstCloser",
        partial(two, WaitsForTheFirstCloser),
        "close.. ends what a cancelled close.. began",
    ),
    ("SendsAfterClose", partial(two, SendsAfterClose), "raise TransportClosed after the end: post"),
    (
        "WrongErrorAfterClose",
        partial(two, WrongErrorAfterClose),
        "raise TransportClosed after the end: RuntimeError",
    ),
    ("CallsAfterClose", partial(two, CallsAfterClose), "on_message of .* was called after on_close"),
    ("CannotCloseUnstarted", partial(two, CannotCloseUnstarted), "close.. works before start"),
    ("LeavesATask", partial(two, LeavesATask), "tasks are left behind"),
    ("KeepsSendersWaiting", partial(two_in_bytes, KeepsSendersWaiting), "lets waiting senders go: a send"),
    ("WaitsForTheReader", partial(two_in_bytes, WaitsForTheReader), "close.. .* took more than 10 s"),
    ("IgnoresRelated", partial(two_with_streams, IgnoresRelated), "goes on the stream of its request"),
    (
        "RefusesUnknownRelated",
        partial(two_with_streams, RefusesUnknownRelated),
        "goes on the stream of its request: KeyError",
    ),
]
