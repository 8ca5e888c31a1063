"""A bridge that is offered over HTTP: many clients, and a way to the server for each of them.

The clients may be anybody who reaches the address: they are not told what runs behind it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from anywire.bridge.meeting.upstream import Upstream
from anywire.bridge.relay import Relay
from anywire.bridge.report import with_fields
from anywire.errors import AnywireError
from anywire.transport.contract import Transport
from anywire.transport.http_call import HttpCallTransport
from anywire.transport.http_session import HttpServerTransport

__all__ = ("HttpFace",)


class HttpFace:
    """Relays each session, and each request that stands for itself, to the server.

    `accept` is what an HTTP listener calls.
    """

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream
        self._relays: dict[asyncio.Task[None], Relay] = {}
        self._sessions = 0

    def __len__(self) -> int:
        return len(self._relays)

    def accept(self, transport: Transport) -> None:
        """Serve a session in the background."""
        relay, report = self._relay(transport)
        task = asyncio.get_running_loop().create_task(self._run(relay, report))
        self._relays[task] = relay
        task.add_done_callback(self._relays.pop)

    async def until_answered(self) -> None:
        """Wait until no client waits for an answer."""
        while asked := [each for each in self._relays.items() if not each[1].answered.is_set()]:
            task, relay = asked[0]
            answered = asyncio.get_running_loop().create_task(relay.answered.wait())
            try:
                await asyncio.wait((task, answered), return_when=asyncio.FIRST_COMPLETED)
            finally:
                answered.cancel()

    def _relay(self, transport: Transport) -> tuple[Relay, Callable[[str], None]]:
        alone = isinstance(transport, HttpCallTransport)
        make_target = self._upstream.shared_target if alone else self._upstream.target
        report = self._upstream.report if alone else self._report_of_session()
        relay = Relay(
            transport,
            make_target,
            report,
            self._upstream.limits,
            discreet=True,
            # A client whose initialize was refused comes back without this session's id.
            ends_refused=isinstance(transport, HttpServerTransport),
        )
        return relay, report

    async def _run(self, relay: Relay, report: Callable[[str], None]) -> None:
        try:
            await relay.run()
        except AnywireError as error:
            report(str(error))

    def _report_of_session(self) -> Callable[[str], None]:
        """Return what reports of a session: by a number, as its id lets in whoever knows it."""
        self._sessions += 1
        number = self._sessions
        return lambda sentence: self._upstream.report(with_fields(sentence, session=number))

    async def close(self) -> None:
        """End all relays; the servers are their owner's."""
        for task in list(self._relays):
            task.cancel()
        if self._relays:
            await asyncio.wait(self._relays)
