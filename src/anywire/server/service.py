"""What a session needs of the server that it is a conversation of."""

from __future__ import annotations

from typing import Any, Protocol

from anywire.protocol.legacy import ServerIdentity
from anywire.protocol.modern import ResultFrame
from anywire.protocol.types.caching import CacheScope
from anywire.server.catalogue import Catalogue
from anywire.server.held import HeldCalls
from anywire.session.threads import DaemonThreads

__all__ = ("Service",)


class Service(Protocol):
    """What a session needs of the server that it is a conversation of."""

    @property
    def identity(self) -> ServerIdentity:
        """What `initialize` tells."""
        ...

    @property
    def catalogue(self) -> Catalogue:
        """What the server offers."""
        ...

    @property
    def eras(self) -> frozenset[str]:
        """Which eras are served."""
        ...

    @property
    def frame(self) -> ResultFrame:
        """What results of the stateless era say of themselves."""
        ...

    @property
    def held(self) -> HeldCalls:
        """The handlers that wait for another round."""
        ...

    @property
    def state_key(self) -> bytes:
        """What the state between rounds is sealed with."""
        ...

    @property
    def fresh_seconds(self) -> float:
        """How long a client may keep a list."""
        ...

    @property
    def cache_scope(self) -> CacheScope:
        """Whom a result may be kept for."""
        ...

    def wall_clock(self) -> float:
        """The seconds of the epoch."""
        ...

    @property
    def threads(self) -> DaemonThreads:
        """Where handlers run that block."""
        ...

    @property
    def lifespan_value(self) -> Any:
        """What the program's lifespan gave."""
        ...
