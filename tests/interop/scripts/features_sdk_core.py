"""What the servers on the Python SDKs offer: `features.json`, and the tools that do something.

All of it is plain JSON data, as on the wire; `features_sdk_server.py` puts it into the SDKs.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Protocol

import anyio

DATA: dict[str, Any] = json.loads(Path(__file__).with_name("features.json").read_text(encoding="utf-8"))
LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")


class Says(Protocol):
    """What an SDK lets a server say while it serves a call."""

    #: The request is of the stateless era, where the SDK knows itself who wants to hear what.
    stateless: bool

    async def progress(self, done: float, total: float | None, message: str | None) -> None:
        """Report progress on the call."""
        ...

    async def tell(self, method: str, params: dict[str, Any] | None = None) -> None:
        """Send a notification; log messages belong to the call."""
        ...

    async def ask(self, method: str, params: dict[str, Any] | None) -> dict[str, Any]:
        """Ask the client; the raw answer."""
        ...


class Features:
    """The state of the server; it has one conversation."""

    def __init__(self) -> None:
        self.tools: list[dict[str, Any]] = list(DATA["tools"])
        self.level = "debug"
        self.subscribed: set[str] = set()
        self.cancelled = 0
        self.given_up = anyio.Event()

    @staticmethod
    def page(items: list[dict[str, Any]], member: str, cursor: str | None) -> dict[str, Any]:
        """One page of a list."""
        begin, end = int(cursor or 0), int(cursor or 0) + DATA["page"]
        following = {"nextCursor": str(end)} if end < len(items) else {}
        return {member: items[begin:end], **following}

    @staticmethod
    def complete(argument: str, typed: str, known: dict[str, str]) -> dict[str, Any]:
        """Values that show what was asked for."""
        values = [f"{typed} {argument} {known.get('tone', '')}".strip()]
        return {"values": values, "total": 7, "hasMore": True}

    async def call(self, name: str, arguments: dict[str, Any], says: Says) -> dict[str, Any]:
        """Serve a call."""
        if name in DATA["results"]:
            return DATA["results"][name]
        if name in DATA["questions"]:
            question = DATA["questions"][name]
            answer = await says.ask(question["method"], question.get("params"))
            if name == "visit" and not says.stateless:
                await says.tell("notifications/elicitation/complete", {"elicitationId": "visit-7"})
            return {"content": [], "structuredContent": {"answer": answer}}
        return {"content": [{"type": "text", "text": await getattr(self, f"_{name}")(arguments, says)}]}

    async def _count(self, arguments: dict[str, Any], says: Says) -> str:
        for step in (1, 2, 3):
            await says.progress(step, 3, f"step {step} é🙂")
        return "counted to 3"

    async def _tell(self, arguments: dict[str, Any], says: Says) -> str:
        for level in ("debug", "warning", "error"):
            if LEVELS.index(level) >= LEVELS.index(self.level):
                params = {"level": level, "logger": "features", "data": {"text": f"{level} é🙂"}}
                await says.tell("notifications/message", params)
        return "told"

    async def _wait(self, arguments: dict[str, Any], says: Says) -> str:
        try:
            await says.progress(1, None, None)
            await anyio.Event().wait()
        finally:
            self.cancelled += 1
            self.given_up.set()
        return "never"

    async def _cancellations(self, arguments: dict[str, Any], says: Says) -> str:
        await self.given_up.wait()
        return str(self.cancelled)

    async def _grow(self, arguments: dict[str, Any], says: Says) -> str:
        if DATA["grown"] in self.tools:
            self.tools.remove(DATA["grown"])
        else:
            self.tools.append(DATA["grown"])
        for what in ("tools", "resources", "prompts"):
            await says.tell(f"notifications/{what}/list_changed")
        return "done"

    async def _touch(self, arguments: dict[str, Any], says: Says) -> str:
        if says.stateless or arguments["uri"] in self.subscribed:
            await says.tell("notifications/resources/updated", {"uri": arguments["uri"]})
        return "touched"
