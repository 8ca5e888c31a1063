"""Send again what cannot have been executed, and what may be executed twice; nothing else, ever."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from anywire.errors import ConnectFailed, TransportBroken

__all__ = ("persist",)

T = TypeVar("T")

_TRIES: Final = 8
_FIRST_SECONDS: Final = 0.2
_MOST_SECONDS: Final = 2.0


async def persist(send: Callable[[], Awaitable[T]], *, again: bool, seconds: float) -> T:
    """Call `send` until it succeeds, for about so many seconds.

    `ConnectFailed` says that nothing was sent; after `TransportBroken` nobody knows, so that it is sent
    once more only if `again` allows it.  Any other error ends it, and so does the last of these.
    """
    loop = asyncio.get_running_loop()
    give_up = loop.time() + seconds
    for number in range(_TRIES):
        try:
            return await send()
        except (ConnectFailed, TransportBroken) as error:
            if not (again or isinstance(error, ConnectFailed)) or loop.time() > give_up:
                raise
        pause = min(_FIRST_SECONDS * 2**number, _MOST_SECONDS)
        await asyncio.sleep(pause * (0.5 + random.random() / 2))  # noqa: S311 it spreads load, no more
    return await send()
