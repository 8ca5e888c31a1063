"""Handshake servers for stateless requests, as few as there can be.

Clients that can be asked the same share a server.  A handshake server does not say on behalf of which call
it asks, so once it has asked something in a call, no two calls at once share it: the second has another
server.  Calls one after the other have the same, with whatever it keeps for its client; and a server that
never asks is the only one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Final

from anywire.bridge.sharing.hub import Declares, Hub
from anywire.bridge.sharing.hub_connection import HubConnection
from anywire.errors import LimitExceeded
from anywire.protocol.types.initialize import ClientCapabilities
from anywire.transport.contract import Transport
from anywire.transport.layer import Layer
from anywire.wire.codec import encode_value
from anywire.wire.limits import DEFAULT_LIMITS, Limits
from anywire.wire.message import Batch, Message, Request

__all__ = ("Lanes",)

_NOTHING: Final = b"{}"


class _Heard(Layer):
    """The way to a server whose requests are noted."""

    def __init__(self, inner: Transport, asked: Callable[[], None]) -> None:
        super().__init__(inner)
        self._asked = asked

    def _tell(self, message: Message | Batch) -> None:
        items = message.items if isinstance(message, Batch) else (message,)
        if any(isinstance(item, Request) and item.method != "ping" for item in items):
            self._asked()
        super()._tell(message)


class _Lane:
    """One server, and the calls in which it may ask something."""

    def __init__(self, abilities: bytes, open_hub: Callable[[Callable[[], None]], Hub]) -> None:
        self.abilities = abilities
        self.asks = False
        self.calls: list[HubConnection] = []
        self.hub = open_hub(self._asked)

    def _asked(self) -> None:
        self.asks = self.asks or self.is_calling

    @property
    def is_calling(self) -> bool:
        """Whether a call is not over."""
        self.calls = [call for call in self.calls if not call.closed]
        return bool(self.calls)


class Lanes:
    """The servers of one bridge.

    `make` makes a transport to a server, not started; `report` gets sentences for whoever runs the bridge.
    There are no more than `Limits.child_sessions`; calls beyond that share one, and what the server asks
    is refused where it may belong to any of several.
    """

    def __init__(
        self,
        make: Callable[[], Transport],
        report: Callable[[str], None],
        limits: Limits = DEFAULT_LIMITS,
        *,
        name: str = "the server",
    ) -> None:
        self._make = make
        self._report = report
        self._limits = limits
        self._name = name
        self._lanes: list[_Lane] = []
        self._closing: set[asyncio.Task[None]] = set()

    def __repr__(self) -> str:
        return f"<Lanes {len(self._lanes)} of {self._name}>"

    def __len__(self) -> int:
        return len(self._lanes)

    def connect(self, capabilities: ClientCapabilities, *, is_call: bool) -> Transport:
        """Return a conversation for one request, not started.

        `capabilities` are those of its client; `is_call` says that the server may ask the client before it
        answers.  Raises `LimitExceeded` when there are too many servers, and none for such a client.
        """
        # What else a client says of itself is no reason to have another server.
        asked = ClientCapabilities(capabilities.roots, capabilities.sampling, capabilities.elicitation)
        abilities = encode_value(asked)
        may_be_asked = is_call and abilities != _NOTHING
        lane = self._choose(abilities, may_be_asked)
        connection = lane.hub.connect(object())
        if may_be_asked:
            lane.calls.append(connection)
        return connection

    def _choose(self, abilities: bytes, may_be_asked: bool) -> _Lane:
        alike = [lane for lane in self._lanes if lane.abilities == abilities]
        apart = may_be_asked and any(lane.asks for lane in alike)
        for lane in alike:
            if not (apart and lane.is_calling):
                return lane
        if len(self._lanes) >= self._limits.child_sessions and not self._end_idle(but=alike):
            if alike:
                return min(alike, key=lambda lane: len(lane.hub))
            text = f"{self._name} runs {len(self._lanes)} times already, and each of them is in use"
            raise LimitExceeded(text)
        self._lanes.append(_Lane(abilities, self._open))
        return self._lanes[-1]

    def _open(self, asked: Callable[[], None]) -> Hub:
        return Hub(
            partial(self._make_heard, asked),
            self._report,
            self._limits,
            declares=Declares.FIRST,
            idle_seconds=self._limits.session_idle_seconds,
            name=self._name,
        )

    def _make_heard(self, asked: Callable[[], None]) -> Transport:
        return _Heard(self._make(), asked)

    def _end_idle(self, but: list[_Lane]) -> bool:
        """End a server that nobody uses, which is none of these; say whether there was one."""
        idle = next((lane for lane in self._lanes if not len(lane.hub) and lane not in but), None)
        if idle is None:
            return False
        self._lanes.remove(idle)
        task = asyncio.get_running_loop().create_task(idle.hub.close())
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)
        return True

    async def close(self) -> None:
        """End all of them."""
        await asyncio.gather(*self._closing, *(lane.hub.close() for lane in self._lanes))
