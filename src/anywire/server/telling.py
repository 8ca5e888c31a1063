"""What a session tells its client without being asked: each change once, and no faster than it is read."""

from __future__ import annotations

import asyncio
from collections.abc import Hashable

from anywire.errors import TransportError
from anywire.transport.contract import Transport
from anywire.wire.message import Notification

__all__ = ("Teller",)


class Teller:
    """Sends notifications in the order in which they became due.

    One that is due already is not told twice, so what waits for a client that does not read is bounded
    by what there is to tell of.
    """

    __slots__ = ("_due", "_sending", "_transport")

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._due: dict[Hashable, tuple[Notification, bytes | None]] = {}
        self._sending: asyncio.Task[None] | None = None

    def __len__(self) -> int:
        return len(self._due)

    def tell(self, message: Notification, related: bytes | None = None) -> None:
        """Send a notification soon, on behalf of the request of that raw id if there is one."""
        if self._transport.closed:
            return
        self._due.setdefault((related, message.method, message.params), (message, related))
        if self._sending is None:
            self._sending = asyncio.get_running_loop().create_task(self._send_all())
            self._sending.add_done_callback(self._sent)

    def forget(self, related: bytes) -> None:
        """Tell nothing more on behalf of a request that is over."""
        for key in [key for key, (_, owner) in self._due.items() if owner == related]:
            del self._due[key]

    def stop(self) -> None:
        """Tell nothing any more."""
        self._due.clear()
        if self._sending is not None:
            self._sending.cancel()

    async def _send_all(self) -> None:
        while self._due:
            key = next(iter(self._due))
            message, related = self._due.pop(key)
            try:
                await self._transport.send(message, related)
            except TransportError:
                self._due.clear()

    def _sent(self, task: asyncio.Task[None]) -> None:
        self._sending = None
