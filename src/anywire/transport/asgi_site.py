"""Several ASGI applications on one socket, each at a path of its own; they may come and go while it serves.

Paths are compared as they are without escapes: the server undoes these, once, before anybody sees them.
A slash at the end makes no difference.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Protocol

from anywire.protocol.http.server import reject
from anywire.transport.asgi import ClientGone, Receive, Scope, Send, Wire, follow_lifespan, path_of

__all__ = ("Site", "SiteApplication")


class SiteApplication(Protocol):
    """An ASGI 3 application.  One that has something to end has `close()`, to set up again `open()`."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send, /) -> None:
        """Answer one request."""
        ...


class Site:
    """An ASGI 3 application that gives each request to the application at its path.

    `rest` gets what is at no path of the table; None: there is nothing else, which is said.
    """

    def __init__(
        self,
        applications: Mapping[str, SiteApplication] | None = None,
        *,
        rest: SiteApplication | None = None,
    ) -> None:
        self._rest = rest
        self._at: dict[str, SiteApplication] = {}
        for path, application in (applications or {}).items():
            self.put(path, application)

    def __contains__(self, path: str) -> bool:
        return _place(path) in self._at

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._at))

    def at(self, path: str) -> SiteApplication | None:
        """Return what is served at a path, None where that is nothing of its own."""
        return self._at.get(_place(path))

    def put(self, path: str, application: SiteApplication) -> None:
        """Serve an application at a path, in the place of whatever is there."""
        self._at[_place(path)] = application

    def take(self, path: str) -> SiteApplication | None:
        """Serve nothing there any more; return what was there, for its owner to close.

        What it is answering at the time goes on.
        """
        return self._at.pop(_place(path), None)

    async def open(self) -> None:
        """Set up all applications that have something to set up."""
        for application in self._applications():
            if (open := getattr(application, "open", None)) is not None:
                await open()

    async def close(self) -> None:
        """End all applications that have something to end; the first failure is raised when all were told."""
        failure: Exception | None = None
        for application in self._applications():
            if (close := getattr(application, "close", None)) is None:
                continue
            try:
                await close()
            except Exception as error:  # noqa: BLE001 the others are ended all the same
                failure = failure or error
        if failure is not None:
            raise failure

    def _applications(self) -> list[SiteApplication]:
        each = {id(application): application for application in (*self._at.values(), self._rest)}
        return [application for application in each.values() if application is not None]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass one request on, or follow the lifespan of the process."""
        if scope["type"] == "lifespan":
            await follow_lifespan(receive, send, self.open, self.close)
            return
        path = path_of(scope)
        application = self._at.get(path) or self._at.get(path.rstrip("/") or "/") or self._rest
        if application is not None:
            await application(scope, receive, send)
        elif scope["type"] == "http":
            try:
                await Wire(receive, send).reject(reject(404, "nothing is served at this path"))
            except ClientGone:
                pass  # an everyday thing
        else:
            await send({"type": "websocket.close", "code": 1000})


def _place(path: str) -> str:
    return "/" + path.strip("/")
