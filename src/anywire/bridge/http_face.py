"""A bridge that is offered over HTTP: each session of a client gets a server of its own.

The clients may be anybody who reaches the address: they are not told what runs behind it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec

from anywire.bridge.discretion import plain_sentence
from anywire.bridge.relay import Relay
from anywire.errors import AnywireError, SpawnFailed
from anywire.transport.contract import Transport
from anywire.transport.http_session import HttpServerTransport
from anywire.wire.limits import DEFAULT_LIMITS, Limits
from anywire.wire.message import Batch, JsonRpcErrorCode, Message, Request, create_error_response

__all__ = ("HttpFace",)


class HttpFace:
    """Relays each session that it is given to a new target, which ends with the session.

    `accept` is what an HTTP listener calls; `make_target` makes a transport to the server.
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
            target = self._make_target()
        except Exception as error:  # noqa: BLE001 whoever waits must be told, whatever it was
            self._report(f"no server for a session: {error}")
            await _refuse(transport, plain_sentence(SpawnFailed()))
            return
        try:
            # A client whose initialize was refused comes back without this session's id.
            ends_refused = isinstance(transport, HttpServerTransport)
            relay = Relay(
                transport, target, self._report, self._limits, discreet=True, ends_refused=ends_refused
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


async def _refuse(transport: Transport, reason: str) -> None:
    """Answer what a session has asked already, and end it."""

    def answer(message: Message | Batch) -> None:
        for item in message.items if isinstance(message, Batch) else (message,):
            if isinstance(item, Request):
                error = create_error_response(None, JsonRpcErrorCode.InternalError, reason)
                transport.post(msgspec.structs.replace(error, id=item.id))

    transport.callbacks.on_message = answer
    await transport.start()
    await transport.close()
