"""Servers over HTTP that do not know the question which era they are of, and ones that refuse it as their era does."""

from __future__ import annotations

import asyncio
import json
import socket
from typing import Any

import pytest

from anywire import ConnectFailed, Limits, PeerError, connect
from anywire.errors import HttpStatusError, TransportBroken
from tests.http.crooked import JSON, Asked, Out, crooked, reply

MODERN, LEGACY = "2026-07-28", "2025-11-25"
STREAM = "text/event-stream"
DISCOVERED: dict[str, Any] = {"resultType": "complete", "supportedVersions": [MODERN], "capabilities": {}}
#: With connections that persist in vain, what should be told at once would take longer than a test has.
PATIENT = Limits(connect_seconds=60.0)


def refusal(code: object, data: object = None, id: object = None) -> bytes:
    """An error reply, which names no request unless it is told to."""
    detail = {"code": code, "message": "no"} | ({} if data is None else {"data": data})
    return json.dumps({"jsonrpc": "2.0", "id": id, "error": detail}).encode()


@pytest.mark.parametrize(
    ("status", "content", "body"),
    [
        (200, JSON, refusal(-32601)),
        (200, JSON, refusal("nope")),
        (200, JSON, b"null"),
        (200, JSON, b"{}"),
        (200, "text/html", b"<html>hello</html>"),
        (200, STREAM, b""),
        (200, STREAM, b"data: " + refusal(-32000) + b"\n\n"),
        (202, None, b""),
        (204, None, b""),
        (400, JSON, refusal(-32000)),
        (400, JSON, refusal(-32600, id="server-error")),
        (400, JSON, refusal(-32022, {"supported": ["2031-01-01"], "requested": MODERN})),
        (400, JSON, b'{"detail":"no session"}'),
        (400, "text/plain", b"Mcp-Session-Id header is required"),
        (404, "text/plain", b"no such session"),
        (404, JSON, refusal(-32001)),
        (405, None, b""),
        (406, "text/plain", b"not acceptable"),
        (415, None, b""),
        (422, JSON, b'{"detail":[]}'),
        (500, "text/html", b"<html>oops</html>"),
        (500, JSON, refusal(-32603)),
        (501, None, b""),
    ],
)
async def test_whatever_the_refusal_a_handshake_follows(
    status: int, content: str | None, body: bytes
) -> None:
    """At once, and with the session that it brings."""

    async def quirk(asked: Asked, out: Out) -> bool | None:
        if asked.rpc != "server/discover":
            return None
        await out.whole(status, content, body)
        return True

    async with crooked(quirk) as server, connect(server.url, limits=PATIENT) as client:
        assert client.revision == LEGACY
        assert await client.tools() == []
        assert [each.rpc for each in server.seen if each.method == "POST"] == [
            "server/discover",
            "initialize",
            "notifications/initialized",
            "tools/list",
        ]
        assert server.asked("POST", "tools/list")[0].get("Mcp-Session-Id") == "session-1"


async def test_a_connection_that_is_cut_says_nothing_and_a_handshake_follows() -> None:
    """As from a server that does not survive the question."""

    async def quirk(asked: Asked, out: Out) -> bool | None:
        if asked.rpc != "server/discover":
            return None
        out.cut()
        return True

    async with crooked(quirk) as server:
        async with connect(server.url, limits=PATIENT) as client:
            assert client.revision == LEGACY
        with pytest.raises(TransportBroken):
            await connect(server.url, limits=PATIENT, era="modern").open()
        assert len(server.asked("POST", "server/discover")) == 2


@pytest.mark.parametrize("status", [401, 403, 429, 502, 503])
async def test_who_is_not_let_in_is_told_so_and_shakes_no_hands(status: int) -> None:
    """Such a refusal says nothing about eras."""

    async def quirk(_: Asked, out: Out) -> bool:
        await out.whole(status, "text/plain", b"no")
        return True

    async with crooked(quirk) as server:
        with pytest.raises(HttpStatusError) as failed:
            await connect(server.url, limits=PATIENT).open()
        assert failed.value.status == status
        assert {each.rpc for each in server.seen} == {"server/discover"}


@pytest.mark.parametrize("named", [True, False], ids=["by its id", "by nothing"])
@pytest.mark.parametrize("status", [200, 400])
async def test_a_refusal_that_names_a_revision_we_speak_is_asked_again(status: int, named: bool) -> None:
    """Also where the server has not read which request it refused."""

    async def quirk(asked: Asked, out: Out) -> bool | None:
        if asked.rpc != "server/discover":
            return None
        if len(server.asked("POST", "server/discover")) > 1:
            await out.whole(200, JSON, reply(asked, DISCOVERED))
            return True
        id = asked.message["id"] if named else None
        await out.whole(status, JSON, refusal(-32022, {"supported": [MODERN]}, id))
        return True

    async with crooked(quirk) as server, connect(server.url, limits=PATIENT) as client:
        assert client.revision == MODERN
        assert server.asked("POST", "initialize") == []
        assert [each.get("MCP-Protocol-Version") for each in server.seen] == [MODERN, MODERN]


@pytest.mark.parametrize("named", [True, False], ids=["by its id", "by nothing"])
async def test_headers_that_somebody_has_changed_are_no_reason_for_a_handshake(named: bool) -> None:
    """The server's error is the program's."""

    async def quirk(asked: Asked, out: Out) -> bool:
        await out.whole(400, JSON, refusal(-32020, None, asked.message["id"] if named else None))
        return True

    async with crooked(quirk) as server:
        with pytest.raises(PeerError) as failed:
            await connect(server.url, limits=PATIENT).open()
        assert failed.value.code == -32020
        assert [each.rpc for each in server.seen] == ["server/discover"]


@pytest.mark.parametrize("era", ["auto", "modern", "legacy"])
async def test_a_server_that_is_not_there_is_told_at_once(era: Any) -> None:
    """Whatever it would have been asked first."""
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{nobody.getsockname()[1]}/mcp"
        async with asyncio.timeout(5):
            with pytest.raises(ConnectFailed, match="Cannot connect"):
                await connect(url, limits=PATIENT, era=era).open()


async def test_a_server_that_says_nothing_is_greeted_with_a_handshake_in_the_end() -> None:
    """Nothing is remembered of it: it may be a slow one."""

    async def quirk(asked: Asked, out: Out) -> bool | None:
        if asked.rpc != "server/discover":
            return None
        await out.gone.wait()
        return True

    async with crooked(quirk) as server:
        for _ in range(2):
            async with connect(server.url, limits=Limits(connect_seconds=1.0)) as client:
                assert client.revision == LEGACY
        assert len(server.asked("POST", "server/discover")) == 2
