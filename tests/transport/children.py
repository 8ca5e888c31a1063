"""Children for tests: small programs written in place, and a look at which of their processes live.

A program is Python without its site packages, so that it starts in no time. It finds these names:
`read()` gives the next message of its input or leaves with code 0 at the end of it, `say()` writes a
message, `reply()` answers a request, `hello()` answers the handshake, `serve(on_call)` answers
everything until the input ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from anywire.transport.process import ChildProcess, Command, Events

__all__ = ("Heard", "alive", "eventually", "program", "python")

PRELUDE = r"""
import json, os, signal, subprocess, sys, time

def read():
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    return json.loads(line)

def say(message):
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()

def reply(request, result=None):
    say({"jsonrpc": "2.0", "id": request["id"], "result": {} if result is None else result})

def text(request, words):
    reply(request, {"content": [{"type": "text", "text": words}]})

def greeting(request):
    return {
        "protocolVersion": request["params"]["protocolVersion"],
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "child", "version": "1"},
    }

def hello():
    request = read()
    reply(request, greeting(request))
    read()

def serve(on_call=lambda request: text(request, "called")):
    while True:
        request = read()
        if request.get("method") == "initialize":
            reply(request, greeting(request))
        elif request.get("method") == "tools/call":
            on_call(request)
        elif "id" in request and "method" in request:
            reply(request)

def read_framed():
    length = None
    while (line := sys.stdin.buffer.readline()) not in (b"\r\n", b"\n"):
        if not line:
            sys.exit(0)
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    if length is None:
        return None
    return json.loads(sys.stdin.buffer.read(length))

def say_framed(message):
    body = json.dumps(message).encode()
    sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
    sys.stdout.buffer.flush()

def serve_framed():
    while True:
        request = read_framed()
        if request is not None and "id" in request:
            result = greeting(request) if request["method"] == "initialize" else {}
            say_framed({"jsonrpc": "2.0", "id": request["id"], "result": result})
"""


def python() -> list[str]:
    """The interpreter, with nothing but the standard library."""
    return [sys.executable, "-I", "-S"]


def program(code: str) -> list[str]:
    """The command line of a child that runs this code."""
    return [*python(), "-c", PRELUDE + code]


class Heard:
    """What a child said to whom it belongs."""

    def __init__(self) -> None:
        self.output = bytearray()
        self.stderr: list[bytes] = []
        self.ended = asyncio.Event()
        self.input_closed = asyncio.Event()

    def events(self, stderr: Callable[[bytes], None] | None = None) -> Events:
        """The callbacks that fill this."""
        return Events(
            output=self.output.extend,
            output_end=self.ended.set,
            room=lambda: None,
            stderr=stderr or self.stderr.append,
            input_closed=self.input_closed.set,
        )

    async def spawn(self, code: str, **options: Any) -> ChildProcess:
        """Start a program that says something to this."""
        return await ChildProcess.spawn(Command(tuple(program(code)), **options), self.events())

    async def until(self, words: bytes) -> None:
        """Wait until these words are in the output."""
        await eventually(lambda: words in self.output)


async def eventually(condition: Callable[[], bool], within: float = 10.0) -> None:
    """Wait, within bounds, until a condition holds."""
    async with asyncio.timeout(within):
        while not condition():  # noqa: ASYNC110 what other processes do has no event here
            await asyncio.sleep(0.01)


def alive(pid: int) -> bool:
    """Whether a process runs; a zombie does not."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] not in b"ZX"
    return False


def carrying(token: str) -> dict[int, str]:
    """The live processes that have this text in their environment, with their command lines."""
    found: dict[int, str] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            with contextlib.suppress(OSError):
                if token.encode() in (entry / "environ").read_bytes() and alive(int(entry.name)):
                    command = (entry / "cmdline").read_bytes().replace(b"\0", b" ")
                    found[int(entry.name)] = command.decode(errors="replace")[-200:]
    return found


def numbers(text: bytes | bytearray) -> Mapping[str, int]:
    """Read what a child printed as `name=number` words."""
    words = (word.partition("=") for word in bytes(text).decode().split())
    return {name: int(number) for name, equals, number in words if equals}
