"""What does a call cost through a bridge?  Measures on this machine, all in turns.

    python docs/call_time.py             the median of 5 rounds
    python docs/call_time.py 3           of 3 rounds
    python docs/call_time.py 3 'other=some-bridge --stdio {url}' 'more=a-bridge --port {port} -- {command}'

Another bridge is a name and a command: with `{url}` it is one from stdio to HTTP, with `{port}` and
`{command}` one from HTTP to stdio, with `{command}` alone one from stdio to stdio.  It has to offer `/mcp`.

The first figure is the time of a call when there is one at a time, the second the number of calls in a
second when there are 64 at a time.  The servers answer at once, and so does whoever measures nearly: `direct`
is what these two cost alone.
"""

import asyncio
import itertools
import json
import os
import shlex
import signal
import socket
import statistics
import sys
import time
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Awaitable, Callable

PYTHON = shlex.quote(sys.executable)
THIS = f"{PYTHON} {shlex.quote(__file__)}"
COMMAND = f"{THIS} --answer-stdio"
BRIDGE = f"{PYTHON} -m anywire bridge"
ROUTES = {
    "stdio to HTTP": {"direct": COMMAND, "anywire": f"{BRIDGE} stdio {{url}}"},
    "HTTP to stdio": {
        "direct": f"{THIS} --answer-http {{port}}",
        "anywire": f"{BRIDGE} http://127.0.0.1:{{port}}/mcp -- {{command}}",
    },
    "stdio to stdio": {"direct": COMMAND, "anywire": f"{BRIDGE} stdio -- {{command}}"},
}
AT_ONCE, ALONE, TOGETHER = 64, 300, int(os.environ.get("CALLS", "10000"))
HEAD = (
    "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nContent-Type: application/json\r\n"
    "Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2025-11-25\r\n"
)
INITIALIZE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "stopwatch", "version": "1"},
}
Call = Callable[[str, dict[str, object]], Awaitable[bytes]]


# The servers.


def answer(text: bytes) -> bytes | None:
    message = json.loads(text)
    if "id" not in message:
        return None
    opened = {**INITIALIZE, "serverInfo": {"name": "answers", "version": "1"}}
    result = (
        opened if message["method"] == "initialize" else {"content": [{"type": "text", "text": "x" * 100}]}
    )
    return json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode()


def answer_stdio() -> None:
    for line in sys.stdin.buffer:
        if (reply := answer(line)) is not None:
            sys.stdout.buffer.write(reply + b"\n")
            sys.stdout.buffer.flush()


async def answer_http(port: int) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head, body = await read_http(reader)
                reply = answer(body) if head.startswith(b"POST") else None
                status = b"200 OK" if reply else b"202 Accepted" if body else b"405 Method Not Allowed"
                kind = b"Content-Type: application/json\r\n" if reply else b""
                length = b"Content-Length: %d\r\n\r\n" % len(reply or b"")
                writer.write(b"HTTP/1.1 " + status + b"\r\n" + kind + length + (reply or b""))
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", port)
    await server.serve_forever()


