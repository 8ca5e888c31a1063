"""anywire's client uses each feature of `scripts/eras_server.py` once, and notes what came of each step.

What a step gives is plain JSON data, so that two conversations can be compared: one with the server itself,
and one with a bridge in between.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import msgspec

from anywire import Client, PeerError
from anywire.client.event import ClientEvent, ElicitationCompleted, ListChanged, ResourceUpdated
from anywire.client.options import ClientOptions
from anywire.client.sampling import Sampled
from anywire.protocol.types.content import TextContent, ToolUseContent
from anywire.protocol.types.elicitation import ElicitFormParams, ElicitParams
from anywire.protocol.types.initialize import ClientCapabilities, Implementation, SamplingCapability
from anywire.protocol.types.roots import Root
from anywire.protocol.types.sampling import CreateMessageParams, CreateMessageResult
from anywire.wire.codec import decode_value, encode_value
from tests.interop.features import ROOTS

STEP_WITHIN = 10.0

Era: TypeAlias = Literal["legacy", "modern"]
Step: TypeAlias = Callable[[Client, "User"], Awaitable[Any]]
STEPS: dict[str, Step] = {}


@dataclass
class User:
    """Who answers the server's questions, and hears what it tells."""

    roots: list[Root] = field(default_factory=lambda: [msgspec.convert(each, Root) for each in ROOTS])
    asked: list[Any] = field(default_factory=list[Any])
    said: Sampled = None
    declines: bool = False
    visited: list[bool] = field(default_factory=list[bool])
    """For each end of a visit that was told, whether it was that of the visit that was asked for."""
    logged: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    worst: asyncio.Event = field(default_factory=asyncio.Event)

    async def sample(self, params: CreateMessageParams) -> Sampled:
        """Say what was prepared."""
        self.asked.append(plain(params))
        return self.said

    async def elicit(self, params: ElicitParams) -> Any:
        """Fill in what has no default, agree to visit, or decline."""
        self.asked.append(plain(params))
        if self.declines:
            return "decline"
        return {"name": "Ada", "count": 3} if isinstance(params, ElicitFormParams) else "accept"

    def log(self, params: dict[str, Any]) -> None:
        """Take note of a log message."""
        self.logged.append(params)
        if params["level"] == "error":
            self.worst.set()

    def options(self, era: Era) -> ClientOptions:
        """What the client says of its side."""
        return {
            "info": Implementation("every-feature", "7"),
            "on_sample": self.sample,
            "on_elicit": self.elicit,
            "roots": lambda: self.roots,
            "on_log": self.log,
            "capabilities": ClientCapabilities(sampling=SamplingCapability(tools={})),
            "era": era,
        }

    def take_asked(self) -> list[Any]:
        """The questions since the last look."""
        asked, self.asked = self.asked, []
        return asked


def plain(value: Any) -> Any:
    """A typed value as JSON data."""
    return _own(decode_value(encode_value(value), object))


def _own(value: Any) -> Any:
    """JSON data without what the protocol itself puts into the `_meta` of results and questions."""
    if not isinstance(value, dict):
        return value
    members: dict[str, Any] = {**value}
    kept = {
        name: each
        for name, each in members.pop("_meta", {}).items()
        if name != "progressToken" and not name.startswith("io.modelcontextprotocol/")
    }
    return members | ({"_meta": kept} if kept else {})


def is_failure(gave: Any) -> bool:
    """Whether a step could not be taken."""
    return isinstance(gave, str) and gave.startswith("failed: ")


async def walk(connect: Callable[[ClientOptions], Client], era: Era) -> dict[str, Any]:
    """Take all steps; what each gave, or how it failed."""
    user, gave = User(), dict[str, Any]()
    async with connect(user.options(era)) as client:
        for name, step in STEPS.items():
            try:
                async with asyncio.timeout(STEP_WITHIN):
                    gave[name] = await step(client, user)
            except Exception as error:
                gave[name] = f"failed: {error!r}"
    return gave


def _step(function: Step) -> Step:
    STEPS[function.__name__] = function
    return function


async def _ask(client: Client, method: str, **params: Any) -> Any:
    return _own(decode_value(await client.request(method, encode_value(params)), object))


async def _call(client: Client, name: str, **arguments: Any) -> Any:
    return _own(decode_value((await client.call_tool(name, arguments)).raw, object))


async def _refused(asking: Awaitable[Any]) -> Any:
    try:
        return await asking
    except PeerError as error:
        return {
            "code": error.code,
            "message": error.message,
            "data": decode_value(error.data or b"null", object),
        }


# What the server has.


@_step
async def opening(client: Client, user: User) -> Any:
    """Who the server is and what it can do."""
    server = client.server
    return [client.revision, plain(server.server_info), server.instructions, plain(server.capabilities)]


@_step
async def tools(client: Client, user: User) -> Any:
    """All pages; from now on results are checked against their schemas."""
    return plain(await client.tools())


@_step
async def one_page(client: Client, user: User) -> Any:
    """A page as it is, and the next."""
    first = await _ask(client, "tools/list")
    return first, await _ask(client, "tools/list", cursor=first["nextCursor"])


@_step
async def structured(client: Client, user: User) -> Any:
    """Structured results, an object and an array."""
    return await _call(client, "weather", city="Orléans"), await _call(client, "numbers")


@_step
async def content(client: Client, user: User) -> Any:
    """Every kind of block."""
    return await _call(client, "blocks")


@_step
async def failures(client: Client, user: User) -> Any:
    """A tool that fails, arguments that do not fit, a tool that there is not."""
    return [
        await _call(client, "fail", reason="é🙂"),
        await _call(client, "fail", why=1),
        await _refused(_call(client, "nobody")),
    ]


