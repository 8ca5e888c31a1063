"""Lets things through unless somebody holds them back."""

from __future__ import annotations

import asyncio

__all__ = ("Gate",)


class Gate:
    """Open while nobody has a reason to hold it; each reason counts once."""

    __slots__ = ("_open", "_reasons", "held")

    def __init__(self) -> None:
        #: Whether somebody has a reason.
        self.held = False
        # Made when somebody holds, and when somebody waits: of most gates nobody does.
        self._reasons: set[str] | None = None
        self._open: asyncio.Event | None = None

    def hold(self, reason: str) -> None:
        """Hold for one of several reasons."""
        reasons = self._reasons = set() if self._reasons is None else self._reasons
        reasons.add(reason)
        self.held = True

    def release(self, reason: str) -> None:
        """That reason holds no longer."""
        if self._reasons is not None:
            self._reasons.discard(reason)
        self._let_through()

    def break_down(self) -> None:
        """Let everything through for good."""
        self._reasons = None
        self._let_through()

    def _let_through(self) -> None:
        self.held = bool(self._reasons)
        if not self.held and self._open is not None:
            self._open.set()
            self._open = None

    async def passed_within(self, seconds: float) -> bool:
        """Wait while it is held, for so many seconds; say whether it is open."""
        if self._reasons:
            try:
                async with asyncio.timeout(seconds):
                    await self.passed()
            except TimeoutError:
                return False
        return True

    async def passed(self) -> None:
        """Wait while it is held."""
        while self._reasons:
            self._open = self._open or asyncio.Event()
            await self._open.wait()
