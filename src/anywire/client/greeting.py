"""How a conversation opens: which era the server is of, and then as that era has it.

Specification: MCP `basic/lifecycle#initialization`, until 2025-11-25; `basic/versioning`, 2026-07-28.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable
from typing import Final

import msgspec

from anywire.client.discovery import Discovered, EraChoice, Silent, discover, named_revision
from anywire.client.verdicts import Verdicts
from anywire.errors import ConnectFailed, PeerError, RemoteProtocolError, TransportBroken
from anywire.protocol.legacy import ClientConversation
from anywire.protocol.modern import LATEST_STATELESS_REVISION
from anywire.session.caller import Caller
from anywire.transport.contract import Transport
from anywire.wire.limits import Limits
from anywire.wire.message import Notification

__all__ = ("NOWHERE", "Greeting", "Place")

_verdicts = Verdicts()


class Place(msgspec.Struct, frozen=True):
    """Where a server is.

    `key` is what it is remembered by, None: by nothing; `again` starts it once more, `explain` says why
    it may be silent.
    """

    key: Hashable = None
    again: Callable[[], Transport] | None = None
    explain: Callable[[Transport], str] | None = None


#: A server that is known by nothing but its wire.
NOWHERE: Final = Place()


class Greeting:
    """Greets one server, once."""

    def __init__(
        self,
        name: str,
        transport: Transport,
        caller: Caller,
        conversation: ClientConversation,
        *,
        era: EraChoice,
        key: Hashable,
        limits: Limits,
    ) -> None:
        self._name = name
        self._transport = transport
        self._caller = caller
        self._conversation = conversation
        self._era = era
        self._key = key
        self._limits = limits
        #: The server has been asked for its era, and has not answered yet.
        self.asking = False

    async def greet(self) -> Discovered | None:
        """Return what a server of the stateless era says of itself; None: it has shaken hands.

        Raises `ConnectFailed` for a server that does not speak what was asked for, and what its refusal or
        the wire raise.
        """
        known = _verdicts.shakes_hands(self._key, _now()) or getattr(self._transport, "shakes_hands", False)
        if self._era == "legacy" or (self._era == "auto" and known):
            return await self.shake_hands(asked=False)
        # Over HTTP every request is answered; a pipe may lead to somebody who ignores what he does not know.
        over_http = hasattr(self._transport, "mirrors")
        patient = self._era == "modern" or over_http
        try:
            found = await self._discover(
                self._limits.connect_seconds if patient else self._limits.era_seconds
            )
        except TransportBroken as error:
            if self._era == "modern" or not over_http:
                raise
            found = Silent(str(error), late=True)  # that connection is lost, and a handshake has its own
        if isinstance(found, Discovered):
            return found
        if self._era == "modern":
            raise ConnectFailed(f"{self._name} does not speak {LATEST_STATELESS_REVISION}: {found.reason}")
        return await self.shake_hands(asked=not found.late)

    async def shake_hands(self, *, asked: bool) -> Discovered | None:
        """Shake hands; a server that turns out to be of the other era is asked as such.

        `asked` says that it was asked for its era and had the time to answer, so that this is a verdict.
        """
        try:
            await self._initialize()
        except PeerError as error:
            _verdicts.forget(self._key)
            spoken = named_revision(error)
            if spoken is None:
                raise
            if self._era == "legacy":
                message = f"{self._name} speaks {spoken} and shakes no hands: {error}"
                raise ConnectFailed(message) from error
            found = await self._discover(self._limits.connect_seconds)
            if isinstance(found, Discovered):
                return found
            raise
        if asked:
            _verdicts.learn(self._key, _now())
        return None

    async def _discover(self, seconds: float) -> Discovered | Silent:
        self.asking = True
        found = await discover(self._caller.request, self._conversation, seconds)
        self.asking = False
        return found

    async def _initialize(self) -> None:
        params = self._conversation.initialize_params()
        seconds = self._limits.connect_seconds
        result = await self._caller.request("initialize", params, timeout=seconds)
        try:
            self._conversation.initialized(result)
        except (msgspec.MsgspecError, ValueError) as error:
            message = f"{self._name}: the answer to initialize cannot be used: {error}"
            raise RemoteProtocolError(message) from error
        await self._transport.send(Notification("notifications/initialized"))


def _now() -> float:
    return asyncio.get_running_loop().time()
