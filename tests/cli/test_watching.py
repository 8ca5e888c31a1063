"""A file that is watched."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from anywire.cli.watching import look_at, watch_file

LOOK = 0.005


async def test_each_change_of_the_file_is_told_once(tmp_path: Path) -> None:
    """Written in place, replaced, gone, there again."""
    path, changes = tmp_path / "servers.json", asyncio.Queue[None]()
    path.write_text("1", "utf-8")
    before = look_at(str(path))
    watching = asyncio.create_task(watch_file(str(path), before, lambda: changes.put_nowait(None), LOOK))

    async def told() -> None:
        async with asyncio.timeout(10):
            await changes.get()

    path.write_text("22", "utf-8")
    await told()
    other = tmp_path / "other"
    other.write_text("33", "utf-8")
    other.replace(path)
    await told()
    path.unlink()
    await told()
    path.write_text("4", "utf-8")
    await told()
    watching.cancel()

    assert changes.empty()
    with pytest.raises(asyncio.CancelledError):
        await watching


async def test_what_changed_before_the_first_look_is_told(tmp_path: Path) -> None:
    """The file was read, and changed before anybody watched it."""
    path, changed = tmp_path / "servers.json", asyncio.Event()
    path.write_text("1", "utf-8")
    before = look_at(str(path))
    path.write_text("22", "utf-8")
    watching = asyncio.create_task(watch_file(str(path), before, changed.set, LOOK))
    async with asyncio.timeout(10):
        await changed.wait()
    watching.cancel()
