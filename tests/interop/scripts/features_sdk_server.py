"""A server on the official Python SDK, 1.x or 2.x, that has each feature of the handshake era once.

`features_sdk_server.py` serves stdio, `features_sdk_server.py PORT` Streamable HTTP at `/mcp`.
"""

# The SDKs are not where the types of this project are checked.
# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false, reportCallIssue=false

from __future__ import annotations

import contextlib
import sys
from base64 import b64decode
from collections.abc import AsyncIterator
from importlib.metadata import version
from typing import Any

import anyio
import mcp
import uvicorn
from features_sdk_core import DATA, Features
from mcp import types
from mcp.server.lowlevel.server import NotificationOptions, Server
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.message import ServerMessageMetadata
from starlette.applications import Starlette
from starlette.routing import Mount

OLD = version("mcp").startswith("1.")
NOT_FOUND = -32002
features = Features()
NOTES = {
    "notifications/message": types.LoggingMessageNotification,
    "notifications/tools/list_changed": types.ToolListChangedNotification,
    "notifications/resources/list_changed": types.ResourceListChangedNotification,
    "notifications/prompts/list_changed": types.PromptListChangedNotification,
    "notifications/resources/updated": types.ResourceUpdatedNotification,
    "notifications/elicitation/complete": types.ElicitCompleteNotification,
}
QUESTIONS = {
    "sampling/createMessage": (types.CreateMessageRequest, types.CreateMessageResultWithTools),
    "elicitation/create": (types.ElicitRequest, types.ElicitResult),
    "roots/list": (types.ListRootsRequest, types.ListRootsResult),
    "ping": (types.PingRequest, types.EmptyResult),
}


class Talk:
    """What the server says in the course of a call."""

    def __init__(self, context: Any) -> None:
        self.session = context.session
        self.id = context.request_id
        self.token = context.meta and (context.meta.progressToken if OLD else context.meta["progress_token"])

    async def progress(self, done: float, total: float | None, message: str | None) -> None:
        """Report progress on the call."""
        await self.session.send_progress_notification(
            self.token, done, total=total, message=message, related_request_id=str(self.id)
        )

    async def tell(self, method: str, params: dict[str, Any] | None = None) -> None:
        """Send a notification; log messages belong to the call."""
        note = NOTES[method].model_validate({"method": method, **({"params": params} if params else {})})
        related = self.id if method == "notifications/message" else None
        await self.session.send_notification(types.ServerNotification(note) if OLD else note, related)

    async def ask(self, method: str, params: dict[str, Any] | None) -> dict[str, Any]:
        """Ask the client; the raw answer."""
        kind, result_kind = QUESTIONS[method]
        if params is not None and "messages" in params and "tools" not in params:
            result_kind = types.CreateMessageResult
        request = kind.model_validate({"method": method, **({"params": params} if params else {})})
        metadata = ServerMessageMetadata(related_request_id=self.id)
        asked: Any = types.ServerRequest(request) if OLD else request
        result = await self.session.send_request(asked, result_kind, metadata=metadata)
        return result.model_dump(mode="json", by_alias=True, exclude_none=True)


def page(kind: Any, items: list[Any], member: str, params: Any) -> Any:
    """A page of a list, as the SDK wants it."""
    return kind.model_validate(features.page(items, member, params and params.cursor))


def missing(uri: str) -> Exception:
    """There is no such resource."""
    told = (NOT_FOUND, "Resource not found", {"uri": uri})
    if OLD:
        return mcp.McpError(types.ErrorData(code=told[0], message=told[1], data=told[2]))
    return mcp.MCPError(*told)


