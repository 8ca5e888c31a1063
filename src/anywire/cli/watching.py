"""Notice that a file has changed, for as long as somebody wants to know."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from typing import Final, TypeAlias

__all__ = ("WATCH_SECONDS", "Look", "look_at", "watch_file")

#: How often a file is looked at, in seconds: a call of the system, far less than a person waits.
WATCH_SECONDS: Final = 0.5

#: What shows that a file is another one than before; None: there is none.
Look: TypeAlias = tuple[int, ...] | None


def look_at(path: str) -> Look:
    """Look at a file, through links to it."""
    try:
        stat = os.stat(path)  # noqa: PTH116 asked for each second
    except OSError:
        return None
    return stat.st_dev, stat.st_ino, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_size


async def watch_file(
    path: str, before: Look, changed: Callable[[], None], seconds: float = WATCH_SECONDS
) -> None:
    """Call `changed` each time the file has become another one than `before`, until cancelled.

    A file that is being written changes from look to look; it is waited for until it stays as it is.
    """
    known, last = before, before
    while True:
        await asyncio.sleep(seconds)
        seen = look_at(path)
        if seen != known and seen == last:
            known = seen
            changed()
        last = seen
