"""A page that is only read, as an ASGI application: what stands on it is made for each request."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import msgspec

from anywire.protocol.http.guard import Guard
from anywire.protocol.http.media import JSON
from anywire.protocol.http.page import READING, check_page
from anywire.protocol.http.server import check_bearer, check_guard, reject
from anywire.transport.asgi import (
    NOT_STORED,
    ClientGone,
    Receive,
    Scope,
    Send,
    Wire,
    follow_lifespan,
    read_head_of,
)

__all__ = ("Document", "Nothing", "Page")


class Document(msgspec.Struct, frozen=True):
    """What a page answers."""

    body: bytes
    status: int = 200
    content_type: str = JSON


async def _nothing() -> None:
    """A page has nothing to set up and nothing to end."""


class Page:
    """Answers GET and HEAD with what `make` returns, which is given the `Accept` header, empty for none.

    Nobody may keep a copy of it.  `for_anybody`: no token is asked for.
    """

    def __init__(
        self, make: Callable[[str], Awaitable[Document]], guard: Guard, *, for_anybody: bool = False
    ) -> None:
        self._make = make
        self._guard = guard
        self._for_anybody = for_anybody

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or follow the lifespan of the process."""
        if scope["type"] == "lifespan":
            await follow_lifespan(receive, send, _nothing, _nothing)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1000})
            return
        wire = Wire(receive, send)
        try:
            await self._answer(wire, scope)
        except ClientGone:
            pass  # an everyday thing

    async def _answer(self, wire: Wire, scope: Scope) -> None:
        head = read_head_of(scope)[1]
        if self._guard.origins and wire.share(head, self._guard, READING):
            await wire.respond(204)
            return
        refused = check_page(head, self._guard, for_anybody=self._for_anybody)
        if refused is not None:
            await wire.reject(refused, [NOT_STORED])
            return
        page = await self._make(head.headers.get("accept", ""))
        await wire.respond_with(page.body, page.content_type, page.status, is_head=head.method == "HEAD")


class Nothing:
    """What is at no path: said to those only who may know what there is."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse one request."""
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1000})
            return
        head = read_head_of(scope)[1]
        refused = check_bearer(head.headers.get("authorization"), self._guard) or check_guard(
            head, self._guard
        )
        wire = Wire(receive, send)
        try:
            await wire.reject(refused or reject(404, "nothing is served at this path"))
        except ClientGone:
            pass  # an everyday thing