@_step
async def error_data(client: Client, user: User) -> Any:
    """An error with data."""
    return await _refused(_ask(client, "resources/read", uri="memo://missing"))


@_step
async def custom_method(client: Client, user: User) -> Any:
    """A method that nobody knows."""
    return await _refused(_ask(client, "vendor/thing", n=1))


@_step
async def resources(client: Client, user: User) -> Any:
    """Lists, and what is in them."""
    read = [await _ask(client, "resources/read", uri=uri) for uri in ("memo://today", "memo://pixel")]
    return plain(await client.resources()), read


@_step
async def templates(client: Client, user: User) -> Any:
    """The list, and one that is filled in."""
    return plain(await client.resource_templates()), await _ask(
        client, "resources/read", uri="memo://of/ada/monday"
    )


@_step
async def prompts(client: Client, user: User) -> Any:
    """The list, and one of it."""
    got = await _ask(client, "prompts/get", name="greet", arguments={"name": "Ada", "tone": "cool"})
    return plain(await client.prompts()), got


@_step
async def completion(client: Client, user: User) -> Any:
    """Of a prompt, with and without what is known, and of a template."""
    return [
        plain((await client.complete("greet", "name", "A")).completion),
        plain((await client.complete("greet", "name", "A", {"tone": "cool"})).completion),
        plain((await client.complete("memo://of/{person}/{day}", "day", "mon")).completion),
    ]


@_step
async def ping(client: Client, user: User) -> Any:
    """A sign of life of the server's."""
    await client.ping()


# What happens meanwhile.


@_step
async def progress(client: Client, user: User) -> Any:
    """Progress of a call, with total and message."""
    seen: list[Any] = []
    result = await client.call_tool(
        "count", {"steps": 3}, on_progress=lambda done, total, text: seen.append([done, total, text])
    )
    return seen, result.text


@_step
async def logs(client: Client, user: User) -> Any:
    """Messages of two levels."""
    gave: list[Any] = []
    for level in ("warning", "debug"):
        user.worst.clear()
        await client.set_log_level(level)
        await client.call_tool("tell")
        await user.worst.wait()
        gave.append(user.logged.copy())
        user.logged.clear()
    return gave


@_step
async def cancellation(client: Client, user: User) -> Any:
    """A call that is given up is stopped, and the server still serves."""
    began = asyncio.Event()
    call = asyncio.create_task(client.call_tool("wait", on_progress=lambda done, total, text: began.set()))
    await began.wait()
    call.cancel()
    reasons = (await client.call_tool("cancellations")).structured["result"]
    return len(reasons)


# What changes.


@_step
async def list_changed(client: Client, user: User) -> Any:
    """All three lists; the list of tools is another then."""
    async with client.listen() as events:
        await client.call_tool("grow")
        changed: set[str] = set()
        while len(changed) < 3:
            changed |= {each.which for each in [await events.next()] if isinstance(each, ListChanged)}
        grown = {tool.name for tool in await client.tools()}
        await client.call_tool("grow")
    return sorted(changed), "grown" in grown, "grown" in {tool.name for tool in await client.tools()}


@_step
async def resource_updates(client: Client, user: User) -> Any:
    """The first update that comes is that of what was subscribed to."""
    async with client.listen(resources=["memo://today"]) as events:
        await client.call_tool("touch", {"uri": "memo://pixel"})
        await client.call_tool("touch", {"uri": "memo://today"})
        while not isinstance(event := await _next(events), ResourceUpdated):
            pass
    return event.uri


async def _next(events: Any) -> ClientEvent:
    event = await events.next()
    assert event is not None, "the server told no more"
    return event


# What the server asks.


@_step
async def roots(client: Client, user: User) -> Any:
    """Those of now, also after they have changed."""
    before = await client.call_tool("folders")
    del user.roots[0]
    await client.roots_changed()
    return [each.structured["result"] for each in (before, await client.call_tool("folders"))]


@_step
async def sampling(client: Client, user: User) -> Any:
    """The model says a text."""
    user.said = CreateMessageResult("assistant", TextContent("A pixel é🙂"), "m", "endTurn")
    answer = (await client.call_tool("sample")).structured
    return user.take_asked(), answer


@_step
async def sampling_with_tools(client: Client, user: User) -> Any:
    """The model wants to call a tool."""
    user.said = [TextContent("Let me look."), ToolUseContent("u1", "weather", {"city": "Orléans"})]
    answer = (await client.call_tool("sample_with_tools")).structured
    return user.take_asked(), answer


@_step
async def elicitation(client: Client, user: User) -> Any:
    """The user fills in a form, and declines to."""
    filled = (await client.call_tool("form")).structured
    user.declines = True
    declined = (await client.call_tool("form")).structured
    user.declines = False
    return user.take_asked(), filled, declined


@_step
async def url_elicitation(client: Client, user: User) -> Any:
    """The user visits an address; what is told of that comes before the next that is told."""
    async with client.listen() as events:
        answer = (await client.call_tool("visit")).structured
        await client.call_tool("grow")
        told = [await _next(events)]
        while not isinstance(told[-1], ListChanged):
            told.append(await _next(events))
    await client.call_tool("grow")
    asked = user.take_asked()
    ids = [each.pop("elicitationId", None) for each in asked]
    user.visited = [event.elicitation_id in ids for event in told if isinstance(event, ElicitationCompleted)]
    return asked, answer


@_step
async def end_of_a_visit(client: Client, user: User) -> Any:
    """The server told that the user is done, where that can be told."""
    return user.visited


@_step
async def ping_of_the_server(client: Client, user: User) -> Any:
    """A sign of life of the client's, where it can be asked for one."""
    return await _refused(_call(client, "ping_back")) if client.revision == "2025-11-25" else None
