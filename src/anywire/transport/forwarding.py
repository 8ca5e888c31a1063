"""Headers of a client's request, on their way to the requests that are made upstream because of it.

They travel in the context of whatever is begun for the request: a message that is handed on at once takes
those of its own request along, what is begun for no request (a stream, the end of a session) those of
the request in whose wake it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any, Final

from anywire.protocol.http.forwarded import forwarded_values
from anywire.transport.asgi_host import Application

__all__ = ("Forwarding",)

_NONE: Final[Mapping[str, str]] = MappingProxyType({})
_taken: ContextVar[Mapping[str, str]] = ContextVar("anywire.http.forwarded", default=_NONE)


class Forwarding:
    """Takes the headers of these names, whatever their case, from one side to the other."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = frozenset(name.lower() for name in names)

    def taking(self, app: Application) -> Application:
        """Return an ASGI application that takes them from each request before `app` answers it."""

        async def forwarding(scope: Any, receive: Any, send: Any) -> None:  # noqa: ANN401 ASGI has no types
            if scope["type"] != "http":
                await app(scope, receive, send)
                return
            before = _taken.set(forwarded_values(scope["headers"], self._names))
            try:
                await app(scope, receive, send)
            finally:
                _taken.reset(before)

        return forwarding

    async def give(self) -> Mapping[str, str]:
        """Return those of the request on whose behalf this is awaited: the hook of an HTTP client."""
        return _taken.get()
