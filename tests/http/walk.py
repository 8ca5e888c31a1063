"""Requests into an application of this process, one after the other; quick enough for thousands."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from anywire.transport.http_server import HttpListener
from anywire.transport.http_sessions import HttpSessions
from tests.http.in_process import AsgiCall, AsgiExchange
from tests.http.raw import BOTH, LATEST, Answer, initialize


class Walker:
    """A client of an application, without sockets and in any number of sessions."""

    def __init__(self, app: HttpListener) -> None:
        self.app = app
        self.exchange = AsgiExchange(app)
        self.url = "http://127.0.0.1/mcp"

    @property
    def sessions(self) -> HttpSessions:
        """The sessions of the application."""
        return self.app.sessions

    def headers(self, session: str | None, accept: str = BOTH) -> dict[str, str]:
        """What goes on a request."""
        headers = {"accept": accept, "content-type": "application/json"}
        if session is not None:
            headers |= {"mcp-session-id": session, "mcp-protocol-version": LATEST}
        return headers

    async def post(self, message: Any, session: str | None, accept: str = BOTH) -> Answer:
        """POST a message and read the whole answer."""
        body = json.dumps(message).encode()
        async with self.exchange.open("POST", self.url, self.headers(session, accept), body) as call:
            answer = Answer(call.status, list(call.headers.items()))
            answer.body = await call.read_all()
            return answer

    @asynccontextmanager
    async def begin(self, message: Any, session: str) -> AsyncGenerator[AsgiCall]:
        """POST a message and wait for the head of the answer."""
        body = json.dumps(message).encode()
        async with self.exchange.open("POST", self.url, self.headers(session), body) as call:
            yield call

    async def open(self) -> str:
        """Shake hands and return the session."""
        answer = await self.post(initialize(), None)
        assert answer.status == 200, answer.body
        return answer["mcp-session-id"]

    @asynccontextmanager
    async def listen(self, session: str) -> AsyncGenerator[AsgiCall]:
        """Open the general stream of a session."""
        async with self.exchange.open(
            "GET", self.url, self.headers(session, "text/event-stream"), None
        ) as call:
            assert call.status == 200
            yield call
