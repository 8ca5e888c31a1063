"""Clients over HTTP that know bytes, and of MCP what it takes to bring them there and back.

They are to HTTP what `pipes.Conversation` is to pipes: `send` a body, `receive` the bodies that come,
whatever stream they come on.
"""

from __future__ import annotations

import contextlib
import json
import queue
import threading
from collections.abc import Callable, Generator, Iterator
from http.client import HTTPConnection, HTTPException, HTTPResponse
from typing import Any, Protocol
from urllib.parse import urljoin, urlsplit

REVISIONS = {"legacy": "2025-11-25", "modern": "2026-07-28"}
HTTP_WITHIN = 20.0
NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}


class Wire(Protocol):
    """One client's way to a server."""

    def send(self, *bodies: bytes) -> None:
        """Send bodies, in this order."""
        ...

    def receive(self, *, within: float = ...) -> bytes:
        """The next body that comes; raises `AssertionError` when none does."""
        ...


class _Receiving:
    """What has come in, from whichever thread."""

    def __init__(self) -> None:
        self._incoming: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def receive(self, *, within: float = HTTP_WITHIN) -> bytes:
        """The next body."""
        try:
            return self._incoming.get(timeout=within)
        except queue.Empty:
            raise AssertionError(f"nothing came for {within} s") from None


class HttpWire(_Receiving):
    """Streamable HTTP.  Each request has a connection and a thread; notifications are waited for."""

    def __init__(self, url: str, era: str) -> None:
        super().__init__()
        self._url = urlsplit(url)
        self._stateless = era == "modern"
        self._headers = {
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
        }
        self._open: dict[str, HTTPConnection] = {}
        self._threads: list[threading.Thread] = []
        self.statuses: list[int] = []
        """The status of each answer to a POST, in the order in which they came."""

    def send(self, *bodies: bytes) -> None:
        """Send bodies; what is no request, and the first request of a handshake, is waited for."""
        for body in bodies:
            message: dict[str, Any] = json.loads(body)
            thread = self._run(self._post, body, message)
            if message.get("method") == "initialize" or not ("id" in message and "method" in message):
                thread.join(HTTP_WITHIN)
                assert not thread.is_alive(), f"not answered: {body[:200]!r}"
            if message.get("method") == "notifications/initialized":
                self._run(self._listen)

    def _run(self, work: Callable[..., None], *arguments: object) -> threading.Thread:
        thread = threading.Thread(target=work, args=arguments, daemon=True)
        thread.start()
        self._threads.append(thread)
        return thread

    def leave(self, id: object) -> None:
        """Give up a request: end its connection."""
        connection = self._open.pop(json.dumps(id))
        if connection.sock is not None:
            connection.sock.shutdown(2)

    def close(self) -> None:
        """End the session, if there is one, and all connections."""
        if "mcp-session-id" in self._headers:
            connection = self._connection()
            connection.request("DELETE", self._url.path, headers=self._headers)
            connection.getresponse().read()
            connection.close()
        for id in list(self._open):
            with contextlib.suppress(OSError, KeyError):
                self.leave(json.loads(id))
        for thread in self._threads:
            thread.join(HTTP_WITHIN)

    def _connection(self) -> HTTPConnection:
        assert self._url.hostname is not None
        return HTTPConnection(self._url.hostname, self._url.port, timeout=HTTP_WITHIN)

    def _post(self, body: bytes, message: dict[str, Any]) -> None:
        connection, key = self._connection(), json.dumps(message.get("id"))
        if "method" in message:
            self._open[key] = connection
        with _answer(
            connection, "POST", self._url.path, body, self._headers | self._mirrored(message)
        ) as got:
            self.statuses.append(got.status)
            session = got.getheader("mcp-session-id")
            if session is not None and message.get("method") == "initialize":
                self._headers |= {
                    "mcp-session-id": session,
                    "mcp-protocol-version": REVISIONS["legacy"],
                }
            for each in _bodies(got):
                self._incoming.put(each)
        self._open.pop(key, None)

    def _mirrored(self, message: dict[str, Any]) -> dict[str, str]:
        if not self._stateless:
            return {}
        method = message["method"]
        name = {"mcp-name": message["params"][NAMED[method]]} if method in NAMED else {}
        return {"mcp-protocol-version": REVISIONS["modern"], "mcp-method": method, **name}

    def _listen(self) -> None:
        connection = self._connection()
        self._open["null"] = connection
        with _answer(connection, "GET", self._url.path, None, self._headers) as got:
            for each in _bodies(got):
                self._incoming.put(each)


class SseWire(_Receiving):
    """HTTP+SSE: one stream for all that comes, a POST for each body that goes."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self._url = url
        self._posting: queue.SimpleQueue[str] = queue.SimpleQueue()
        parts = urlsplit(url)
        assert parts.hostname is not None
        self._connection = HTTPConnection(parts.hostname, parts.port, timeout=HTTP_WITHIN)
        self._reading = threading.Thread(target=self._read, args=(parts.path or "/sse",), daemon=True)
        self._reading.start()
        self._post_to = urlsplit(urljoin(url, self._posting.get(timeout=HTTP_WITHIN)))

    def send(self, *bodies: bytes) -> None:
        """Send bodies, each when the one before it was taken."""
        assert self._post_to.hostname is not None
        for body in bodies:
            connection = HTTPConnection(self._post_to.hostname, self._post_to.port, timeout=HTTP_WITHIN)
            target = f"{self._post_to.path}?{self._post_to.query}"
            connection.request("POST", target, body, {"content-type": "application/json"})
            with connection.getresponse() as response:
                status = response.status
            connection.close()
            assert status == 202, f"{status} for {body[:200]!r}"

    def close(self) -> None:
        """End the stream, and with it the session."""
        if self._connection.sock is not None:
            with contextlib.suppress(OSError):
                self._connection.sock.shutdown(2)
        self._reading.join(HTTP_WITHIN)

    def _read(self, path: str) -> None:
        headers = {"accept": "text/event-stream"}
        with _answer(self._connection, "GET", path, None, headers) as got:
            for name, data in _events(got):
                if name == "endpoint":
                    self._posting.put(data.decode())
                else:
                    self._incoming.put(data)


@contextlib.contextmanager
def _answer(
    connection: HTTPConnection, method: str, path: str, body: bytes | None, headers: dict[str, str]
) -> Generator[HTTPResponse]:
    """The response to a request; that the other side leaves meanwhile is for whoever waits for a body."""
    with contextlib.closing(connection), contextlib.suppress(OSError, HTTPException, ValueError):
        connection.request(method, path, body, headers)
        with connection.getresponse() as response:
            yield response


def _bodies(response: HTTPResponse) -> Iterator[bytes]:
    """The messages in a response, as they come."""
    kind = (response.getheader("content-type") or "").partition(";")[0]
    if kind == "text/event-stream":
        for _, data in _events(response):
            if data:
                yield data
    elif kind == "application/json":
        yield response.read()
    else:
        response.read()


def _events(response: HTTPResponse) -> Iterator[tuple[str, bytes]]:
    """The events of a stream, with their names."""
    name, data = "message", list[bytes]()
    while line := response.readline():
        field, _, value = line.rstrip(b"\r\n").partition(b":")
        value = value.removeprefix(b" ")
        if field == b"event":
            name = value.decode()
        elif field == b"data":
            data.append(value)
        elif not line.strip():
            if data:
                yield name, b"\n".join(data)
            name, data = "message", []
