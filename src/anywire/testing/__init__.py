"""Tools for testing what is built on anywire; shipped with it.

`check_transport` proves a transport, `scripted_peer` gives a peer that a test plays, `streams_pair` a
wire with several streams, and `in_virtual_time` makes timeouts take no time.
"""

from anywire.testing.byte_wire import byte_pair
from anywire.testing.clock import VirtualTimeLoop, in_virtual_time, run_in_virtual_time
from anywire.testing.peer import ScriptedPeer, scripted_peer
from anywire.testing.streams import StreamsListener, streams_pair
from anywire.testing.transport_kit import check_transport

__all__ = (
    "ScriptedPeer",
    "StreamsListener",
    "VirtualTimeLoop",
    "byte_pair",
    "check_transport",
    "in_virtual_time",
    "run_in_virtual_time",
    "scripted_peer",
    "streams_pair",
)
