"""Each server of a file at an HTTP path of its own."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Final

from anywire.bridge.http_face import HttpFace
from anywire.cli.bridge_face import http_listener
from anywire.transport.asgi_page import Nothing
from anywire.transport.http_server import HttpListener

if TYPE_CHECKING:
    from anywire.cli.servers import OfferedServer
    from anywire.protocol.http.guard import Guard
    from anywire.transport.asgi import Receive, Scope, Send
    from anywire.transport.asgi_site import Site
    from anywire.wire.limits import Limits

__all__ = ("SERVERS_PATH", "ServerPaths")

#: Where each server is offered by itself.
SERVERS_PATH: Final = "/servers/{name}/mcp"

_SESSION: Final = b"mcp-session-id"


class ServerPaths:
    """Offers servers at their paths; see `cli.servers.Place`."""

    def __init__(self, site: Site, guard: Guard, limits: Limits) -> None:
        self._site = site
        self._guard = guard
        self._limits = limits
        self._paths: dict[str, _ServerPath] = {}
        self._relays: dict[OfferedServer, HttpFace] = {}

    def put(self, server: OfferedServer) -> None:
        """Offer one, in the place of another of its name."""
        name = server.entry.name
        path = SERVERS_PATH.format(name=name)
        relays = self._relays[server] = HttpFace(server.upstream)
        listener = http_listener(server.upstream, relays, self._guard, path, self._limits)
        here = self._paths.get(name)
        if here is None:
            here = self._paths[name] = _ServerPath(Nothing(self._guard))
            self._site.put(path, here)
        here.listeners[server] = listener

    async def take(self, server: OfferedServer, *, at_once: bool = False) -> None:
        """Offer it no longer; return when it has answered what it was asked, within bounds.

        `at_once`: what it was asked ends now.
        """
        relays, name = self._relays.pop(server, None), server.entry.name
        if relays is None:
            return
        here = self._paths[name]
        here.leaving.add(server)
        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(0 if at_once else self._limits.request_seconds):
                    await relays.until_answered()
        finally:
            await here.listeners[server].close()
            await asyncio.shield(relays.close())
            here.leaving.discard(server)
            del here.listeners[server]
            if not here.listeners:
                self._site.take(SERVERS_PATH.format(name=name))
                del self._paths[name]


class _ServerPath:
    """One path: the server that is offered there, and those before it that still have something to answer."""

    def __init__(self, nothing: Nothing) -> None:
        self.listeners: dict[OfferedServer, HttpListener] = {}
        self.leaving: set[OfferedServer] = set()
        self._nothing = nothing

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Give a request to the server whose session it belongs to; one without a session to the new one."""
        await (self._whose(scope) or self._nothing)(scope, receive, send)

    def _whose(self, scope: Scope) -> HttpListener | None:
        session = next((value for name, value in scope.get("headers", ()) if name == _SESSION), None)
        if session is not None:
            id = session.decode("latin-1").strip()
            for server in self.leaving:
                if self.listeners[server].sessions.find(id) is not None:
                    return self.listeners[server]
        return next((each for server, each in self.listeners.items() if server not in self.leaving), None)

    async def close(self) -> None:
        """End what lives at the path."""
        for listener in list(self.listeners.values()):
            await listener.close()
