"""A bridge that is offered over HTTP: each session of a client gets a server of its own.

The clients may be anybody who reaches the address: they are not told what runs behind it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from anywire.bridge.relay import Relay
from anywire.errors import AnywireError
from anywire.transport.contract import Transport
from anywire.transport.http_session import HttpServerTransport
from anywire.wire.limits import DEFAULT_LIMITS, Limits

__all__ = ("HttpFace",)


class HttpFace:
    """Relays each session that it is given to a server of its own, which ends with the session.

    `accept` is what an HTTP listener calls; `make_target` makes a transport to the server, and another
    where one is lost in the midst of a session.
    """

    def __init__(
        self,
        make_target: Callable[[], Transport],
        report: Callable[[str], None],
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        self._make_target = make_target
        self._report = report
        self._limits = limits
        self._relays: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._relays)

    def accept(self, transport: Transport) -> None:
        """Serve a session in the background."""
        task = asyncio.get_running_loop().create_task(self._relay(transport))
        self._relays.add(task)
        task.add_done_callback(self._relays.discard)

    async def _relay(self, transport: Transport) -> None:
        try:
            # A client whose initialize was refused comes back without this session's id.
            ends_refused = isinstance(transport, HttpServerTransport)
            relay = Relay(
                transport,
                self._make_target,
                self._report,
                self._limits,
                discreet=True,
                ends_refused=ends_refused,
            )
            await relay.run()
        except AnywireError as error:
            self._report(str(error))

    async def close(self) -> None:
        """End all relays and their servers."""
        for task in list(self._relays):
            task.cancel()
        if self._relays:
            await asyncio.wait(self._relays)
