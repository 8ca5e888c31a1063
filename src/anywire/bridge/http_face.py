"""A bridge that is offered over HTTP: many clients, and a way to the server for each of them.

The clients may be anybody who reaches the address: they are not told what runs behind it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec

from anywire.bridge.discretion import plain_sentence
from anywire.bridge.relay import Relay
from anywire.bridge.upstream import Upstream
from anywire.errors import AnywireError, SpawnFailed
from anywire.transport.contract import Transport
from anywire.transport.http_call import HttpCallTransport
from anywire.transport.http_session import HttpServerTransport
from anywire.wire.limits import DEFAULT_LIMITS, Limits
from anywire.wire.message import Batch, JsonRpcErrorCode, Message, Request, create_error_response

__all__ = ("HttpFace",)


class HttpFace:
    """Relays each session, and each request that stands for itself, to the server.

    `accept` is what an HTTP listener calls.
    """

    def __init__(
        self,
        upstream: Upstream,
        report: Callable[[str], None],
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        self._upstream = upstream
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
        alone = isinstance(transport, HttpCallTransport)
        make_target = self._upstream.shared_target if alone else self._upstream.target
        try:
            target = make_target()
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
        """End all relays, and all servers."""
        for task in list(self._relays):
            task.cancel()
        if self._relays:
            await asyncio.wait(self._relays)
        await self._upstream.close()


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