def server_1() -> Any:
    """On 1.x: handlers by decorators."""
    from mcp.server.lowlevel.helper_types import ReadResourceContents

    info = {**DATA["info"], "icons": [types.Icon(**icon) for icon in DATA["info"]["icons"]]}
    website = info.pop("websiteUrl")
    server: Any = Server(**info, website_url=website, instructions=DATA["instructions"])

    @server.list_tools()
    async def list_tools(request: types.ListToolsRequest) -> types.ListToolsResult:
        return page(types.ListToolsResult, features.tools, "tools", request.params)

    @server.call_tool(validate_input=False)
    async def call_tool(name: str, arguments: dict[str, Any]) -> types.CallToolResult:
        result = await features.call(name, arguments, Talk(server.request_context))
        return types.CallToolResult.model_validate(result)

    @server.list_resources()
    async def list_resources(request: types.ListResourcesRequest) -> types.ListResourcesResult:
        return page(types.ListResourcesResult, DATA["resources"], "resources", request.params)

    @server.list_resource_templates()
    async def list_templates() -> list[types.ResourceTemplate]:
        return [types.ResourceTemplate.model_validate(each) for each in DATA["templates"]]

    @server.read_resource()
    async def read_resource(uri: Any) -> list[ReadResourceContents]:
        each = DATA["contents"].get(str(uri))
        if each is None:
            raise missing(str(uri))
        content = each["text"] if "text" in each else b64decode(each["blob"])
        return [ReadResourceContents(content, each["mimeType"])]

    @server.subscribe_resource()
    async def subscribe(uri: Any) -> None:
        features.subscribed.add(str(uri))

    @server.unsubscribe_resource()
    async def unsubscribe(uri: Any) -> None:
        features.subscribed.discard(str(uri))

    @server.list_prompts()
    async def list_prompts(request: types.ListPromptsRequest) -> types.ListPromptsResult:
        return page(types.ListPromptsResult, DATA["prompts"], "prompts", request.params)

    @server.get_prompt()
    async def get_prompt(name: str, arguments: dict[str, str] | None) -> types.GetPromptResult:
        return types.GetPromptResult.model_validate(DATA["prompt"])

    @server.completion()
    async def complete(ref: Any, argument: Any, context: Any) -> types.Completion:
        known = (context and context.arguments) or {}
        return types.Completion.model_validate(features.complete(argument.name, argument.value, known))

    @server.set_logging_level()
    async def set_level(level: str) -> None:
        features.level = level

    return server


def server_2() -> Any:
    """On 2.x: handlers as arguments."""

    async def call_tool(context: Any, params: Any) -> Any:
        result = await features.call(params.name, params.arguments or {}, Talk(context))
        return types.CallToolResult.model_validate(result)

    async def read_resource(context: Any, params: Any) -> Any:
        each = DATA["contents"].get(params.uri)
        if each is None:
            raise missing(params.uri)
        return types.ReadResourceResult.model_validate({"contents": [each]})

    async def subscribe(context: Any, params: Any) -> Any:
        features.subscribed.add(params.uri)
        return types.EmptyResult()

    async def unsubscribe(context: Any, params: Any) -> Any:
        features.subscribed.discard(params.uri)
        return types.EmptyResult()

    async def get_prompt(context: Any, params: Any) -> Any:
        return types.GetPromptResult.model_validate(DATA["prompt"])

    async def complete(context: Any, params: Any) -> Any:
        known = (params.context and params.context.arguments) or {}
        completion = features.complete(params.argument.name, params.argument.value, known)
        return types.CompleteResult.model_validate({"completion": completion})

    async def set_level(context: Any, params: Any) -> Any:
        features.level = params.level
        return types.EmptyResult()

    def listing(kind: Any, items: list[Any], member: str) -> Any:
        async def list_them(context: Any, params: Any) -> Any:
            return page(kind, items, member, params)

        return list_them

    info = DATA["info"]
    return Server(
        info["name"],
        version=info["version"],
        website_url=info["websiteUrl"],
        icons=[types.Icon.model_validate(icon) for icon in info["icons"]],
        instructions=DATA["instructions"],
        on_list_tools=listing(types.ListToolsResult, features.tools, "tools"),
        on_call_tool=call_tool,
        on_list_resources=listing(types.ListResourcesResult, DATA["resources"], "resources"),
        on_list_resource_templates=listing(
            types.ListResourceTemplatesResult, DATA["templates"], "resourceTemplates"
        ),
        on_read_resource=read_resource,
        on_subscribe_resource=subscribe,
        on_unsubscribe_resource=unsubscribe,
        on_list_prompts=listing(types.ListPromptsResult, DATA["prompts"], "prompts"),
        on_get_prompt=get_prompt,
        on_completion=complete,
        on_set_logging_level=set_level,
    )


def declare(server: Any) -> None:
    """Say what is served: lists that change and, which 1.x never says by itself, subscriptions."""
    options = server.create_initialization_options(NotificationOptions(True, True, True))
    options.capabilities.resources.subscribe = True
    server.create_initialization_options = lambda *_: options


async def serve_stdio(server: Any) -> None:
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


def serve_http(server: Any, port: int) -> None:
    manager = StreamableHTTPSessionManager(server)

    @contextlib.asynccontextmanager
    async def running(_: Starlette) -> AsyncIterator[None]:
        async with manager.run():
            yield

    app = Starlette(routes=[Mount("/mcp", manager.handle_request)], lifespan=running)
    uvicorn.run(app, port=port, log_level="warning")


served = server_1() if OLD else server_2()
declare(served)
if len(sys.argv) > 1:
    serve_http(served, int(sys.argv[1]))
else:
    anyio.run(serve_stdio, served)
