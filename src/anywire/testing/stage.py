"""A pair of transports under proof, with a witness at each end and a bound on every wait."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import TypeVar

from anywire.testing.witness import Witness
from anywire.transport.contract import Transport
from anywire.wire.message import Batch, Message

__all__ = ("Stage", "turn")

T = TypeVar("T")

_TURNS = 60


async def turn() -> None:
    """Let everything happen that needs no time."""
    for _ in range(_TURNS):
        await asyncio.sleep(0)


class Stage:
    """What a check of `anywire.testing.check_transport` works with."""

    def __init__(
        self,
        client: Transport,
        server: Transport,
        stream_of: Callable[[Message], Hashable] | None,
        patience: float,
    ) -> None:
        self.at_client = Witness("the client's end", client)
        self.at_server = Witness("the server's end", server)
        #: Tells streams apart, None for a wire that has but one.
        self.stream_of = stream_of
        self.patience = patience

    @property
    def broken(self) -> list[str]:
        """Sentences about promises that were broken at either end."""
        return [*self.at_client.broken, *self.at_server.broken]

    def other(self, witness: Witness) -> Witness:
        """Return the witness at the other end."""
        return self.at_server if witness is self.at_client else self.at_client

    async def within(self, waiting: Awaitable[T], what: str) -> T:
        """Await something within the bound."""
        task = asyncio.ensure_future(waiting)
        await asyncio.wait([task], timeout=self.patience)
        if not task.done():
            task.cancel()
            raise AssertionError(f"{what} took more than {self.patience:g} s")
        return task.result()

    async def start(self) -> None:
        """Start both ends, whichever waits for the other."""
        both = asyncio.gather(self.at_client.start(), self.at_server.start())
        await self.within(both, "start()")

    async def start_alone(self, witness: Witness) -> bool:
        """Start one end while the other is not; False when it waits for the other."""
        starting = asyncio.ensure_future(witness.start())
        await turn()
        if not starting.done():
            both = asyncio.gather(starting, self.other(witness).start())
            await self.within(both, "start()")
            return False
        starting.result()
        return True

    async def send(self, witness: Witness, message: Message | Batch, related: bytes | None = None) -> None:
        """Send from one end, and wait for room."""
        await self.within(witness.transport.send(message, related), f"send() of {witness.name}")

    async def close(self, witness: Witness) -> None:
        """Close one end."""
        await self.within(witness.transport.close(), f"close() of {witness.name}")

    async def close_both(self) -> None:
        """Close both ends."""
        for witness in (self.at_client, self.at_server):
            witness.fault = witness.react = None
            await self.close(witness)

    async def arrived(self, witness: Witness, count: int) -> list[Message]:
        """Wait until so many messages have come in since the last call, and return them."""
        waiting = asyncio.ensure_future(witness.until(lambda: len(witness.messages) >= count))
        await asyncio.wait([waiting], timeout=self.patience)
        waiting.cancel()
        messages = list(witness.messages)
        assert len(messages) >= count, f"{len(messages)} of {count} messages came in at {witness.name}"
        witness.messages.clear()
        return messages

    async def heard_the_end(self, witness: Witness) -> None:
        """Wait until an end has heard that the other has ended."""
        waiting = asyncio.ensure_future(witness.until(lambda: witness.over))
        await asyncio.wait([waiting], timeout=self.patience)
        waiting.cancel()
        assert witness.over, f"neither on_end nor on_close was called at {witness.name}"

    def same(self, sent: list[Message], received: list[Message], where: str) -> None:
        """See that messages came in as they were sent, in order within each stream."""
        expected, got = self._by_stream(sent), self._by_stream(received)
        for stream, messages in expected.items():
            found = got.pop(stream, [])
            first = next(
                (
                    index
                    for index, pair in enumerate(zip(messages, found, strict=False))
                    if pair[0] != pair[1]
                ),
                min(len(messages), len(found)),
            )
            assert messages == found, (
                f"of {len(messages)} messages, {len(found)} came in at {where}, "
                f"number {first} is the first that is not as it was sent"
            )
        assert not got, f"{sum(map(len, got.values()))} messages came in at {where} that were not sent"

    def _by_stream(self, messages: list[Message]) -> dict[Hashable, list[Message]]:
        streams: dict[Hashable, list[Message]] = {}
        for message in messages:
            streams.setdefault(self.stream_of and self.stream_of(message), []).append(message)
        return streams
