"""A server whose one tool takes a tenth of a second: `anywire serve napping_server.py:legacy`."""

from __future__ import annotations

import asyncio

from anywire import Server

legacy = Server("napping", eras=["legacy"])


@legacy.tool
async def nap(baggage: str) -> int:
    """Sleep, then say how much there was to carry."""
    await asyncio.sleep(0.1)
    return len(baggage)
