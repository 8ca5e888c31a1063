"""How many handshake servers stateless requests take, and who shares one."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from anywire.bridge.lanes import Lanes
from anywire.errors import LimitExceeded
from anywire.protocol.types.initialize import (
    ClientCapabilities,
    ElicitationCapability,
    RootsCapability,
    SamplingCapability,
)
from anywire.transport.contract import Transport
from anywire.transport.memory import memory_pair
from anywire.wire.limits import DEFAULT_LIMITS

NOTHING = ClientCapabilities()
FORMS = ClientCapabilities(elicitation=ElicitationCapability())
ROOTS = ClientCapabilities(roots=RootsCapability())
MODEL = ClientCapabilities(sampling=SamplingCapability())


@asynccontextmanager
async def lanes(most: int = 10) -> AsyncGenerator[Lanes]:
    """The servers of a bridge, none of which is ever spoken to."""
    made = Lanes(lambda: memory_pair()[0], lambda sentence: None, DEFAULT_LIMITS.replace(child_sessions=most))
    yield made
    await made.close()


async def begun(
    servers: Lanes, capabilities: ClientCapabilities = FORMS, *, is_call: bool = True
) -> Transport:
    """A request that is under way."""
    connection = servers.connect(capabilities, is_call=is_call)
    await connection.start()
    return connection


async def test_two_calls_at_once_have_a_server_each() -> None:
    """A server does not say on behalf of which call it asks."""
    async with lanes() as servers:
        for number in (1, 2, 3):
            await begun(servers)
            assert len(servers) == number


async def test_a_call_that_is_over_leaves_its_server_to_the_next() -> None:
    """The first that is free, so that one call after the other has the same."""
    async with lanes() as servers:
        first, _ = await begun(servers), await begun(servers)
        for _ in range(3):
            await first.close()
            first = await begun(servers)
        assert len(servers) == 2


@pytest.mark.parametrize("capabilities", [NOTHING, ClientCapabilities(extensions={"x/y": {}})])
async def test_who_can_be_asked_nothing_shares_a_server(capabilities: ClientCapabilities) -> None:
    """Nothing can be asked of the wrong one."""
    async with lanes() as servers:
        for _ in range(3):
            await begun(servers, capabilities)
        assert len(servers) == 1


async def test_what_is_no_call_shares_the_first_server() -> None:
    """So that a client which listens hears of what its calls change."""
    async with lanes() as servers:
        for is_call in (False, True, False):
            await begun(servers, is_call=is_call)
        assert len(servers) == 1


async def test_a_server_is_told_what_its_clients_can_be_asked() -> None:
    """Others have another server."""
    async with lanes() as servers:
        for capabilities in (FORMS, ROOTS, NOTHING, FORMS, ROOTS, NOTHING):
            await begun(servers, capabilities, is_call=False)
        assert len(servers) == 3


async def test_calls_beyond_the_limit_share_a_server() -> None:
    """The one that has the least to do."""
    async with lanes(most=2) as servers:
        for _ in range(5):
            await begun(servers)
        assert len(servers) == 2


async def test_a_server_that_nobody_uses_makes_room_for_another() -> None:
    """And where all are in use, one more client is refused with a sentence."""
    async with lanes(most=2) as servers:
        await (await begun(servers, FORMS)).close()
        await begun(servers, ROOTS)
        await begun(servers, MODEL)
        assert len(servers) == 2
        with pytest.raises(
            LimitExceeded, match="the server runs 2 times already, and each of them is in use"
        ):
            servers.connect(FORMS, is_call=False)
