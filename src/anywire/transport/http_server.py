"""A server of Streamable HTTP as an ASGI application.

It performs the verdicts of `anywire.protocol.http.server` and takes no decision of its own.  Mount it
under any prefix of any ASGI framework, or run it with any ASGI server; the path it is mounted at is
served with and without a slash at the end.  It needs no lifespan and takes part in one.

Specification: MCP `basic/transports#streamable-http`, 2025-03-26 to 2025-11-25.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Final, TypeAlias

from anywire.protocol.http.guard import Guard
from anywire.protocol.http.mirrored import named_by
from anywire.protocol.http.server import (
    POST_HEADERS,
    EndSession,
    OpenStream,
    ReadBody,
    Reject,
    check_head,
    not_serving,
    not_set_up,
)
from anywire.protocol.http.stateless import (
    CALL_HEADERS,
    StatelessFace,
    check_call,
    check_method,
)
from anywire.protocol.modern import Envelope, EnvelopeFault
from anywire.transport.asgi import (
    ClientGone,
    Intake,
    Receive,
    Scope,
    Send,
    follow_lifespan,
    head_from,
    path_of,
)
from anywire.transport.contract import Accept, Life, Transport
from anywire.transport.http_answer import HttpAnswer
from anywire.transport.http_call import HttpCallTransport
from anywire.transport.http_sessions import HttpSessions
from anywire.wire.limits import DEFAULT_LIMITS, Limits
from anywire.wire.message import Message, Request

__all__ = ("Call", "HttpListener")

#: What takes a request that stands for itself from a listener.
Call: TypeAlias = Callable[[HttpCallTransport, Request, Envelope], None]

_log = logging.getLogger("anywire.http")

_POST_HEADERS: Final = tuple(name.encode() for name in POST_HEADERS)
_CALL_HEADERS: Final = tuple(name.encode() for name in CALL_HEADERS)
#: Different heads of POSTs, and of calls, that are remembered at once, and how large one may be.
_HEADS: Final = 256
_HEAD_BYTES: Final = 2048


class HttpListener:
    """Accepts conversations over HTTP; an ASGI 3 application and a `Listener` in one.

    `accept` is given each new session; `serves` says whether its server has a method.  `call` is given
    each request that stands for itself, with what it says of itself; None: `accept` is.  `path` limits
    what is answered to one path (and the same with a slash), None answers wherever it is mounted.  `life`
    is entered when the process says that it begins, else with the first request, and left at the end.
    """

    def __init__(
        self,
        accept: Accept,
        serves: Callable[[str], bool],
        *,
        guard: Guard | None = None,
        path: str | None = None,
        stateless: StatelessFace | None = None,
        life: Life | None = None,
        call: Call | None = None,
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        self._accept = accept
        self._call = call
        #: Says whether there is a method.
        self.serves = serves
        #: What is served of the stateless era; None: nothing.
        self.stateless = stateless
        #: Who is let in.
        self.guard = guard or Guard.for_bind("127.0.0.1")
        self._path = None if path is None else "/" + path.strip("/")
        self._life = life
        #: The limits in force.
        self.limits = limits
        #: The bodies that are being read.
        self.intake = Intake(limits)
        self._heads: dict[tuple[bytes | None, ...], ReadBody] = {}
        self._agreed: set[tuple[bytes | str | None, ...]] = set()
        #: The sessions that live.
        self.sessions = HttpSessions(limits)

    async def close(self) -> None:
        """End all sessions and refuse new ones.  Idempotent."""
        self.sessions.close()
        await asyncio.sleep(0)  # whoever served them hears of it now
        if self._life is not None:
            await self._life.leave()

    async def open(self) -> None:
        """Set up what is served, and take sessions, again if there was an end before."""
        self.sessions.open()
        if self._life is not None:
            await self._life.enter()

    @property
    def is_ready(self) -> bool:
        """Whether a new conversation can be served at once."""
        return self.sessions.is_open and (self._life is None or self._life.entered)

    async def admit(self) -> Reject | None:
        """Refuse a new conversation that cannot be served; None: everything is set up for it."""
        if self._life is not None and not self._life.entered and self.sessions.is_open:
            try:
                await self._life.enter()
            except Exception:  # noqa: BLE001 whoever asks is told that it is not served
                _log.exception("what is served could not be set up")
                return not_set_up()
        return None if self.sessions.is_open else not_serving()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or follow the lifespan of the process."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await follow_lifespan(receive, send, self.open, self.close)
            else:
                await send({"type": "websocket.close", "code": 1000})
            return
        exchange = HttpAnswer(receive, send, scope=scope, limits=self.limits, listener=self)
        try:
            await exchange.answer()
        except ClientGone:
            pass  # an everyday thing, and nobody is there to be told anything
        except asyncio.CancelledError:
            await exchange.break_off()
        finally:
            if exchange.is_watching:
                exchange.stop_watching()

    def is_here(self, scope: Scope) -> bool:
        """Say whether a request is for the path that is served."""
        here = self._path
        if here is None or (scope["path"] == here and not scope.get("root_path")):
            return True
        return (path_of(scope).rstrip("/") or "/") == (here.rstrip("/") or "/")

    def check(self, method: str, headers: dict[bytes, bytes]) -> Reject | ReadBody | OpenStream | EndSession:
        """Decide what can be decided without the body."""
        if method != "POST":
            other = head_from(method, headers.items())
            refused = None if self.stateless is None else check_method(other, self.guard, self.stateless)
            return refused or check_head(other, self.guard)
        telling = tuple(map(headers.get, _POST_HEADERS))
        known = self._heads.get(telling)
        if known is not None:
            return known
        # What is decided from no other header is the same for all POSTs that have these.
        head = [
            (name, value) for name, value in zip(_POST_HEADERS, telling, strict=True) if value is not None
        ]
        verdict = check_head(head_from(method, head), self.guard)
        if isinstance(verdict, ReadBody) and sum(len(value) for _, value in head) <= _HEAD_BYTES:
            if len(self._heads) >= _HEADS:
                self._heads.clear()
            self._heads[telling] = verdict
        return verdict

    def check_call(
        self,
        headers: dict[bytes, bytes],
        message: Message,
        envelope: Envelope | EnvelopeFault | None,
        face: StatelessFace,
    ) -> Reject | None:
        """Refuse a message of the stateless era that cannot be served; None: it can."""
        telling = None
        if isinstance(message, Request) and isinstance(envelope, Envelope):
            name = named_by(message.method, message.params)
            if face.serves(message.method) and not (name and face.mirrors(name)):
                # What is decided from nothing else is the same for all calls of which all this is the same.
                told = tuple(map(headers.get, _CALL_HEADERS))
                telling = (*told, envelope.revision, message.method, name)
                if telling in self._agreed:
                    return None
        text = {name.decode("latin-1"): value.decode("latin-1").strip() for name, value in headers.items()}
        refused = check_call(text, message, face, envelope)
        if refused is None and telling is not None and sum(map(len, filter(None, telling))) <= _HEAD_BYTES:
            if len(self._agreed) >= _HEADS:
                self._agreed.clear()
            self._agreed.add(telling)
        return refused

    def accept(self, transport: Transport) -> None:
        """Hand a new session to whoever serves it."""
        self._accept(transport)

    def call(self, call: HttpCallTransport, request: Request, envelope: Envelope) -> None:
        """Hand a request that stands for itself to whoever serves it."""
        if self._call is None:
            self._accept(call)
        else:
            self._call(call, request, envelope)
