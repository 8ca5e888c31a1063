"""How many handshake servers stateless requests take, and who shares one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from anywire.bridge.sharing.lanes import Lanes
from anywire.errors import LimitExceeded
from anywire.protocol.types.initialize import (
    ClientCapabilities,
    ElicitationCapability,
    RootsCapability,
    SamplingCapability,
)
from anywire.testing import ScriptedPeer
from anywire.transport.contract import Transport
from anywire.transport.memory import memory_pair
from anywire.wire.limits import DEFAULT_LIMITS
from anywire.wire.message import Request

NOTHING = ClientCapabilities()
FORMS = ClientCapabilities(elicitation=ElicitationCapability())
ROOTS = ClientCapabilities(roots=RootsCapability())
MODEL = ClientCapabilities(sampling=SamplingCapability())


class Played:
    """The servers of a bridge, which a test plays where they say anything."""

    def __init__(self, most: int) -> None:
        self.lanes = Lanes(self._make, lambda sentence: None, DEFAULT_LIMITS.replace(child_sessions=most))
        self._peers: asyncio.Queue[ScriptedPeer] = asyncio.Queue()

    def _make(self) -> Transport:
        client, server = memory_pair()
        self._peers.put_nowait(ScriptedPeer(server))
        return client

    def __len__(self) -> int:
        return len(self.lanes)

    async def begin(self, capabilities: ClientCapabilities = FORMS, *, is_call: bool = True) -> Transport:
        """A request is under way."""
        connection = self.lanes.connect(capabilities, is_call=is_call)
        await connection.start()
        return connection

    async def ask(self) -> None:
        """A call begins, its server asks something, and the call ends."""
        call = await self.begin()
        call.post(Request(b"1", "initialize", b"{}"))
        async with asyncio.timeout(10):
            peer = await self._peers.get()
        await peer.start()
        assert (await peer.receive())["method"] == "initialize"
        await peer.ask("q", "elicitation/create", {})
        assert "error" in await peer.receive()  # nobody has shaken hands yet
        await call.close()


@asynccontextmanager
async def servers(most: int = 10, *, ask: bool = False) -> AsyncGenerator[Played]:
    """The servers of a bridge; with `ask` the first of them has asked something."""
    played = Played(most)
    if ask:
        await played.ask()
    yield played
    await played.lanes.close()


async def test_two_calls_at_once_have_a_server_each_where_it_asks() -> None:
    """It does not say on behalf of which call."""
    async with servers(ask=True) as played:
        for number in (1, 2, 3):
            await played.begin()
            assert len(played) == number


async def test_a_server_that_never_asks_is_the_only_one() -> None:
    """Whatever it keeps for its client is there for each call."""
    async with servers() as played:
        for _ in range(3):
            await played.begin()
        assert len(played) == 1


async def test_a_call_that_is_over_leaves_its_server_to_the_next() -> None:
    """The first that is free, so that one call after the other has the same."""
    async with servers(ask=True) as played:
        first, _ = await played.begin(), await played.begin()
        for _ in range(3):
            await first.close()
            first = await played.begin()
        assert len(played) == 2


@pytest.mark.parametrize("capabilities", [NOTHING, ClientCapabilities(extensions={"x/y": {}})])
async def test_who_can_be_asked_nothing_shares_a_server(capabilities: ClientCapabilities) -> None:
    """Nothing can be asked of the wrong one."""
    async with servers(ask=True) as played:
        for _ in range(3):
            await played.begin(capabilities)
        assert len(played) == 2


async def test_what_is_no_call_shares_the_first_server() -> None:
    """So that a client which listens hears of what its calls change."""
    async with servers(ask=True) as played:
        for is_call in (False, True, False):
            await played.begin(is_call=is_call)
        assert len(played) == 1


async def test_a_server_is_told_what_its_clients_can_be_asked() -> None:
    """Others have another server."""
    async with servers() as played:
        for capabilities in (FORMS, ROOTS, NOTHING, FORMS, ROOTS, NOTHING):
            await played.begin(capabilities, is_call=False)
        assert len(played) == 3


async def test_calls_beyond_the_limit_share_a_server() -> None:
    """The one that has the least to do."""
    async with servers(most=2, ask=True) as played:
        for _ in range(5):
            await played.begin()
        assert len(played) == 2


async def test_a_server_that_nobody_uses_makes_room_for_another() -> None:
    """And where all are in use, one more client is refused with a sentence."""
    async with servers(most=2) as played:
        await (await played.begin(FORMS)).close()
        await played.begin(ROOTS)
        await played.begin(MODEL)
        assert len(played) == 2
        with pytest.raises(
            LimitExceeded, match="the server runs 2 times already, and each of them is in use"
        ):
            played.lanes.connect(FORMS, is_call=False)
