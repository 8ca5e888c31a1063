"""What a session needs of the server that it is a conversation of."""

from __future__ import annotations

from typing import Protocol

from anywire.protocol.legacy import ServerIdentity
from anywire.server.tool import RegisteredTool

__all__ = ("Service",)


class Service(Protocol):
    """What a session serves: the server's tools and what it says of itself."""

    @property
    def identity(self) -> ServerIdentity:
        """What `initialize` tells."""
        ...

    @property
    def tools(self) -> dict[str, RegisteredTool]:
        """The tools by name."""
        ...

    @property
    def tools_list(self) -> bytes:
        """The raw result of `tools/list`."""
        ...
