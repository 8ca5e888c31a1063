"""The kit proves what keeps the contract."""

import pytest

from anywire.testing import check_transport
from tests.testing.wires import FACTORIES


@pytest.mark.parametrize("wire", FACTORIES)
async def test_kit_proves_each_wire(wire: str) -> None:
    """Memory, the several streams, and stdio over pipes and sockets keep every promise."""
    await check_transport(FACTORIES[wire])
