"""Headers of a client's request, on their way to the requests that are made upstream because of it.

They travel in the context of whatever is begun for the request: a message that is handed on takes those
of its own request along.  What is asked in its wake when it is over (a stream that is opened again, the
end of a session) takes those of the latest message of the same conversation: a token that was fresh with
the first may have expired.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from typing import Any, Final

import msgspec

from anywire.errors import LocalProtocolError
from anywire.protocol.http.forwarded import forwarded_values
from anywire.transport.asgi_host import Application
from anywire.transport.http_calls import TokenHook

__all__ = ("Forwarding",)


class _Taken(msgspec.Struct):
    """The headers of one request; the value None is one that cannot be sent on."""

    number: int
    values: Mapping[str, str | None]
    over: bool = False
    given: bool = False

    def give(self) -> Mapping[str, str]:
        """Return what goes on.  Raises `LocalProtocolError` where that is not all of it."""
        self.given = True
        values = {name: value for name, value in self.values.items() if value is not None}
        left = sorted(self.values.keys() - values.keys())
        if left:
            what = "is not UTF-8 or has a control character"
            raise LocalProtocolError(f"the header {left[0]} of a request cannot be forwarded: it {what}")
        return values


_NOTHING: Final = _Taken(0, {})
_taken: ContextVar[_Taken] = ContextVar("anywire.http.forwarded", default=_NOTHING)


class Forwarding:
    """Takes the headers of these names, whatever their case, from one side to the other."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = frozenset(name.lower() for name in names)
        self._count = 0
        #: Gets the values of each request, before it is answered: they are secrets.
        self.on_taken: Callable[[Iterable[str]], None] | None = None

    def taking(self, app: Application) -> Application:
        """Return an ASGI application that takes them from each request before `app` answers it."""

        async def forwarding(scope: Any, receive: Any, send: Any) -> None:  # noqa: ANN401 ASGI has no types
            if scope["type"] != "http":
                await app(scope, receive, send)
                return
            self._count += 1
            taken = _Taken(self._count, forwarded_values(scope["headers"], self._names))
            if self.on_taken is not None:
                self.on_taken([value for value in taken.values.values() if value is not None])
            before = _taken.set(taken)
            try:
                await app(scope, receive, send)
            finally:
                taken.over = True
                _taken.reset(before)

        return forwarding

    def hook(self) -> TokenHook:
        """Return what gives the headers of the request on whose behalf it is awaited: for one HTTP client.

        Made in the wake of the request that begins the conversation.  It raises `LocalProtocolError` for
        a header that cannot be sent on as it is, so that nobody is asked without it.
        """
        latest = _taken.get()

        async def give() -> Mapping[str, str]:
            nonlocal latest
            taken = _taken.get()
            if taken.number > latest.number:
                latest = taken
            # Once it is over it has still to be sent itself, where nobody waits for an answer.
            return (latest if taken.over and taken.given else taken).give()

        return give