async def read_http(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    head = await reader.readuntil(b"\r\n\r\n")
    _, found, rest = head.lower().partition(b"content-length:")
    body = await reader.readexactly(int(rest.split(b"\r\n", 1)[0])) if found else b""
    return head, body


# The clients.


async def over_stdio(command: str) -> tuple[float, float]:
    child = await asyncio.create_subprocess_exec(
        *shlex.split(command), stdin=PIPE, stdout=PIPE, stderr=DEVNULL
    )
    assert child.stdin is not None
    assert child.stdout is not None
    writer, reader, waiting = child.stdin, child.stdout, {}

    async def listen() -> None:
        while line := await reader.readline():
            message = json.loads(line)
            if message.get("id") in waiting:
                waiting.pop(message["id"]).set_result(line)

    ids = itertools.count()

    async def call(method: str, params: dict[str, object]) -> bytes:
        id = next(ids)
        waiting[id] = asyncio.get_running_loop().create_future()
        writer.write(request(id, method, params) + b"\n")
        return await waiting[id]

    listening = asyncio.create_task(listen())
    try:
        await call("initialize", INITIALIZE)
        writer.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
        return await measure([call] * AT_ONCE)
    finally:
        writer.close()
        await asyncio.wait_for(child.wait(), 10)
        await listening


async def over_http(command: str, port: int) -> tuple[float, float]:
    child = await asyncio.create_subprocess_exec(*shlex.split(command), stdin=DEVNULL, stderr=DEVNULL)
    head = [HEAD.format(port)]

    async def connect() -> Call:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)

        async def call(method: str, params: dict[str, object]) -> bytes:
            body = request(id(writer), method, params)
            writer.write(f"{head[0]}Content-Length: {len(body)}\r\n\r\n".encode() + body)
            received, text = await read_http(reader)
            for line in received.split(b"\r\n"):
                if line.lower().startswith(b"mcp-session-id:") and len(head) == 1:
                    head.append("named")
                    head[0] += line.decode() + "\r\n"
            return text

        return call

    try:
        first = await patiently(connect)
        await first("initialize", INITIALIZE)
        return await measure([first, *[await connect() for _ in range(AT_ONCE - 1)]])
    finally:
        child.send_signal(signal.SIGTERM)
        await asyncio.wait_for(child.wait(), 10)


async def patiently(connect: Callable[[], Awaitable[Call]]) -> Call:
    for _ in range(1000):
        try:
            return await connect()
        except OSError:
            await asyncio.sleep(0.02)
    raise SystemExit("nobody listens")


def request(id: int, method: str, params: dict[str, object]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).encode()


async def measure(calls: list[Call]) -> tuple[float, float]:
    """Return the seconds of a call alone, and the calls in a second when there are many at once."""
    params: dict[str, object] = {"name": "echo", "arguments": {"text": "x" * 100}}
    took: list[float] = []
    for _ in range(ALONE):
        began = time.perf_counter()
        assert b"x" * 100 in await calls[0]("tools/call", params)
        took.append(time.perf_counter() - began)
    numbers = iter(range(TOGETHER))

    async def work(call: Call) -> None:
        for _ in numbers:
            await call("tools/call", params)

    began = time.perf_counter()
    await asyncio.gather(*map(work, calls))
    return statistics.median(took), TOGETHER / (time.perf_counter() - began)


# The measurement.


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def add(other: str) -> None:
    name, _, command = other.partition("=")
    route = (
        "stdio to HTTP"
        if "{url}" in command
        else "HTTP to stdio"
        if "{port}" in command
        else "stdio to stdio"
    )
    ROUTES[route][name] = command


async def run(route: str, command: str, url: str) -> tuple[float, float]:
    port = free_port()
    filled = command.replace("{url}", url).replace("{port}", str(port)).replace("{command}", COMMAND)
    async with asyncio.timeout(120):
        return await (over_http(filled, port) if route.startswith("HTTP") else over_stdio(filled))


async def main(rounds: int) -> None:
    """Measure in turns, so that whatever else the machine does falls on all alike."""
    port = free_port()
    server = await asyncio.create_subprocess_exec(sys.executable, __file__, "--answer-http", str(port))
    found: dict[tuple[str, str], list[tuple[float, float]]] = {}
    try:
        for _ in range(rounds):
            for route, commands in ROUTES.items():
                for name, command in commands.items():
                    figures = await run(route, command, f"http://127.0.0.1:{port}/mcp")
                    found.setdefault((route, name), []).append(figures)
    finally:
        server.kill()
        await server.wait()
    for (route, name), figures in found.items():
        alone, together = (statistics.median(each) for each in zip(*figures, strict=True))
        print(f"{route:16} {name:16} {1_000_000 * alone:6.0f} µs {together:8.0f} calls/s")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--answer-stdio"]:
        answer_stdio()
    elif sys.argv[1:2] == ["--answer-http"]:
        asyncio.run(answer_http(int(sys.argv[2])))
    else:
        for each in sys.argv[2:]:
            add(each)
        asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 5))
