"""An examination of a server, as checks see it that are the same on any wire."""

from __future__ import annotations

from typing import Protocol

from anywire.doctor.era import Era
from anywire.doctor.patience import Patience
from anywire.doctor.reply import Reply
from anywire.protocol.modern import LATEST_STATELESS_REVISION
from anywire.wire.message import Request

__all__ = ("Asked", "AskedStateless", "Broken", "Unfit")


class Broken(Exception):
    """The server that was being asked can be asked no more; another one can be started."""


class Unfit(Exception):
    """There is no way to talk with this server: the examination ends."""


class Asked(Protocol):
    """An examination of a server on any wire."""

    server: dict[str, object]
    patience: Patience
    first_answer_seconds: float | None
    silence: str

    def find(self, id: str, found: str) -> None:
        """Tell what is wrong."""
        ...

    async def request(self, method: str, params: bytes | None = None) -> Reply | None:
        """Ask in a conversation that is going well; None: no answer."""
        ...


class AskedStateless(Protocol):
    """An examination of a server on any wire, in this era."""

    server: dict[str, object]
    era: Era

    def find(self, id: str, found: str) -> None:
        """Tell what is wrong."""
        ...

    def new_id(self) -> bytes:
        """Return an id that was not used before."""
        ...

    async def talk(self, request: Request, revision: str = LATEST_STATELESS_REVISION) -> Reply | None:
        """Send a request of that revision; None: it has no answer."""
        ...
