"""The servers of a file, as a bridge offers them: all together, and each by itself.

The file may change while they are offered.  Who is not concerned notices nothing of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from anywire.bridge.fleet.fleet import Fleet
from anywire.bridge.meeting.upstream import Upstream
from anywire.cli.servers_file import load_config
from anywire.cli.watching import look_at, watch_file
from anywire.config.entry import Config, ServerEntry, Severity
from anywire.errors import ConfigError

if TYPE_CHECKING:
    from anywire.bridge.metering.meters import Meters
    from anywire.cli.log import Log

__all__ = ("OfferedServer", "Place", "Servers")


class OfferedServer(msgspec.Struct, frozen=True, eq=False):
    """One server of the file, and the way to it."""

    entry: ServerEntry
    upstream: Upstream


class Place(Protocol):
    """Where servers are offered one by one."""

    def put(self, server: OfferedServer) -> None:
        """Offer one, in the place of another of its name."""
        ...

    async def take(self, server: OfferedServer, *, at_once: bool = False) -> None:
        """Offer it no longer; return when it has answered what it was asked, within bounds.

        `at_once`: what it was asked ends now.
        """
        ...


class _Nowhere:
    """They are offered together only."""

    def put(self, server: OfferedServer) -> None:
        """Do nothing."""

    async def take(self, server: OfferedServer, *, at_once: bool = False) -> None:
        """Do nothing."""


class Servers:
    """Keeps what is offered equal to what a file says.  Its owner closes it.

    `make` makes the way to a server.  `place` is where each is offered by itself.
    """

    def __init__(
        self,
        path: Path,
        make: Callable[[ServerEntry], Upstream],
        fleet: Fleet,
        meters: Meters,
        log: Log,
        place: Place | None = None,
    ) -> None:
        self._path = path
        self._make = make
        self._fleet = fleet
        self._meters = meters
        self._log = log
        self._place = place or _Nowhere()
        self._offered: dict[str, OfferedServer] = {}
        self._metered: set[str] = set()
        self._said: set[tuple[str | None, str]] = set()
        self._leaving: set[asyncio.Task[None]] = set()
        self._watching: asyncio.Task[None] | None = None

    def __len__(self) -> int:
        return len(self._offered)

    def begin(self) -> None:
        """Read the file, offer what it says, and go on with what it says later.

        Raises `ConfigError` where it cannot be read now.
        """
        seen = look_at(str(self._path))
        self.apply(load_config(self._path))
        self._watching = asyncio.get_running_loop().create_task(
            watch_file(str(self._path), seen, self._read_again)
        )

    def _read_again(self) -> None:
        try:
            config = load_config(self._path)
        except ConfigError as error:
            self._log.tell(f"{error}; what was read before stays", level="error")
            return
        before = self._offered
        self.apply(config)
        self._log.tell(_change(self._path, before, self._offered), level="info")

    def apply(self, config: Config) -> None:
        """Offer these servers, and no others."""
        before, after = self._offered, self._after(config)
        self._offered = after
        self._fleet.replace({name: server.upstream for name, server in after.items()})
        for name, server in after.items():
            if before.get(name) is not server:
                self._place.put(server)
        for name, server in before.items():
            if after.get(name) is not server:
                self._begin(self._leave(server))
        self._show(config)

    def _after(self, config: Config) -> dict[str, OfferedServer]:
        """Return the servers as they are to be offered: those of which nothing has changed stay."""
        after: dict[str, OfferedServer] = {}
        for entry in config.entries:
            known = self._offered.get(entry.name)
            if known is not None and known.entry == entry:
                after[entry.name] = known
            elif not entry.disabled:
                after[entry.name] = OfferedServer(entry, self._make(entry))
        return after

    async def _leave(self, server: OfferedServer) -> None:
        """Let whoever uses a server that is not offered any more end, and end it."""
        try:
            await self._place.take(server)
            await self._fleet.drained([server.upstream])
        finally:
            await server.upstream.close()

    def _show(self, config: Config) -> None:
        """Let the meters and the log say what the file has that is not offered."""
        now, shown = self._meters.clock(), set(self._offered)
        said: list[tuple[str | None, str]] = []
        for name in self._offered:
            self._meters.of(name).allow(now)
        for entry in config.entries:
            if entry.disabled:
                self._meters.of(entry.name).disable("the file says that it is disabled", now)
                shown.add(entry.name)
        for name, reason in config.refused.items():
            self._meters.of(name).refuse(reason, now)
            shown.add(name)
            said.append((name, f"it cannot be used: {reason}"))
        said += [
            (remark.server, remark.sentence)
            for remark in config.remarks
            if remark.severity is Severity.WARNING or remark.server is None
        ]
        for name in self._metered - shown:
            self._meters.drop(name)
        self._metered = shown
        for server, sentence in said:
            if (server, sentence) not in self._said:
                self._log.tell(sentence, server=server)
        self._said = set(said)

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._leaving.add(task)
        task.add_done_callback(self._leaving.discard)

    async def close(self) -> None:
        """End all of it."""
        if self._watching is not None:
            self._watching.cancel()
        for task in list(self._leaving):
            task.cancel()
        if self._leaving:
            await asyncio.wait(self._leaving)
        await self._fleet.close()
        await asyncio.gather(*(self._end(server) for server in self._offered.values()))

    async def _end(self, server: OfferedServer) -> None:
        await self._place.take(server, at_once=True)
        await server.upstream.close()


def _change(path: Path, before: Mapping[str, OfferedServer], after: Mapping[str, OfferedServer]) -> str:
    """Say what has changed."""
    changes = {
        "new": [name for name in after if name not in before],
        "changed": [name for name in after if name in before and before[name] is not after[name]],
        "gone": [name for name in before if name not in after],
    }
    said = [f"{', '.join(names)} {what}" for what, names in changes.items() if names]
    return f"{path} was read again: {'; '.join(said) or 'nothing of the servers has changed'}"
