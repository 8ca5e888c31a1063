"""The kit proves what keeps the contract, and finds each promise that is broken."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import pytest

from anywire.testing import check_transport, in_virtual_time
from anywire.testing.transport_kit import Factory, Pair
from anywire.transport.memory import memory_pair
from tests.testing.broken import BROKEN
from tests.testing.wires import FACTORIES


@pytest.mark.parametrize("wire", FACTORIES)
@in_virtual_time
async def test_kit_proves_each_wire(wire: str) -> None:
    """Memory, the several streams, and stdio over pipes and sockets keep every promise."""
    await check_transport(FACTORIES[wire])


async def test_kit_takes_a_plain_context_manager() -> None:
    """A factory needs nothing asynchronous, and no clock but the real one."""

    @contextmanager
    def pair() -> Generator[Pair]:
        yield memory_pair()

    await check_transport(pair)


@pytest.mark.parametrize(
    ("factory", "sentence"), [each[1:] for each in BROKEN], ids=[kind for kind, _, _ in BROKEN]
)
@in_virtual_time
async def test_kit_names_the_broken_promise(factory: Factory, sentence: str) -> None:
    """A transport that breaks one promise is found out, and the sentence says which."""
    with pytest.raises(AssertionError, match=sentence):
        await check_transport(factory)
