"""Replies gather while a chunk is handled, within bounds of size and time; the rest goes at once."""

from __future__ import annotations

import asyncio

from anywire.testing import VirtualTimeLoop, in_virtual_time
from anywire.transport.outbox import Outbox
from anywire.wire.limits import DEFAULT_LIMITS


def outbox(**limits: float) -> tuple[Outbox, list[bytes]]:
    written: list[bytes] = []
    return Outbox(written.append, DEFAULT_LIMITS.replace(**limits)), written


def advance(seconds: float) -> None:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualTimeLoop)
    loop.advance(seconds)


async def test_replies_of_one_chunk_are_one_write() -> None:
    """Written when the chunk has been handled, in order."""
    box, written = outbox()
    box.hold()
    for frame in (b"a", b"b", b"c"):
        box.put(frame, urgent=False)
    assert written == []
    box.release()

    assert written == [b"abc"]


async def test_a_chunk_without_replies_writes_nothing() -> None:
    """Not even an empty write."""
    box, written = outbox()
    box.hold()
    box.release()
    box.flush()

    assert written == []


async def test_what_is_urgent_goes_at_once_and_takes_the_rest_along() -> None:
    """Notifications and requests do not wait, and nothing overtakes."""
    box, written = outbox()
    box.hold()
    box.put(b"reply", urgent=False)
    box.put(b"progress", urgent=True)
    assert written == [b"replyprogress"]
    box.put(b"later", urgent=False)
    box.release()

    assert written == [b"replyprogress", b"later"]


async def test_replies_beside_a_chunk_are_written_in_the_next_turn() -> None:
    """Handlers that end in one turn of the loop share a write."""
    box, written = outbox()
    box.put(b"a", urgent=False)
    box.put(b"b", urgent=False)
    assert written == []
    await asyncio.sleep(0)
    assert written == [b"ab"]
    box.put(b"c", urgent=False)
    await asyncio.sleep(0)

    assert written == [b"ab", b"c"]


async def test_sixty_four_kibibytes_are_enough_to_write() -> None:
    """What has gathered by then goes out though the chunk is not done."""
    box, written = outbox()
    assert DEFAULT_LIMITS.gather_bytes == 64 * 1024
    box.hold()
    box.put(b"x" * (64 * 1024 - 1), urgent=False)
    assert written == []
    box.put(b"y", urgent=False)
    assert [len(data) for data in written] == [64 * 1024]
    box.put(b"z", urgent=False)
    assert len(written) == 1
    box.release()

    assert written[1:] == [b"z"]


@in_virtual_time
async def test_five_milliseconds_are_enough_to_write() -> None:
    """The oldest reply has waited so long: out with it, and the clock starts anew."""
    box, written = outbox()
    box.hold()
    box.put(b"a", urgent=False)
    advance(0.004)
    box.put(b"b", urgent=False)
    assert written == []
    advance(0.001)
    box.put(b"c", urgent=False)
    assert written == [b"abc"]
    box.put(b"d", urgent=False)
    advance(0.004)
    box.put(b"e", urgent=False)
    assert written == [b"abc"]
    box.release()

    assert written == [b"abc", b"de"]


async def test_a_flush_before_the_turn_leaves_nothing_for_it() -> None:
    """The turn that was asked for finds nothing to write."""
    box, written = outbox()
    box.put(b"a", urgent=False)
    box.flush()
    await asyncio.sleep(0)

    assert written == [b"a"]
