"""What must have arrived before a message is sent: two connections overtake each other.

Everything waits for the answer to `initialize`, which names the session; for the note that the
handshake is done, in reason; a notification for the one before it.  Requests and replies wait for
nothing else: each of them is known by its id.
"""

from __future__ import annotations

import asyncio
from typing import Final

from anywire.transport.http_handshake import INITIALIZED
from anywire.wire.message import Batch, Message, Notification, Request
from anywire.wire.peer import read_cancel

__all__ = ("Order", "Turn")

Task = asyncio.Task[None]


class Turn:
    """What one message waits for."""

    def __init__(self, needed: list[Task], wanted: list[Task], seconds: float) -> None:
        self._needed = needed
        self._wanted = wanted
        self._seconds = seconds

    @property
    def has_come(self) -> bool:
        """Whether nothing need be waited for."""
        return not self._needed and not self._wanted

    async def come(self) -> None:
        """Wait until it is this message's turn."""
        needed = [task for task in self._needed if not task.done()]
        if needed:
            await asyncio.wait(needed)
        wanted = [task for task in self._wanted if not task.done()]
        if wanted:
            await asyncio.wait(wanted, timeout=self._seconds)


_AT_ONCE: Final = Turn([], [], 0.0)


class Order:
    """The messages of one client that others wait for; `seconds` is how long a note may hold the rest."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._opening: Task | None = None
        self._initialized: Task | None = None
        self._last_note: Task | None = None

    def turn(self, message: Message | Batch) -> Turn:
        """Return what a message must wait for that is sent now."""
        if _opens(message):
            return _AT_ONCE
        note = self._last_note if _is_note(message) else None
        needed = [task for task in (self._opening, note) if task is not None and not task.done()]
        initialized = self._initialized
        is_wanted = initialized is not None and not initialized.done() and not _is_cancel(message)
        wanted = [initialized] if initialized is not None and is_wanted else []
        return Turn(needed, wanted, self._seconds) if needed or wanted else _AT_ONCE

    def enter(self, message: Message | Batch, task: Task) -> None:
        """Note that a message is being sent, in that task."""
        if _opens(message):
            self._opening = task
        elif _is_note(message):
            self._last_note = task
            if isinstance(message, Notification) and message.method == INITIALIZED:
                self._initialized = task


def _opens(message: Message | Batch) -> bool:
    return isinstance(message, Request) and message.method == "initialize"


def _is_cancel(message: Message | Batch) -> bool:
    return isinstance(message, Notification) and read_cancel(message) is not None


def _is_note(message: Message | Batch) -> bool:
    return isinstance(message, Notification) and not _is_cancel(message)
