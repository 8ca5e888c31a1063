"""What a program sets up for its handlers: before the first conversation, until after the last."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from anywire import Context, Server
from anywire.transport.memory import memory_pair
from tests.interaction.talk import Gate, over_each_wire, talk, text


class Stage:
    """A server with a lifespan that writes down what happens."""

    def __init__(self, *, fails: str = "") -> None:
        self.told: list[str] = []
        self.fails = fails
        self.server = Server("s", lifespan=self.lifespan)
        self.server.tool(self.use)

    @asynccontextmanager
    async def lifespan(self) -> AsyncGenerator[str]:
        self.told.append("up")
        entered_in = asyncio.current_task()
        if self.fails == "entering":
            raise ValueError("no database")
        yield f"value {len(self.told)}"
        assert asyncio.current_task() is entered_in
        self.told.append("down")
        if self.fails == "leaving":
            raise ValueError("no end")

    async def use(self, context: Context) -> str:
        return str(context.lifespan)


@over_each_wire
async def test_handlers_find_what_the_lifespan_gave(wire: str) -> None:
    """It is entered once, before the first request, and left at the end."""
    stage = Stage()
    async with talk(stage.server, wire, "2025-11-25") as peer:
        assert stage.told == ["up"]
        await peer.call(1, "use")
        await peer.expect(text(1, "value 1"))
    assert stage.told == ["up", "down"]


async def test_conversations_share_a_lifespan() -> None:
    """The last one leaves it; the next enters it again."""
    stage = Stage()
    async with talk(stage.server, "memory", "2025-11-25") as peer:
        async with talk(stage.server, "memory", "2025-11-25") as other:
            await other.call(1, "use")
            await other.expect(text(1, "value 1"))
        assert stage.told == ["up"]
        await peer.call(1, "use")
        await peer.expect(text(1, "value 1"))
    async with talk(stage.server, "memory", "2025-11-25") as peer:
        await peer.call(1, "use")
        await peer.expect(text(1, "value 3"))
    assert stage.told == ["up", "down", "up", "down"]


async def test_a_lifespan_that_cannot_begin_ends_the_conversation() -> None:
    """Whoever serves hears why; nothing is left."""
    stage = Stage(fails="entering")
    client, served = memory_pair()
    ended = asyncio.Event()
    client.callbacks.on_end = ended.set
    await client.start()
    with pytest.raises(ValueError, match="no database"):
        await stage.server.serve(served)
    await ended.wait()
    assert served.closed
    assert stage.told == ["up"]
    assert "0 conversations" in repr(stage.server)


async def test_a_lifespan_that_cannot_end_is_heard_of() -> None:
    """By whoever serves."""
    stage = Stage(fails="leaving")
    client, served = memory_pair()
    serving = asyncio.create_task(stage.server.serve(served))
    await client.start()
    await client.close()
    with pytest.raises(ValueError, match="no end"):
        await serving


async def test_a_lifespan_that_fails_in_the_background_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """A listener's conversations have nobody else to tell."""
    stage = Stage(fails="entering")
    client, served = memory_pair()
    ended = asyncio.Event()
    client.callbacks.on_end = ended.set
    stage.server.accept(served)
    await client.start()
    await ended.wait()
    for _ in range(10):  # turns of the loop
        await asyncio.sleep(0)
    assert "the lifespan of s failed" in caplog.text
    assert "no database" in caplog.text


async def test_a_conversation_that_ends_while_it_is_set_up_leaves_nothing() -> None:
    """The set-up goes on to its end and is taken down."""
    gate, told = Gate(), list[str]()

    @asynccontextmanager
    async def lifespan() -> AsyncGenerator[None]:
        await gate.wait()
        yield
        told.append("down")

    server = Server("s", lifespan=lifespan)
    client, served = memory_pair()
    serving = asyncio.create_task(server.serve(served))
    await client.start()
    await gate.reached.wait()
    serving.cancel()
    gate.open()
    await asyncio.wait([serving])
    assert serving.cancelled()
    assert told == ["down"]
    await client.close()
