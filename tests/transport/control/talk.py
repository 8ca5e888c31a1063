"""The other side of a control channel, played by a test: it says lines and waits, within bounds, for lines."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from typing import Any

from anywire.errors import AnywireError
from anywire.testing.line_wire import LineChannel

WITHIN = 10.0


class OtherSide:
    """Sits on one end of a channel."""

    def __init__(self, channel: LineChannel) -> None:
        self.channel = channel
        self.heard: deque[dict[str, Any]] = deque()
        self.closed_with: list[AnywireError | None] = []
        self.ended = False
        self._news = asyncio.Event()
        self._last = 0
        channel.on_line = self._take
        channel.callbacks.on_end = self._end
        channel.callbacks.on_close = self._close

    async def __aenter__(self) -> OtherSide:
        await self.channel.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.channel.close()

    # Out.

    def say(self, line: dict[str, Any] | str | bytes) -> None:
        """Write a line, given as plain JSON data or as it is."""
        data = line if isinstance(line, bytes) else line.encode() if isinstance(line, str) else encoded(line)
        self.channel.write(data + b"\n")

    def ask(self, subtype: str, /, **members: object) -> str:
        """Ask for something; returns the id under which that was done."""
        self._last += 1
        id = f"r{self._last}"
        body = {"subtype": subtype, **members}
        self.say({"type": "control_request", "request_id": id, "request": body})
        return id

    def message(self, server: str, message: dict[str, Any] | list[Any]) -> str:
        """Send a message of MCP to a server, or as one."""
        return self.ask("mcp_message", server_name=server, message=message)

    def call(self, server: str, id: object, tool: str, **arguments: object) -> str:
        """Call a tool."""
        params = {"name": tool, "arguments": arguments}
        return self.message(server, {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})

    def answer(self, id: str, response: object = None) -> None:
        """Answer a request with success."""
        given = {} if response is None else {"response": response}
        body = {"subtype": "success", "request_id": id, **given}
        self.say({"type": "control_response", "response": body})

    def refuse(self, id: str, error: str) -> None:
        """Answer a request with an error."""
        body = {"subtype": "error", "request_id": id, "error": error}
        self.say({"type": "control_response", "response": body})

    # In.

    async def hear(self) -> dict[str, Any]:
        """Wait for the next line."""
        async with asyncio.timeout(WITHIN):
            while not self.heard:
                self._news.clear()
                await self._news.wait()
        return self.heard.popleft()

    async def hear_answer(self, id: str) -> dict[str, Any]:
        """Wait for the answer to a request of ours; it must be the next line."""
        line = await self.hear()
        assert line["type"] == "control_response", line
        assert line["response"]["request_id"] == id, line
        return line["response"]

    async def hear_reply(self, id: str) -> Any:
        """Wait for the message that answers an `mcp_message` of ours."""
        return (await self.hear_answer(id))["response"]["mcp_response"]

    async def hear_message(self) -> tuple[str, Any]:
        """Wait for an `mcp_message` of the other side's; return its id and the message."""
        line = await self.hear()
        assert line["type"] == "control_request", line
        assert line["request"]["subtype"] == "mcp_message", line
        return line["request_id"], line["request"]["message"]

    async def hear_nothing(self) -> None:
        """Let everything happen that needs no time, and see that nothing has come."""
        for _ in range(60):
            await asyncio.sleep(0)
        assert not self.heard, list(self.heard)

    async def hear_the_end(self) -> None:
        """Wait until the other side has ended."""
        async with asyncio.timeout(WITHIN):
            while not (self.ended or self.closed_with):
                self._news.clear()
                await self._news.wait()

    def _take(self, line: bytes) -> None:
        self.heard.append(json.loads(line))
        self._news.set()

    def _end(self) -> None:
        self.ended = True
        self._news.set()

    def _close(self, error: AnywireError | None) -> None:
        self.closed_with.append(error)
        self._news.set()


def encoded(line: dict[str, Any]) -> bytes:
    """A line as hosts write it."""
    return json.dumps(line, ensure_ascii=False).encode("utf-8", "surrogatepass")


def initialize(id: object = 0, revision: str = "2025-06-18") -> dict[str, Any]:
    """The message that opens a conversation."""
    client = {"name": "host", "version": "1"}
    params: dict[str, Any] = {
        "protocolVersion": revision,
        "capabilities": {"roots": {}},
        "clientInfo": client,
    }
    return {"jsonrpc": "2.0", "id": id, "method": "initialize", "params": params}
