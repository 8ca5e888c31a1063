"""A server on the official Python SDK, 1.x or 2.x, that has each feature of the protocol once.

`features_sdk_server.py ERA [PORT]` serves stdio, or Streamable HTTP at `/mcp`.  On 2.x it serves both
eras, whichever is named.
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


class InputWanted(Exception):
    """The call needs an answer first."""


class Talk:
    """What the server says in the course of a call."""

    def __init__(self, context: Any, answers: dict[str, Any] | None = None) -> None:
        self.session = context.session
        self.id = context.request_id
        self.meta = context.meta
        self.answers = answers or {}
        self.stateless = not OLD and context.protocol_version >= "2026"

    async def progress(self, done: float, total: float | None, message: str | None) -> None:
        """Report progress on the call."""
        if OLD:
            token = self.meta.progressToken
            await self.session.send_progress_notification(token, done, total, message, str(self.id))
        else:
            await self.session.report_progress(done, total, message)

    async def tell(self, method: str, params: dict[str, Any] | None = None) -> None:
        """Send a notification; log messages belong to the call."""
        if self.stateless and method == "notifications/message":
            await self.session.send_log_message(**(params or {}))
            return
        if self.stateless:
            event = {
                "tools": ToolsListChanged,
                "prompts": PromptsListChanged,
                "resources": ResourcesListChanged,
            }
            what = method.split("/")[1]
            await bus.publish(event[what]() if params is None else ResourceUpdated(**params))
            return
        note = NOTES[method].model_validate({"method": method, **({"params": params} if params else {})})
        related = self.id if method == "notifications/message" else None
        await self.session.send_notification(types.ServerNotification(note) if OLD else note, related)

    async def ask(self, method: str, params: dict[str, Any] | None) -> dict[str, Any]:
        """Ask the client; the raw answer."""
        if self.stateless:
            if "it" not in self.answers:
                plain = {key: value for key, value in (params or {}).items() if key != "elicitationId"}
                raise InputWanted({"method": method, **({"params": plain} if plain else {})})
            return self.answers["it"].model_dump(mode="json", by_alias=True, exclude_none=True)
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


def missing(uri: str, revision: str = "") -> Exception:
    """There is no such resource."""
    message, data = "Resource not found", {"uri": uri}
    if OLD:
        return mcp.McpError(types.ErrorData(code=NOT_FOUND, message=message, data=data))
    return mcp.MCPError(types.INVALID_PARAMS if revision >= "2026" else NOT_FOUND, message, data)


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
        talk = Talk(context, params.input_responses)
        try:
            result = await features.call(params.name, params.arguments or {}, talk)
        except InputWanted as wanted:
            asked = {"inputRequests": {"it": wanted.args[0]}, "requestState": "asked"}
            return types.InputRequiredResult.model_validate({"resultType": "input_required", **asked})
        return types.CallToolResult.model_validate(result)

    async def read_resource(context: Any, params: Any) -> Any:
        each = DATA["contents"].get(params.uri)
        if each is None:
            raise missing(params.uri, context.protocol_version)
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
        on_subscriptions_listen=ListenHandler(bus),
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


if not OLD:
    from mcp.server.subscriptions import (
        InMemorySubscriptionBus,
        ListenHandler,
        PromptsListChanged,
        ResourcesListChanged,
        ResourceUpdated,
        ToolsListChanged,
    )

    bus = InMemorySubscriptionBus()
served = server_1() if OLD else server_2()
declare(served)
if len(sys.argv) > 2:
    serve_http(served, int(sys.argv[2]))
else:
    anyio.run(serve_stdio, served)
