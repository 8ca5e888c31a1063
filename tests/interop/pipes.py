"""A client that knows bytes and frames, and nothing of MCP.

It is as strict as a peer can be: any byte on the wire that is not part of a well-formed frame ends
the conversation with an error that shows it.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import re
import subprocess
import threading
import time
from collections.abc import Generator, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

from tests.interop.processes import spawn

Framing = Literal["newline", "headers"]
FRAMINGS: tuple[Framing, ...] = ("newline", "headers")

HEADER_NAME = b"Content-Length: "
HEADER = re.compile(HEADER_NAME + rb"(\d+)\r\n\r\n")
READ_SIZE = 1 << 16


class NotAFrame(AssertionError):
    """The other side wrote something that this framing does not allow."""


class Ended(AssertionError):
    """The other side closed its output while more was expected."""


def frame(body: bytes, framing: Framing) -> bytes:
    """A body as it stands on the wire."""
    if framing == "newline":
        assert b"\n" not in body, "this body cannot travel in a line"
        return body + b"\n"
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


class Splitter:
    """Cut a stream into bodies, and let nothing pass that is not one."""

    def __init__(self, framing: Framing) -> None:
        self._cut = self._cut_line if framing == "newline" else self._cut_block
        self._buffer = bytearray()
        self._missing = 0

    def feed(self, data: bytes) -> Iterator[bytes]:
        self._buffer += data
        while len(self._buffer) >= self._missing and (body := self._cut()) is not None:
            yield body

    def end(self) -> None:
        if self._buffer:
            raise NotAFrame(f"the stream ended within a frame: {bytes(self._buffer[:400])!r}")

    def _cut_line(self) -> bytes | None:
        line, newline, _ = self._buffer.partition(b"\n")
        if not newline:
            self._missing = len(self._buffer) + 1
            return None
        del self._buffer[: len(line) + 1]
        self._missing = 0
        return bytes(line)

    def _cut_block(self) -> bytes | None:
        header = HEADER.match(self._buffer)
        if header is None:
            begun = self._buffer[: len(HEADER_NAME)]
            if not HEADER_NAME.startswith(begun) or len(self._buffer) > 64 or b"\r\n\r\n" in self._buffer:
                raise NotAFrame(f"not a header block: {bytes(self._buffer[:400])!r}")
            return None
        start, size = header.end(), int(header[1])
        if len(self._buffer) < start + size:
            self._missing = start + size
            return None
        body = bytes(self._buffer[start : start + size])
        del self._buffer[: start + size]
        self._missing = 0
        return body


def split(data: bytes, framing: Framing) -> list[bytes]:
    """All the bodies of a finished stream."""
    splitter = Splitter(framing)
    bodies = list(splitter.feed(data))
    splitter.end()
    return bodies


def message(body: bytes) -> dict[str, Any]:
    """A body as a JSON-RPC message; anything else fails the test."""
    try:
        value: Any = json.loads(body)
    except ValueError as error:
        raise NotAFrame(f"not JSON ({error}): {body[:400]!r}") from None
    if not isinstance(value, dict) or value.get("jsonrpc") != "2.0":  # pyright: ignore[reportUnknownMemberType]
        raise NotAFrame(f"not a JSON-RPC message: {body[:400]!r}")
    return value  # pyright: ignore[reportUnknownVariableType]


def request(id: int | str, method: str, params: object = None) -> bytes:
    """A request, as plain ASCII JSON."""
    members: dict[str, object] = {"jsonrpc": "2.0", "id": id, "method": method}
    if params is not None:
        members["params"] = params
    return json.dumps(members).encode()


def call(id: int | str, tool: str, **arguments: object) -> bytes:
    """A request to call a tool."""
    return request(id, "tools/call", {"name": tool, "arguments": arguments})


INITIALIZED = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'


def initialize(id: int | str = 0) -> bytes:
    """The first request of a client of the handshake era."""
    who = {"name": "interop-driver", "version": "1"}
    return request(id, "initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": who})


class Conversation:
    """Frames to and from a program that is running; opened by `converse`."""

    def __init__(self, process: subprocess.Popen[bytes], framing: Framing) -> None:
        self.framing: Framing = framing
        self._process = process
        self._outgoing: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._incoming: queue.SimpleQueue[bytes | AssertionError] = queue.SimpleQueue()
        self._stderr = bytearray()
        self._threads = [
            threading.Thread(target=work, daemon=True)
            for work in (self._write, self._read, self._read_stderr)
        ]
        for thread in self._threads:
            thread.start()

    def send(self, *bodies: bytes) -> None:
        """Write these bodies, framed, at once."""
        self._outgoing.put(b"".join(frame(body, self.framing) for body in bodies))

    def close_input(self) -> None:
        """Say that nothing more will come."""
        self._outgoing.put(None)

    def receive(self, *, within: float = 20.0) -> bytes:
        """The next body."""
        try:
            got = self._incoming.get(timeout=within)
        except queue.Empty:
            raise AssertionError(f"nothing came for {within} s; stderr so far:\n{self.stderr}") from None
        if isinstance(got, AssertionError):
            self._incoming.put(got)
            raise type(got)(f"{got}; stderr so far:\n{self.stderr}")
        return got

    def receive_message(self, *, within: float = 20.0) -> dict[str, Any]:
        """The next body as a JSON-RPC message."""
        return message(self.receive(within=within))

    def rest(self, *, within: float = 20.0) -> list[bytes]:
        """All that comes until the other side ends."""
        deadline = time.monotonic() + within
        bodies: list[bytes] = []
        with contextlib.suppress(Ended):
            while True:
                bodies.append(self.receive(within=max(deadline - time.monotonic(), 0.0)))
        return bodies

    def finish(self, *, within: float = 10.0) -> list[bytes]:
        """Close the input; the program must end in time with code 0. Returns what it still said."""
        self.close_input()
        bodies = self.rest(within=within)
        returncode = self._process.wait(timeout=within)
        for thread in self._threads:
            thread.join(timeout=within)
        assert returncode == 0, f"exit code {returncode}; stderr:\n{self.stderr}"
        return bodies

    @property
    def stderr(self) -> str:
        """What the program has said on stderr so far."""
        return bytes(self._stderr).decode(errors="replace")

    def _write(self) -> None:
        stdin = self._process.stdin
        assert stdin is not None
        with contextlib.suppress(OSError, ValueError):
            while (data := self._outgoing.get()) is not None:
                view = memoryview(data)
                while view:
                    view = view[os.write(stdin.fileno(), view[:READ_SIZE]) :]
            stdin.close()

    def _read(self) -> None:
        splitter = Splitter(self.framing)
        end: AssertionError = Ended("the program closed its output")
        try:
            for chunk in chunks(self._process.stdout):
                for body in splitter.feed(chunk):
                    self._incoming.put(body)
            splitter.end()
        except NotAFrame as error:
            end = error
        self._incoming.put(end)

    def _read_stderr(self) -> None:
        if self._process.stderr is not None:
            for chunk in chunks(self._process.stderr):
                self._stderr += chunk


def chunks(pipe: Any) -> Iterable[bytes]:
    """What comes out of a pipe, as it comes, to its end."""
    with contextlib.suppress(OSError, ValueError):
        while chunk := os.read(pipe.fileno(), READ_SIZE):
            yield chunk


@contextlib.contextmanager
def converse(
    argv: Sequence[str | Path],
    framing: Framing,
    *,
    shared_stderr: bool = False,
) -> Generator[Conversation]:
    """Start a program and talk with it; with `shared_stderr` its stderr is the very pipe of its stdout."""
    with spawn(argv, stderr=subprocess.STDOUT if shared_stderr else subprocess.PIPE) as process:
        conversation = Conversation(process, framing)
        try:
            yield conversation
        finally:
            conversation.close_input()
