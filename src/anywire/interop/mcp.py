"""The official Python SDK (`mcp`, 1.x and 2.x) over anywire's transports, and anywire over the SDK's.

An SDK session reads and writes a pair of streams and does not ask what is behind them.
`anywire_streams` puts any anywire transport there, for the SDK's client sessions and servers and for
what is built on them; `serve` does that for a server in one call.  The other way round,
`from_streams` and `from_transport` make an anywire transport of the SDK's streams, for a `Client`, a
`Server` or a bridge.

The package `mcp` is no dependency: it is imported by the first call, which raises `ConfigError` where
it is missing.  Everything here runs on asyncio.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol, TypeAlias, cast

from anywire.errors import ConfigError
from anywire.interop.sdk_models import Models
from anywire.interop.sdk_streams import SdkStreams
from anywire.interop.sdk_transport import SdkTransport
from anywire.transport.contract import Transport
from anywire.wire.limits import DEFAULT_LIMITS, Limits

__all__ = ("Streams", "anywire_streams", "from_streams", "from_transport", "serve")

#: What the SDK's sessions take: the stream that is read and the one that is written.  The SDK's own
#: types cannot be named without importing it, and differ between its versions.
Streams: TypeAlias = tuple[Any, Any]


class _Runnable(Protocol):
    """The server of an SDK that all its other servers are built on."""

    def create_initialization_options(self) -> object: ...

    async def run(self, read: object, write: object, options: object, /) -> None: ...


@contextlib.asynccontextmanager
async def anywire_streams(transport: Transport, limits: Limits = DEFAULT_LIMITS) -> AsyncGenerator[Streams]:
    """Start a transport and give its two ends to a session of the SDK: `ClientSession`, `Server.run`.

        async with anywire_streams(transport) as (read, write), ClientSession(read, write) as session:
            await session.initialize()

    What comes in is read by the SDK's own models.  What is no message reaches the reader as an
    exception; a reply that cannot be used, a request that was sent in vain and the end of the wire
    settle the requests they concern, with the reason.  The transport is closed when the block is left,
    also where that is by cancellation.

    Raises `ConfigError` without the package `mcp`, and what `start()` of the transport raises.
    """
    models = Models.load()
    streams = SdkStreams(transport, models, limits)
    try:
        await transport.start()
        yield streams.reading, streams.writing
    finally:
        streams.end()
        with models.shield():  # bounded, and a child must not stay behind
            await transport.close()


async def serve(server: object, transport: Transport, limits: Limits = DEFAULT_LIMITS) -> None:
    """Serve one conversation with a server of the SDK or of fastmcp, until the client leaves.

    `server` is a low-level `Server`, the SDK's `FastMCP` (1.x) or `MCPServer` (2.x), or the `FastMCP` of
    the package fastmcp.  Raises `ConfigError` for anything else, and what the server's `run` raises.
    """
    lowlevel = _lowlevel(server)
    lifespan = getattr(server, "_lifespan_manager", contextlib.nullcontext)  # fastmcp enters its own
    async with lifespan(), anywire_streams(transport, limits) as (read, write):
        await lowlevel.run(read, write, lowlevel.create_initialization_options())


def _lowlevel(server: object) -> _Runnable:
    """Return what speaks the protocol in a server; none of the libraries has a public name for it."""
    for name in ("_mcp_server", "_lowlevel_server"):
        server = getattr(server, name, server)
    if not hasattr(server, "create_initialization_options"):
        raise ConfigError(f"{type(server).__name__} is no server of the package 'mcp' or 'fastmcp'")
    return cast("_Runnable", server)


def from_streams(
    read: object, write: object, *, name: str = "the SDK's streams", limits: Limits = DEFAULT_LIMITS
) -> SdkTransport:
    """Return a transport over a pair of the SDK's streams, one end of its in-memory pair for example.

    Both are closed with the transport; whatever opened them stays the caller's.  Raises `ConfigError`
    without the package `mcp`.
    """
    return from_transport(contextlib.nullcontext((read, write)), name=name, limits=limits)


def from_transport(
    opening: AbstractAsyncContextManager[Sequence[Any]],
    *,
    name: str = "the SDK's transport",
    limits: Limits = DEFAULT_LIMITS,
) -> SdkTransport:
    """Return a transport over one of the SDK's own: what `stdio_client(…)` and its kin return.

    `start()` enters it and `close()` leaves it, in one task, as the SDK wants it.  It can be used once.
    Raises `ConfigError` without the package `mcp`.
    """
    return SdkTransport(opening, Models.load(), name, limits)
