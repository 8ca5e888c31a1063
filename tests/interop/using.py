"""anywire's client, using each feature of the servers on the official SDKs once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec

from anywire import Client, PeerError, connect
from anywire.client.event import ClientEvent, ElicitationCompleted, ListChanged, ResourceUpdated
from anywire.client.listening import Listener
from anywire.client.sampling import Sampled
from anywire.protocol.types.content import TextContent, ToolUseContent
from anywire.protocol.types.elicitation import ElicitFormParams, ElicitParams
from anywire.protocol.types.initialize import ClientCapabilities, Implementation, SamplingCapability
from anywire.protocol.types.roots import Root
from anywire.protocol.types.sampling import CreateMessageParams, CreateMessageResult
from tests.interop.features import ROOTS

STEP_WITHIN = 15.0

Era = Literal["legacy", "modern"]


@dataclass
class Used:
    """What the client saw, step by step, and what it was asked."""

    sdk: str
    stateless: bool
    steps: dict[str, Any] = field(default_factory=dict[str, Any])
    failed: dict[str, BaseException] = field(default_factory=dict[str, BaseException])

    def __getitem__(self, step: str) -> Any:
        """What a step gave; one that failed fails the test with its own words."""
        if step in self.failed:
            raise AssertionError(f"{step} failed: {self.failed[step]!r}") from self.failed[step]
        return self.steps[step]


class User:
    """Who answers the server's questions."""

    def __init__(self) -> None:
        self.roots: list[Root] = [msgspec.convert(each, Root) for each in ROOTS]
        self.asked: list[Any] = []
        self.said: Sampled = None
        self.logged: list[dict[str, Any]] = []
        self.news = asyncio.Event()

    async def sample(self, params: CreateMessageParams) -> Sampled:
        """Say what was prepared."""
        self.asked.append(params)
        return self.said

    async def elicit(self, params: ElicitParams) -> Any:
        """Fill in what has no default, agree to visit."""
        self.asked.append(params)
        return {"name": "Ada", "count": 3} if isinstance(params, ElicitFormParams) else "accept"

    def log(self, params: dict[str, Any]) -> None:
        """Take note of a log message."""
        self.logged.append(params)
        if params["level"] == "error":
            self.news.set()

    def take_asked(self) -> Any:
        """The one question since the last look."""
        [asked], self.asked = self.asked, []
        return asked


async def use(sdk: str, target: Sequence[str] | str, era: Era) -> Used:
    """Take all steps with a server."""
    used, user = Used(sdk, era == "modern"), User()
    able = ClientCapabilities(sampling=SamplingCapability(tools={}))
    async with connect(
        target,
        info=Implementation("features-user", "7"),
        on_sample=user.sample,
        on_elicit=user.elicit,
        roots=lambda: user.roots,
        on_log=user.log,
        capabilities=able,
        era=era,
    ) as client:
        for step in STEPS:
            try:
                async with asyncio.timeout(STEP_WITHIN):
                    used.steps[step.__name__] = await step(client, user)
            except Exception as error:
                used.failed[step.__name__] = error
    return used


Step = Callable[[Client, User], Awaitable[Any]]
STEPS: list[Step] = []


def _step(function: Step) -> Step:
    STEPS.append(function)
    return function


@_step
async def handshake(client: Client, user: User) -> Any:
    """Who the server is."""
    return client.revision, client.server


@_step
async def tools(client: Client, user: User) -> Any:
    """All tools; from now on results are checked against their schemas."""
    return {tool.name: tool for tool in await client.tools()}


@_step
async def results(client: Client, user: User) -> Any:
    """Calls whose results are always the same."""
    weather = await client.call_tool("weather", {"city": "Orléans"})
    return weather, await client.call_tool("blocks"), await client.call_tool("fail")


@_step
async def resources(client: Client, user: User) -> Any:
    """Lists, and what is in them."""
    uris = ("memo://today", "memo://pixel", "memo://of/ada/monday")
    read = [(await client.read_resource(uri)).contents for uri in uris]
    listed = {resource.name: resource for resource in await client.resources()}
    return listed, await client.resource_templates(), read


@_step
async def missing(client: Client, user: User) -> Any:
    """A resource that there is not."""
    try:
        await client.read_resource("memo://missing")
    except PeerError as error:
        return error
    return None


