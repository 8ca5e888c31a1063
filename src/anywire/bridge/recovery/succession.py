"""Who takes the place of a lost server: another is made, started and told what its client has set.

One that crashed has a successor at once, one that left in order while nobody needed it has one when it is
needed.  There is at most one of them at any time: the lost one is ended before the next is made.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

from anywire.bridge.recovery.remembered import Remembered
from anywire.bridge.recovery.respawn import Respawn, left_in_order
from anywire.errors import (
    AnywireError,
    RemoteProtocolError,
    SpawnFailed,
    TransportClosed,
)
from anywire.transport.contract import Transport
from anywire.transport.deadline import bounded
from anywire.wire.limits import Limits
from anywire.wire.message import ErrorResponse, Response

__all__ = ("Predecessor", "Succession")


class _Different(RemoteProtocolError):
    """The new server is another one than the client knows."""


class Predecessor(Protocol):
    """Whoever has had a server and wants another."""

    def connect(self, target: Transport) -> None:
        """Listen to a server that has not been started."""
        ...

    def carry_on(self, target: Transport) -> None:
        """Go on with a server that knows of the client's handshake."""
        ...

    def end(self, error: AnywireError) -> None:
        """There will be no server any more."""
        ...


class Succession:
    """Makes the server behind a relay, and another when it is lost.

    `chance` gives numbers between 0 and 1.
    """

    def __init__(
        self,
        make_target: Callable[[], Transport],
        relay: Predecessor,
        remembered: Remembered,
        report: Callable[[str], None],
        limits: Limits,
        chance: Callable[[], float],
    ) -> None:
        self._make_target = make_target
        self._relay = relay
        self._remembered = remembered
        self._report = report
        self._limits = limits
        self._chance = chance
        self._respawn = Respawn(limits)
        self._wanted = asyncio.Event()
        self._opening: asyncio.Future[Response] | None = None
        self._lost: AnywireError | None = None
        self._task: asyncio.Task[None] | None = None

    async def first(self) -> Transport:
        """Make the first server and start it.  Raises `ConnectFailed`."""
        target = self._make()
        await target.start()
        self._respawn.opened(asyncio.get_running_loop().time())
        return target

    def begin(self, lost: Transport, error: AnywireError, *, served: bool, needed: bool) -> None:
        """A server is lost: `served` it anybody since it took over, and is it `needed` now?"""
        calm = not needed and left_in_order(error)
        self._respawn.lost(asyncio.get_running_loop().time(), served=served, calm=calm)
        self._report(f"{error}; another takes over{' when it is needed' if calm else ''}")
        self._wanted.clear()
        self._task = asyncio.get_running_loop().create_task(self._succeed(lost, error, calm))
        self._task.add_done_callback(self._ended)

    def want(self) -> None:
        """Somebody needs a server."""
        self._wanted.set()

    def settle(self, key: bytes, reply: Response | ErrorResponse | AnywireError) -> None:
        """A request of ours has its answer, or cannot have one."""
        method = self._remembered.ours.pop(key)
        if isinstance(reply, ErrorResponse):
            reply = RemoteProtocolError(f"the new server refused {method}: {reply.detail().message}")
        if isinstance(reply, Response):
            if self._opening is not None and not self._opening.done():
                self._opening.set_result(reply)
        elif method != "initialize" or not self.failed(reply):
            self._report(f"{method} could not be said again: {reply}")

    def failed(self, error: AnywireError | None) -> bool:
        """Something ended the server; say whether it was one that was about to take over."""
        if self._opening is None:
            return False
        self._lost = error or TransportClosed("the new server has ended")
        if not self._opening.done():
            self._opening.set_exception(self._lost)
        return True

    async def stop(self) -> None:
        """Look for no other server any more, and end the one that was about to take over.

        Raises what went wrong in this program, if anything did.
        """
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
            if not self._task.cancelled():
                self._task.result()

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and task.exception() is not None:
            self._relay.end(AnywireError(f"no other server could be made: {task.exception()!r}"))

    async def _succeed(self, lost: Transport, error: AnywireError, calm: bool) -> None:
        await lost.close()
        if calm:
            await self._wanted.wait()
        while (delay := self._respawn.delay(self._chance())) is not None:
            await asyncio.sleep(delay)
            try:
                target = await self._open()
            except _Different as different:
                self._relay.end(different)
                return
            except AnywireError as failure:
                error = failure
                self._report(f"{failure}; it was to take over from a lost one")
                self._respawn.lost(asyncio.get_running_loop().time(), served=False)
                continue
            self._respawn.opened(asyncio.get_running_loop().time())
            self._relay.carry_on(target)
            return
        self._report(f"given up: {self._respawn.in_vain} servers in a row brought nothing")
        self._relay.end(error)

    async def _open(self) -> Transport:
        """Make another server and shake hands with it as the client did, if it did."""
        target = self._make()
        self._lost = None
        opening = self._opening = asyncio.get_running_loop().create_future()
        try:
            async with bounded(self._limits.request_seconds, "the new server did not answer initialize"):
                await target.start()
                request = self._remembered.handshake()
                if request is not None:
                    target.post(request)
                    self._compare(await opening)
            if self._lost is not None:
                raise self._lost  # since it answered, or while it started
        except BaseException:
            await target.close()
            raise
        finally:
            self._opening = None
            if opening.done() and not opening.cancelled():
                opening.exception()  # nobody else may look at it
        return target

    def _compare(self, reply: Response) -> None:
        difference = self._remembered.differs(reply)
        if difference:
            raise _Different(f"the new server cannot take over from the lost one: {difference}")

    def _make(self) -> Transport:
        try:
            target = self._make_target()
        except Exception as error:
            raise SpawnFailed(f"no server could be made: {error}") from error
        self._relay.connect(target)
        return target
