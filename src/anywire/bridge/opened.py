"""A transport that is open already, for somebody who opens what he is given."""

from __future__ import annotations

from anywire.bridge.layer import Layer
from anywire.errors import ConnectFailed

__all__ = ("Opened",)


class Opened(Layer):
    """Passes everything on to a transport that was started before."""

    async def start(self) -> None:
        """Do nothing: it was done.  Raises `ConnectFailed` where it has ended meanwhile."""
        if self.closed:
            raise ConnectFailed(f"{self.name} has ended")
