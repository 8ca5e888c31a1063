"""The official Python SDKs, 1.x and 2.x, under one set of names, for `features_client.py`.

Everything that goes out or comes in is plain JSON data, as it is on the wire.
"""

# The SDKs are not where the types of this project are checked.
# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false, reportCallIssue=false

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncIterator, Callable
from importlib.metadata import version
from typing import Any

import anyio
import mcp
from mcp import types
from pydantic import AnyUrl

OLD = version("mcp").startswith("1.")
McpError: Any = mcp.McpError if OLD else mcp.MCPError


def dump(model: Any) -> Any:
    """A model of the SDK as it is on the wire."""
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


class Heard:
    """What the server told by itself."""

    def __init__(self) -> None:
        self.notes: list[tuple[str, Any]] = []
        self._news = anyio.Event()

    async def hear(self, message: Any) -> None:
        """The SDK's handler of messages."""
        note = getattr(message, "root", message)
        method = getattr(note, "method", None)
        quiet = ("notifications/message", "notifications/progress")  # they have handlers of their own
        if method is not None and method.startswith("notifications/") and method not in quiet:
            params = {} if note.params is None else dump(note.params)
            params.pop("_meta", None)
            self.add(method, params)

    async def hear_log(self, params: Any) -> None:
        """The SDK's handler of log messages."""
        self.add("log", dump(params))

    def add(self, method: str, params: Any) -> None:
        """Something was told."""
        self.notes.append((method, params))
        self._news.set()

    async def until(self, enough: Callable[[list[tuple[str, Any]]], bool]) -> list[tuple[str, Any]]:
        """Wait until enough was told; take it all."""
        while not enough(self.notes):
            self._news = anyio.Event()
            await self._news.wait()
        taken, self.notes = self.notes, []
        return taken


class Answers:
    """What the client answers to the server's questions, and which they were."""

    def __init__(self, roots: list[dict[str, Any]]) -> None:
        self.roots = roots
        self.asked: list[Any] = []
        #: What the user does with the next form or address, and what the model says next.
        self.user: dict[str, Any] = {}
        self.model: dict[str, Any] = {}

    async def sample(self, context: Any, params: Any) -> Any:
        """The SDK's callback."""
        self.asked.append(dump(params))
        kind = types.CreateMessageResult
        if isinstance(self.model["content"], list):
            kind = types.CreateMessageResultWithTools
        return kind.model_validate(self.model)

    async def elicit(self, context: Any, params: Any) -> Any:
        """The SDK's callback."""
        self.asked.append(dump(params))
        return types.ElicitResult.model_validate(self.user)

    async def list_roots(self, context: Any) -> Any:
        """The SDK's callback."""
        return types.ListRootsResult.model_validate({"roots": self.roots})

    def taken(self) -> list[Any]:
        """The questions since the last look."""
        asked, self.asked = self.asked, []
        return asked


class Peer:
    """A client of either SDK."""

    def __init__(self, client: Any, heard: Heard, answers: Answers, shaken: Any) -> None:
        self.client = client
        self.session = client if OLD else client.session
        self.heard = heard
        self.answers = answers
        self.shaken = shaken
        self.stateless = shaken["protocolVersion"] >= "2026"
        self._meta: dict[str, Any] = {}

    async def call(self, tool: str, arguments: dict[str, Any] | None = None, progress: Any = None) -> Any:
        """Call a tool; the result is as on the wire."""
        meta: Any = {"meta": self._meta} if self._meta else {}
        return dump(await self.client.call_tool(tool, arguments or {}, progress_callback=progress, **meta))

    async def want_log(self, level: str) -> None:
        """Ask for log messages: once for all, or in the stateless era with each request."""
        if self.stateless:
            self._meta = {"io.modelcontextprotocol/logLevel": level}
        else:
            await self.client.set_logging_level(level)

    @contextlib.asynccontextmanager
    async def listening(self, uri: str = "") -> AsyncIterator[None]:
        """Be told of a resource, or of lists, as long as the block lasts."""
        if self.stateless:
            lists = dict.fromkeys(("tools", "prompts", "resources"), not uri)
            wanted = {f"{each}_list_changed": wants for each, wants in lists.items()}
            async with self.client.listen(**wanted, resource_subscriptions=[uri] if uri else []):
                yield
            # The SDK tells the server of the end in the background: this call gives it the time.
            await self.call("numbers")
        elif uri:
            named: Any = AnyUrl(uri) if OLD else uri
            await self.client.subscribe_resource(named)
            yield
            await self.client.unsubscribe_resource(named)
        else:
            yield

    async def pages(self, method: str, member: str) -> Any:
        """All pages of a list."""
        items: list[Any] = []
        cursor, pages = None, 0
        while cursor is not None or pages == 0:
            params = types.PaginatedRequestParams(cursor=cursor)
            page = dump(await getattr(self.session, method)(params=params))
            items += page[member]
            cursor, pages = page.get("nextCursor"), pages + 1
        return {"pages": pages, "items": items}

    async def cancel_last(self, reason: str) -> None:
        """Withdraw the last request: 2.x does by itself when its caller is cancelled."""
        if OLD:
            params = types.CancelledNotificationParams(requestId=self.session._request_id - 1, reason=reason)
            note = types.CancelledNotification(params=params)
            await self.session.send_notification(types.ClientNotification(note))


@contextlib.asynccontextmanager
async def connected(mode: str, command: list[str], roots: list[dict[str, Any]]) -> AsyncIterator[Peer]:
    """A client of a command or a URL; `mode` is that of 2.x."""
    heard, answers = Heard(), Answers(roots)
    sampling = types.SamplingCapability.model_validate({"tools": {}})
    callbacks: dict[str, Any] = {
        "sampling_callback": answers.sample,
        "sampling_capabilities": sampling,
        "elicitation_callback": answers.elicit,
        "list_roots_callback": answers.list_roots,
        "logging_callback": heard.hear_log,
        "message_handler": heard.hear,
        "client_info": types.Implementation(name="features-client", version="7"),
    }
    is_url = command[0].startswith("http")
    if OLD:
        async with (
            old_transport(command, is_url) as (read, write, *_),
            mcp.ClientSession(read, write, **callbacks) as session,
        ):
            yield Peer(session, heard, answers, dump(await session.initialize()))
    else:
        target: Any = command[0] if is_url else stdio(command)
        async with mcp.Client(target, mode=mode, **callbacks) as client:
            shaken = {
                "protocolVersion": client.protocol_version,
                "serverInfo": dump(client.server_info),
                "capabilities": dump(client.server_capabilities),
                "instructions": client.instructions,
            }
            yield Peer(client, heard, answers, shaken)


def stdio(command: list[str]) -> Any:
    """How a server is started."""
    return mcp.StdioServerParameters(command=command[0], args=command[1:], env=dict(os.environ))


def old_transport(command: list[str], is_url: bool) -> Any:
    """The way to a server, in 1.x."""
    if not is_url:
        return mcp.stdio_client(stdio(command))
    from mcp.client.streamable_http import streamable_http_client

    return streamable_http_client(command[0])
