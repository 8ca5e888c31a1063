"""The servers of a file as what a bridge offers."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from anywire.bridge.endpoint import Face, HttpAddress
from anywire.bridge.fleet.fleet import Fleet
from anywire.bridge.meeting.era import Era, era_of
from anywire.bridge.meeting.upstream import Upstream
from anywire.bridge.patience import patient
from anywire.cli.bridge_target import entry_target
from anywire.cli.observing import PAGES
from anywire.cli.policies import policy_of
from anywire.cli.secrets import secrets_of_entry
from anywire.cli.server_paths import ServerPaths
from anywire.cli.servers import Servers
from anywire.cli.servers_file import file_of
from anywire.errors import ConfigError

if TYPE_CHECKING:
    from anywire.cli.bridge_setup import BridgeSetup
    from anywire.config.entry import ServerEntry
    from anywire.protocol.http.guard import Guard
    from anywire.transport.asgi_site import Site

__all__ = ("OFFERED_BY", "FleetOffer", "offered_by", "refuse_face")

#: The variable that tells a server of a file, and whatever it starts, which files are being offered.
OFFERED_BY: Final = "ANYWIRE_OFFERED_BY"


def refuse_face(face: Face) -> None:
    """Refuse a face at which the servers of a file cannot be offered.  Raises `ConfigError`."""
    if not isinstance(face, HttpAddress):
        return
    if face.old:
        raise ConfigError(
            "--config is offered over Streamable HTTP or stdio; old clients can have one server"
        )
    path = "/" + face.path.strip("/")
    if path in PAGES or f"{path}/".startswith("/servers/"):
        raise ConfigError(f"{path} is where something else is with --config; take another path, such as /mcp")


def offered_by(path: Path) -> str:
    """Return what tells servers of that file that it is being offered.

    Raises `ConfigError` where this process is such a server: it would start itself without end.
    """
    file, before = os.path.realpath(path), os.environ.get(OFFERED_BY, "")
    files = [each for each in before.split(os.pathsep) if each]
    if file in files:
        raise ConfigError(f"{path} has this command for a server: it would start itself without end")
    return os.pathsep.join([*files, file])


class FleetOffer:
    """Offers all servers of a file as one; over HTTP each of them by itself, too."""

    def __init__(self, setup: BridgeSetup, *, over_http: bool) -> None:
        self._setup = setup
        report, limits, sharing = setup.log.reporter(), setup.limits, setup.sharing
        self._fleet = Fleet(limits, discreet=over_http)
        self.upstream = Upstream(self._fleet.target, report, limits, sharing=sharing, era=Era.HANDSHAKE)
        self._servers: Servers | None = None
        self._offered_by = ""

    def begin(self, site: Site | None = None, guard: Guard | None = None) -> None:
        """Read the file and offer what it says.  Raises `ConfigError`."""
        setup, path = self._setup, file_of(self._setup.options.config)
        self._offered_by = offered_by(path)
        place = None if site is None or guard is None else ServerPaths(site, guard, setup.limits)
        self._servers = Servers(path, self._way_to, self._fleet, setup.meters, setup.log, place)
        self._servers.begin()

    def _way_to(self, entry: ServerEntry) -> Upstream:
        setup, limits = self._setup, self._setup.limits
        secrets = secrets_of_entry(entry)
        setup.log.hide(secrets)
        setup.taps.hide((*entry.env.values(), *dict(entry.headers).values(), *secrets))
        if entry.start_seconds is not None:
            limits = limits.replace(
                connect_seconds=entry.start_seconds, member_start_seconds=entry.start_seconds
            )
        make = entry_target(setup, entry, limits, {OFFERED_BY: self._offered_by})
        make = patient(setup.taps.maker(make, entry.name), limits.member_start_seconds, entry.call_seconds)
        return Upstream(
            setup.metered(make, entry.name),
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
