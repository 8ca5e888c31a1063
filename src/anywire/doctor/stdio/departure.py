"""How a server leaves: a child whose end is brought about step by step, and watched."""

from __future__ import annotations

import asyncio
import os
from enum import Enum
from pathlib import Path
from signal import SIGKILL, SIGTERM

import msgspec

from anywire.transport.process import ChildProcess

__all__ = ("Departure", "Leaving", "WatchedChild")

_LOOK_SECONDS = 0.025


class Leaving(Enum):
    """What it took to end a server."""

    BY_ITSELF = "by itself"
    EOF = "the end of its input"
    TERM = "SIGTERM"
    KILL = "SIGKILL"


class Departure(msgspec.Struct, frozen=True):
    """How a server left: what it took, its exit code, and who stayed behind (their command lines)."""

    leaving: Leaving
    returncode: int | None
    left_behind: tuple[str, ...] = ()


class WatchedChild(ChildProcess):
    """A child whose leaving is watched; `end` must be awaited all the same."""

    async def leave(self, seconds: float, stragglers_seconds: float) -> Departure:
        """End its input, then send TERM, then KILL, and wait so long after each."""
        loop = asyncio.get_running_loop()
        leaving = Leaving.BY_ITSELF if self._exited.is_set() else await self._leave_somehow(seconds)
        if self._exited.is_set():
            await self.wait()
        until = loop.time() + stragglers_seconds
        # What it started may have seen the end of the input with it, and be leaving as well.
        while (left := self._tree.alive()) and loop.time() < until:  # noqa: ASYNC110 nothing tells of their end
            await asyncio.sleep(_LOOK_SECONDS)
        return Departure(leaving, self.returncode, tuple(map(_command_line, left)))

    async def _leave_somehow(self, seconds: float) -> Leaving:
        self._tree.alive()  # remembered, for those whose parent will be gone
        if self._stdin is not None:
            await self._stdin.drain(seconds)
        self._close_stdin()
        if await self._exits(seconds):
            return Leaving.EOF
        self._tree.signal(SIGTERM)
        if await self._exits(seconds):
            return Leaving.TERM
        self._tree.signal(SIGKILL)
        await self._exits(seconds)
        return Leaving.KILL

    async def _exits(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await self._exited.wait()
        except TimeoutError:
            return False
        return True


def _command_line(pid: int) -> str:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return str(pid)
    return os.fsdecode(b" ".join(words)).strip() or str(pid)
