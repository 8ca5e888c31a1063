"""The servers of a file as what a bridge offers."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from anywire.bridge.fleet.fleet import Fleet
from anywire.bridge.http_face import HttpFace
from anywire.bridge.meeting.era import Era, era_of
from anywire.bridge.meeting.upstream import Sharing, Upstream
from anywire.cli.bridge_face import http_listener
from anywire.cli.bridge_target import entry_target
from anywire.cli.policies import policy_of
from anywire.cli.secrets import secrets_in_words, secrets_of_entry
from anywire.cli.servers import OfferedServer, Servers
from anywire.cli.servers_file import file_of

if TYPE_CHECKING:
    from anywire.cli.bridge_setup import BridgeSetup
    from anywire.config.entry import ServerEntry
    from anywire.protocol.http.guard import Guard
    from anywire.transport.asgi_site import Site
    from anywire.transport.http_server import HttpListener
    from anywire.wire.limits import Limits

__all__ = ("SERVERS_PATH", "FleetOffer")

#: Where each server is offered by itself.
SERVERS_PATH: Final = "/servers/{name}/mcp"


class FleetOffer:
    """Offers all servers of a file as one; over HTTP each of them by itself, too."""

    def __init__(self, setup: BridgeSetup, *, over_http: bool) -> None:
        self._setup = setup
        report, limits, sharing = setup.log.reporter(), setup.limits, setup.sharing
        # Who each client is may decide what a server shows it.
        self._fleet = Fleet(limits, keeps_lists=sharing is not Sharing.NOBODY, discreet=over_http)
        self.upstream = Upstream(self._fleet.target, report, limits, sharing=sharing, era=Era.HANDSHAKE)
        self._servers: Servers | None = None

    def begin(self, site: Site | None = None, guard: Guard | None = None) -> None:
        """Read the file and offer what it says.  Raises `ConfigError`."""
        setup = self._setup
        place = None if site is None or guard is None else _Paths(site, guard, setup.limits)
        self._servers = Servers(
            file_of(setup.options.config), self._way_to, self._fleet, setup.meters, setup.log, place
        )
        self._servers.begin()

    def _way_to(self, entry: ServerEntry) -> Upstream:
        setup, limits = self._setup, self._setup.limits
        secrets = secrets_of_entry(entry)
        setup.log.hide(secrets)
        setup.taps.hide(
            (*entry.env.values(), *dict(entry.headers).values(), *secrets_in_words(entry.command))
        )
        if entry.start_seconds is not None:
            limits = limits.replace(
                connect_seconds=entry.start_seconds, member_start_seconds=entry.start_seconds
            )
        return Upstream(
            setup.metered(setup.taps.maker(entry_target(setup, entry, limits), entry.name), entry.name),
            setup.log.reporter(entry.name),
            limits,
            sharing=setup.sharing,
            era=era_of(entry.era),
            policy=policy_of(setup.options, entry.name, entry.allow, entry.deny),
        )

    async def close(self) -> None:
        """End all servers."""
        await self.upstream.close()
        if self._servers is not None:
            await self._servers.close()


class _Paths:
    """Each server at a path of its own."""

    def __init__(self, site: Site, guard: Guard, limits: Limits) -> None:
        self._site = site
        self._guard = guard
        self._limits = limits
        self._at: dict[OfferedServer, tuple[HttpListener, HttpFace]] = {}

    def put(self, server: OfferedServer) -> None:
        """Offer one, in the place of another of its name."""
        path = SERVERS_PATH.format(name=server.entry.name)
        relays = HttpFace(server.upstream)
        listener = http_listener(server.upstream, relays, self._guard, path, self._limits)
        self._at[server] = listener, relays
        self._site.put(path, listener)

    async def take(self, server: OfferedServer) -> None:
        """Offer it no longer, or another in its place; return when nobody uses this one there."""
        found = self._at.pop(server, None)
        if found is None:
            return
        listener, relays = found
        path = SERVERS_PATH.format(name=server.entry.name)
        if self._site.at(path) is listener:
            self._site.take(path)
        await listener.close()
        await asyncio.shield(relays.close())