@_step
async def subscription(client: Client, user: User) -> Any:
    """The first update that comes is that of what was subscribed to; after the end there is none."""
    async with client.listen(resources=["memo://today"]) as events:
        await client.call_tool("touch", {"uri": "memo://pixel"})
        await client.call_tool("touch", {"uri": "memo://today"})
        first = await _until(events, lambda event: isinstance(event, ResourceUpdated))
    async with client.listen() as after:
        await client.call_tool("touch", {"uri": "memo://today"})
        await client.call_tool("grow")  # so that something is told for certain
        told = await _until(after, lambda event: isinstance(event, ListChanged))
    return first, told


@_step
async def growth(client: Client, user: User) -> Any:
    """Lists that change; the step before has let the tools grow."""
    grown = {tool.name for tool in await client.tools()}
    async with client.listen() as events:
        await client.call_tool("grow")
        changed: set[str] = set()
        while len(changed) < 3:
            changed |= {each.which for each in [await events.next()] if isinstance(each, ListChanged)}
    return grown, changed, {tool.name for tool in await client.tools()}


@_step
async def prompts(client: Client, user: User) -> Any:
    """The list, and one of it."""
    return await client.prompts(), await client.get_prompt("greet", {"name": "Ada", "tone": "cool"})


@_step
async def completions(client: Client, user: User) -> Any:
    """Of a prompt, with and without what is known, and of a template."""
    return [
        (await client.complete("greet", "name", "A")).completion,
        (await client.complete("greet", "name", "A", {"tone": "cool"})).completion,
        (await client.complete("memo://of/{person}/{day}", "day", "mon")).completion,
    ]


@_step
async def logs(client: Client, user: User) -> Any:
    """Messages of two levels."""
    gave: list[list[dict[str, Any]]] = []
    for level in ("warning", "debug"):
        user.news.clear()
        await client.set_log_level(level)
        await client.call_tool("tell")
        await user.news.wait()
        gave.append(user.logged.copy())
        user.logged.clear()
    return gave


@_step
async def folders(client: Client, user: User) -> Any:
    """The roots before and after they change."""
    before = await client.call_tool("folders")
    del user.roots[0]
    await client.roots_changed()
    return [each.structured["answer"]["roots"] for each in (before, await client.call_tool("folders"))]


@_step
async def sample(client: Client, user: User) -> Any:
    """The model says a text."""
    user.said = CreateMessageResult("assistant", TextContent("A pixel é🙂"), "m", "endTurn")
    answer = (await client.call_tool("sample")).structured["answer"]
    return user.take_asked(), answer


@_step
async def sample_with_tools(client: Client, user: User) -> Any:
    """The model wants to call a tool."""
    user.said = [TextContent("Let me look."), ToolUseContent("u1", "weather", {"city": "Orléans"})]
    answer = (await client.call_tool("sample_with_tools")).structured["answer"]
    return user.take_asked(), answer


@_step
async def form(client: Client, user: User) -> Any:
    """The user fills in a form."""
    answer = (await client.call_tool("form")).structured["answer"]
    return user.take_asked(), answer


@_step
async def visit(client: Client, user: User) -> Any:
    """The user visits an address, and is done."""
    async with client.listen() as events:
        answer = (await client.call_tool("visit")).structured["answer"]
        if client.revision == "2026-07-28":
            return user.take_asked(), answer, None
        done = await _until(events, lambda event: isinstance(event, ElicitationCompleted))
    return user.take_asked(), answer, done[-1]


@_step
async def progress(client: Client, user: User) -> Any:
    """Progress of a call."""
    seen: list[tuple[float, float | None, str | None]] = []
    result = await client.call_tool(
        "count", on_progress=lambda done, total, message: seen.append((done, total, message))
    )
    return seen, result.text


@_step
async def cancel(client: Client, user: User) -> Any:
    """Give up a call once it has begun."""
    began = asyncio.Event()
    call = asyncio.create_task(client.call_tool("wait", on_progress=lambda done, total, message: began.set()))
    await began.wait()
    call.cancel()
    return (await client.call_tool("cancellations")).text


@_step
async def pings(client: Client, user: User) -> Any:
    """A sign of life, either way where there are two."""
    await client.ping()
    if client.revision == "2026-07-28":
        return None
    return (await client.call_tool("ping_back")).structured["answer"]


async def _until(events: Listener, enough: Callable[[ClientEvent], bool]) -> list[ClientEvent]:
    """Take events until one is found; what a listener gets at its end is no event."""
    taken: list[ClientEvent] = []
    while not taken or not enough(taken[-1]):
        event = await events.next()
        assert event is not None, f"the server told no more, after {taken}"
        taken.append(event)
    return taken
