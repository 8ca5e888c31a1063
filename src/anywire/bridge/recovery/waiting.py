"""What a client says while there is no server that could hear it: kept in order, within bounds."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final

from anywire.transport.contract import Holding
from anywire.wire.limits import Limits
from anywire.wire.message import Message, Request, id_key

__all__ = ("Waiting",)

_NO_SERVER: Final = "a lost server has no successor yet"


class Waiting:
    """Messages that wait for a server, in order; none of them longer than `Limits.request_seconds`.

    While there are many the client is not read any more, where it can be held.  `failed` is told of each
    request that has waited in vain, with the reason.
    """

    def __init__(self, face: object, failed: Callable[[Request, str], None], limits: Limits) -> None:
        self._face = face if isinstance(face, Holding) else None
        self._failed = failed
        self._most = limits.requests_in_flight
        self._most_bytes = limits.write_high_bytes
        self._seconds = limits.request_seconds
        self._messages: deque[tuple[float, Message]] = deque()
        self._bytes = 0
        self._timer: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._messages)

    def put(self, message: Message) -> None:
        """Keep a message; one too many of a client that cannot be held is not kept."""
        if self._face is None and self._is_full():
            if isinstance(message, Request):
                self._failed(message, f"{_NO_SERVER}, and too many messages wait for it")
            return
        self._messages.append((self._deadline(), message))
        self._added(message)

    def put_first(self, requests: list[Request]) -> None:
        """Keep requests that are asked again, before those that were not asked yet."""
        for request in reversed(requests):
            self._messages.appendleft((self._deadline(), request))
            self._added(request)

    def keys(self) -> set[bytes]:
        """Return the keys of the requests that wait."""
        return {id_key(message.id) for _, message in self._messages if isinstance(message, Request)}

    def take(self) -> list[Message]:
        """There is a server, or there will be none: return all that waits."""
        messages = [message for _, message in self._messages]
        self._messages.clear()
        self._bytes = 0
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._face is not None:
            self._face.release_reading(_NO_SERVER)
        return messages

    def _deadline(self) -> float:
        return asyncio.get_running_loop().time() + self._seconds

    def _is_full(self) -> bool:
        return len(self._messages) >= self._most or self._bytes >= self._most_bytes

    def _added(self, message: Message) -> None:
        self._bytes += len(message.frame)
        if self._face is not None and self._is_full():
            self._face.hold_reading(_NO_SERVER)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._seconds, self._expire)

    def _expire(self) -> None:
        """Let go of what has waited too long, and look again when the next one has."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        late = [message for deadline, message in self._messages if deadline <= now]
        self._messages = deque(each for each in self._messages if each[0] > now)
        self._bytes -= sum(len(message.frame) for message in late)
        self._timer = None
        if self._messages:
            soonest = min(deadline for deadline, _ in self._messages)
            self._timer = loop.call_at(soonest, self._expire)
        if self._face is not None and not self._is_full():
            self._face.release_reading(_NO_SERVER)
        for message in late:
            if isinstance(message, Request):
                self._failed(message, f"{_NO_SERVER}, after {self._seconds:g} s")
