"""HTTP without sockets: requests straight into an ASGI application, answers streamed out of it."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, MutableMapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

from anywire.errors import TransportBroken

Event = MutableMapping[str, Any]
Application = Callable[[Any, Any, Any], Awaitable[None]]

#: What an application may send before its client has read it, as servers have it.
_HIGH = 64 * 1024


class AsgiExchange:
    """An `Exchange` that calls an application.  A response that is let go is a client that went."""

    def __init__(self, app: Application, *, root_path: str = "") -> None:
        self._app = app
        self._root_path = root_path
        #: What the application raised.
        self.failures: list[BaseException] = []
        #: The calls that have not returned.
        self.calls: set[AsgiCall] = set()

    @asynccontextmanager
    async def open(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes | None
    ) -> AsyncGenerator[AsgiCall, None]:
        """Call the application."""
        call = AsgiCall(self, method, url, headers, body or b"")
        self.calls.add(call)
        try:
            await call.begin(self._app, self._root_path)
            yield call
        finally:
            self.calls.discard(call)  # first: whoever is cancelled a second time does not wait
            await call.let_go()

    async def close(self) -> None:
        """Let all calls go."""
        for call in list(self.calls):
            await call.let_go()


class AsgiCall:
    """One call of the application, and what it answers."""

    def __init__(
        self, exchange: AsgiExchange, method: str, url: str, headers: Mapping[str, str], body: bytes
    ) -> None:
        self._exchange = exchange
        self._method = method
        self._url = urlsplit(url)
        self._sent_headers = headers
        self._body: bytes | None = body
        self._gone = asyncio.Event()
        self._news = asyncio.Event()
        self._room = asyncio.Event()
        self._waiting: deque[bytes] = deque()
        self._size = 0
        self._complete = False
        self._task: asyncio.Task[None] | None = None
        self.status = 0
        self.headers: dict[str, str] = {}
        #: The names of the headers as often as they were sent.
        self.header_names: list[str] = []

    def scope(self, root_path: str) -> dict[str, Any]:
        """Return what the application is told of the request."""
        headers = {"host": self._url.netloc, **self._sent_headers}
        return {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.4"},
            "http_version": "1.1",
            "method": self._method,
            "path": self._url.path,
            "root_path": root_path,
            "query_string": self._url.query.encode(),
            "headers": [(name.lower().encode(), value.encode()) for name, value in headers.items()],
        }

    async def begin(self, app: Application, root_path: str) -> None:
        """Call the application and wait for the head of its answer."""
        self._task = asyncio.get_running_loop().create_task(self._run(app, self.scope(root_path)))
        while not self.status and not self._complete:
            self._news.clear()
            await self._news.wait()
        if not self.status:
            raise TransportBroken(f"{self._method} {self._url.path}: no answer")

    async def _run(self, app: Application, scope: dict[str, Any]) -> None:
        try:
            await app(scope, self._receive, self._send)
        except Exception as error:
            self._exchange.failures.append(error)
        finally:
            self._complete = True
            self._news.set()

    async def _receive(self) -> Event:
        if self._body is not None:
            body, self._body = self._body, None
            return {"type": "http.request", "body": body, "more_body": False}
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, event: Event) -> None:
        if self._gone.is_set():
            raise OSError("the client has gone")  # as ASGI has it since 2.4
        if event["type"] == "http.response.start":
            self.status = event["status"]
            for name, value in event["headers"]:
                self.header_names.append(name.decode())
                self.headers[name.decode().lower()] = value.decode()
        elif event.get("body"):
            self._waiting.append(event["body"])
            self._size += len(event["body"])
        self._news.set()
        while self._size > _HIGH and not self._gone.is_set():
            self._room.clear()
            await self._room.wait()

    async def read(self) -> bytes:
        """Return more of the body, empty at its end."""
        while not self._waiting:
            if self._complete:
                return b""
            self._news.clear()
            await self._news.wait()
        chunk = self._waiting.popleft()
        self._size -= len(chunk)
        self._room.set()
        return chunk

    async def read_all(self) -> bytes:
        """Return the whole body."""
        body = b""
        while chunk := await self.read():
            body += chunk
        return body

    async def let_go(self) -> None:
        """Be a client that has gone, and wait until the application has noticed."""
        self._gone.set()
        self._room.set()
        if self._task is not None and not self._task.done():
            await asyncio.wait([self._task])
