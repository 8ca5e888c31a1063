"""Two control channels in one process, with bytes in between and no descriptors."""

from __future__ import annotations

from anywire.testing.byte_wire import ByteTransport
from anywire.transport.control.channel import Lines
from anywire.wire.framing import Framing
from anywire.wire.limits import DEFAULT_LIMITS, Limits

__all__ = ("LineChannel", "line_pair")


class LineChannel(Lines, ByteTransport):
    """One end of a pair; made by `line_pair`.  `write` puts bytes on it as they are."""


def line_pair(limits: Limits = DEFAULT_LIMITS) -> tuple[LineChannel, LineChannel]:
    """Return two channels that are each other's other side: the host's and the SDK's."""
    host = LineChannel("channel (host)", Framing.NEWLINE, limits)
    sdk = LineChannel("channel (SDK)", Framing.NEWLINE, limits, serving=True)
    host.other, sdk.other = sdk, host
    return host, sdk
