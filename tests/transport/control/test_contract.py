"""The transports over a control channel keep the contract of all transports."""

from __future__ import annotations

import contextlib
from collections.abc import Generator

from anywire.testing import check_transport
from anywire.testing.line_wire import line_pair
from anywire.transport.contract import Transport
from anywire.transport.control.sole import control_face, control_target


@contextlib.contextmanager
def pair() -> Generator[tuple[Transport, Transport]]:
    """A client in the host, a server in the program."""
    host, sdk = line_pair()
    yield control_target("calc", host), control_face("calc", sdk)


async def test_a_conversation_over_a_control_channel_keeps_the_contract() -> None:
    """Order, size, bytes, batches, ends: as on any wire."""
    await check_transport(pair)
