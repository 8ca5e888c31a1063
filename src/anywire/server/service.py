"""What a session serves, and what the methods may do with a session."""

from __future__ import annotations

from typing import Any, Protocol

from anywire.errors import Refusal
from anywire.protocol.legacy import ServerConversation, ServerIdentity
from anywire.protocol.types.logging import LogLevel
from anywire.server.catalogue import Catalogue
from anywire.server.handler import Served
from anywire.wire.limits import Limits
from anywire.wire.message import Request

__all__ = ("Service", "Serving")


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
    def lifespan_value(self) -> Any:
        """What the program's lifespan gave."""
        ...


class Serving(Protocol):
    """What a method needs of the session that it is asked in."""

    service: Service
    conversation: ServerConversation
    limits: Limits
    log_level: LogLevel
    subscriptions: set[str]

    def reply(self, id: bytes, result: bytes) -> None:
        """Answer a request with a raw result, unless it was answered or cancelled before."""
        ...

    def fail(self, id: bytes, code: int, message: str, data: object = None) -> None:
        """Answer a request with an error, unless it was answered or cancelled before."""
        ...

    def refuse(self, id: bytes, refusal: Refusal) -> None:
        """Answer a request with the error of a refusal."""
        ...

    def run_handler(self, request: Request, meta: bytes, served: Served, arguments: Any) -> None:
        """Run the handler that serves a request and answer with what comes of it."""
        ...
