"""A recording as a server, on wires in memory."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from anywire.record.player import Player
from anywire.record.score import Score, compose
from anywire.testing import ScriptedPeer, scripted_peer
from tests.record.recordings import asks, entries, gives, says, score


@asynccontextmanager
async def played(
    *scores: Score, clients: int = 1, lenient: bool = False, timing: bool = False
) -> AsyncGenerator[tuple[Player, list[ScriptedPeer]]]:
    """A player, and clients of it."""
    told: list[str] = []
    player = Player(scores, told.append, lenient=lenient, timing=timing)
    peers: list[ScriptedPeer] = []
    for _ in range(clients):
        peer, transport = scripted_peer()
        player.accept(transport)
        peers.append(peer)
        await peer.start()
    async with asyncio.timeout(10):
        yield player, peers
        await player.close()
        assert len(told) == player.refused


async def test_a_batch_is_answered_with_a_batch() -> None:
    """As it was."""
    requests, answers = [asks(1, "ping"), asks(2, "tools/list")], [gives(1), gives(2, tools=[])]
    async with played(score(("→", requests), ("←", answers))) as (_, [peer]):
        await peer.send(requests)
        await peer.expect(answers)


async def test_each_client_gets_the_conversation_that_begins_as_it_does() -> None:
    """And when all have been had, they are played again."""
    both = compose(
        entries(
            ("→", asks(1, "tools/call", name="a")),
            ("→", asks(1, "tools/call", name="b"), 2),
            ("←", gives(1, of="b"), 2),
            ("←", gives(1, of="a")),
        )
    )
    async with played(*both, clients=3) as (_, [first, second, third]):
        await first.send(asks(5, "tools/call", name="b"))
        await first.expect(gives(5, of="b"))
        await second.send(asks(5, "tools/call", name="a"))
        await second.expect(gives(5, of="a"))
        await third.send(asks(5, "tools/call", name="b"))
        await third.expect(gives(5, of="b"))


async def test_what_is_wrong_is_answered_and_counted() -> None:
    """What is no message, what is another request."""
    async with played(score(("→", asks(1, "tools/list")), ("←", gives(1)))) as (player, [peer]):
        await peer.send_bytes(b"{nonsense\n")
        assert (await peer.receive())["error"]["code"] == -32700
        await peer.send(asks(1, "prompts/list"))
        assert "the recording has tools/list here" in (await peer.receive())["error"]["message"]
        assert player.refused == 1


async def test_whoever_has_said_all_still_gets_what_is_due() -> None:
    """The end of input is no reason to drop it, however long it took in the recording."""
    said: tuple[Any, ...] = (
        ("→", asks(1, "tools/call", name="a", _meta={"progressToken": 1})),
        ("←", says("notifications/progress", progressToken=1, progress=1)),
        ("←", gives(1, done=True)),
    )
    for lenient in (True, False):
        async with played(score(*said), lenient=lenient, timing=not lenient) as (_, [peer]):
            await peer.send(asks(1, "tools/call", name="a", _meta={"progressToken": 7}))
            peer.end()
            await peer.expect(says("notifications/progress", progressToken=7, progress=1))
            await peer.expect(gives(1, done=True))
