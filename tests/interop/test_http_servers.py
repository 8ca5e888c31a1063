"""The reference server on HTTP, in both transports, called by anywire's client and through its bridge."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from anywire import Client, connect
from tests.interop.listening import free_port, listening
from tests.interop.processes import anywire, run

pytestmark = pytest.mark.interop

EVERYTHING = Path("node_modules/@modelcontextprotocol/server-everything/dist/index.js")


@pytest.fixture(scope="module", params=["streamableHttp", "sse"])
def url(request: pytest.FixtureRequest, node_peers: Path) -> Iterator[str]:
    """Where server-everything listens."""
    port = free_port()
    program = ["node", node_peers / EVERYTHING, request.param]
    with listening(program, port, {"PORT": str(port)}):
        yield f"http://127.0.0.1:{port}/" + ("sse" if request.param == "sse" else "mcp")


async def use(client: Client) -> None:
    """What a client does with a server: look round, call, hear of progress, fail, call many at once."""
    names = {tool.name for tool in await client.tools()}
    assert {"echo", "get-sum", "trigger-long-running-operation"} <= names
    assert (await client.call_tool("echo", {"message": "é🙂"})).text == "Echo: é🙂"
    big = "x" * 50_000
    assert (await client.call_tool("echo", {"message": big})).text == f"Echo: {big}"
    seen: list[float] = []
    result = await client.call_tool(
        "trigger-long-running-operation",
        {"duration": 0.4, "steps": 4},
        on_progress=lambda progress, total, message: seen.append(progress),
    )
    assert not result.is_error
    assert seen == [1, 2, 3, 4]
    await client.ping()
    missing = await client.call_tool("no-such-tool")
    assert missing.is_error


async def test_the_server_is_fully_usable(url: str) -> None:
    """A plain URL does for the old transport as well: it is found out."""
    async with connect(url) as client:
        await use(client)


async def test_two_clients_do_not_hear_of_each_other(url: str) -> None:
    async with connect(url) as one, connect(url) as other:
        await use(one)
        await use(other)


@pytest.mark.parametrize("face", ["stdio", "stdio+headers"])
def test_the_bridge_reaches_the_server_from_stdio(url: str, face: str) -> None:
    target = f"sse+{url}" if url.endswith("/sse") else url
    bodies = [
        b'{"jsonrpc":"2.0","id":"\\u0061","method":"initialize","params":{"protocolVersion":"2025-06-18",'
        b'"capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}',
        b'{"jsonrpc":"2.0","method":"notifications/initialized"}',
        b'{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"message":"x"}}}',
    ]
    if face == "stdio":
        stdin = b"".join(body + b"\n" for body in bodies)
    else:
        stdin = b"".join(b"Content-Length: %d\r\n\r\n%b" % (len(body), body) for body in bodies)
    done = run(anywire("bridge", face, target), within=60, stdin=stdin)
    assert done.returncode == 0, done
    lines = [
        line for line in done.stdout.replace(b"}Content", b"}\nContent").splitlines() if line[:1] == b"{"
    ]
    replies = {reply["id"]: reply for reply in map(json.loads, lines) if "id" in reply}
    assert replies["a"]["result"]["protocolVersion"] == "2025-06-18"
    assert replies[2]["result"]["content"] == [{"type": "text", "text": "Echo: x"}]
