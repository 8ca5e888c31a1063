"""Lets things through unless somebody holds them back."""

from __future__ import annotations

import asyncio

__all__ = ("Gate",)


class Gate:
    """Open while nobody has a reason to hold it; each reason counts once."""

    def __init__(self) -> None:
        self._reasons: set[str] = set()
        self._open = asyncio.Event()
        self._open.set()

    @property
    def held(self) -> bool:
        """Whether somebody has a reason."""
        return bool(self._reasons)

    def hold(self, reason: str) -> None:
        """Hold for one of several reasons."""
        self._reasons.add(reason)
        self._open.clear()

    def release(self, reason: str) -> None:
        """That reason holds no longer."""
        self._reasons.discard(reason)
        if not self._reasons:
            self._open.set()

    def break_down(self) -> None:
        """Let everything through for good."""
        self._reasons.clear()
        self._open.set()

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
            await self._open.wait()
