"""A server that has each feature of the protocol once: `anywire serve features_server.py:server`.

What comes of the questions to the client is the structured result of the tool that asked.
"""

from __future__ import annotations

import asyncio
from dataclasses import asdict, dataclass, field
from enum import Enum
from typing import Any, Literal

import msgspec

from anywire import Context, ImageContent, PromptMessage, Server, TextContent
from anywire.protocol.types.annotations import Annotations
from anywire.protocol.types.content import AudioContent, ContentBlock, EmbeddedResource, ResourceLink
from anywire.protocol.types.icons import Icon
from anywire.protocol.types.initialize import Implementation
from anywire.protocol.types.resources import BlobResourceContents, TextResourceContents
from anywire.protocol.types.sampling import ModelHint, ModelPreferences, SamplingMessage, ToolChoice
from anywire.protocol.types.tools import Tool
from anywire.server.exchange import Terms
from anywire.server.form import Answer
from anywire.server.question import InputRequired, Question

PIXEL = b"\x89PNG\r\n\x1a\n pixel"
SOUND = b"RIFF sound"
ICON = Icon("https://example.com/icon.png", "image/png", ["48x48"], "dark")
NOW = "2026-01-02T03:04:05Z"
PAGE = 4

info = Implementation(
    "features",
    "1.2.3",
    title="All features",
    description="Each feature once.",
    icons=[ICON],
    website_url="https://example.com/",
)
server = Server(info, instructions="Try é🙂 everything.", page_size=PAGE)
cancelled: list[str] = []
given_up = asyncio.Condition()

# Tools: what their results hold.


@dataclass
class Weather:
    """What the weather is like."""

    city: str
    celsius: float
    sky: Literal["clear", "cloudy"] = "clear"


@server.tool(
    title="Weather",
    annotations={"title": "The weather", "readOnlyHint": True, "openWorldHint": False},
    icons=[ICON],
    meta={"example.com/kind": "demo"},
)
async def weather(city: str, days: int = 1) -> Weather:
    """Tell the weather.

    Args:
        city: Where.
        days: How far ahead.
    """
    return Weather(city, 20.5 + days)


@server.tool
async def numbers() -> list[int]:
    """Give numbers."""
    return [1, 2, 3]


@server.tool
async def blocks() -> list[ContentBlock]:
    """Give a block of each kind."""
    image, sound = ImageContent.from_bytes(PIXEL), AudioContent.from_bytes(SOUND)
    return [
        TextContent("é🙂", annotations=Annotations(["user"], 0.5, NOW)),
        msgspec.structs.replace(image, annotations=Annotations(["assistant"], 1)),
        sound,
        ResourceLink("memo://today", "today", title="Today", mime_type="text/plain", size=4, icons=[ICON]),
        EmbeddedResource(TextResourceContents("memo://inside", "inside", "text/plain")),
        EmbeddedResource(BlobResourceContents.from_bytes("memo://bytes", PIXEL, "image/png")),
    ]


@server.tool
async def fail(reason: str) -> str:
    """Fail for this reason."""
    raise ValueError(reason)


# Tools: what happens meanwhile.


@server.tool
async def count(steps: int, ctx: Context) -> str:
    """Report progress at each step."""
    for step in range(1, steps + 1):
        await ctx.progress(step, steps, f"step {step} é🙂")
    return f"counted to {steps}"


@server.tool
async def tell(ctx: Context) -> str:
    """Send a log message of three levels."""
    for level in ("debug", "warning", "error"):
        await ctx.log(level, {"text": f"{level} é🙂"}, logger="features")
    return "told"


@server.tool
async def wait(ctx: Context) -> str:
    """Report that it has begun, and wait to be cancelled."""
    try:
        await ctx.progress(1)
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        cancelled.append(ctx.cancel_reason)
        async with given_up:
            given_up.notify_all()
        raise
    return "never"


@server.tool
async def cancellations() -> list[str]:
    """Wait for a call of `wait` to be cancelled; tell the reasons."""
    async with given_up:
        await given_up.wait_for(lambda: bool(cancelled))
    taken = cancelled.copy()
    cancelled.clear()
    return taken


@server.tool
async def grow() -> str:
    """Offer a tool, a resource and a prompt more; take them away when they are there."""
    if "grown" in server.tools:
        server.remove_tool("grown")
        server.remove_resource("memo://grown")
        server.remove_prompt("grown")
        return "shrunk"

    async def grown() -> str:
        return "grown"

    server.tool(grown)
    server.resource("memo://grown")(grown)
    server.prompt(grown)
    return "grown"


@server.tool
async def touch(uri: str) -> str:
    """Tell who subscribed to a resource that it has changed."""
    server.resource_updated(uri)
    return "touched"


# Tools: questions to the client.


class Size(Enum):
    """How big."""

    SMALL = "small"
    LARGE = "large"


@dataclass
class Order:
    """What to order."""

    name: str
    size: Size = Size.LARGE
    count: int = 2
    price: float = 9.5
    gift: bool = True
    extras: list[Literal["cheese", "ham"]] = field(default_factory=lambda: ["ham"])


@server.tool
async def form(ctx: Context) -> dict[str, Any]:
    """Ask the user to fill in a form."""
    answer: Answer[Order] = await ctx.elicit("Your order é🙂?", Order)
    content = None if answer.content is None else asdict(answer.content)
    return {"action": answer.action, "content": content and {**content, "size": content["size"].value}}


@server.tool
async def visit(ctx: Context) -> dict[str, Any]:
    """Send the user to an address; tell that the visit is over."""
    answer = await ctx.elicit_url("Please log in", "https://example.com/login?id=7", "visit-7")
    server.elicitation_complete("visit-7")
    return {"action": answer.action}


@server.tool
async def sample(ctx: Context) -> dict[str, Any]:
    """Ask the client's model."""
    picture = SamplingMessage("user", ImageContent.from_bytes(PIXEL))
    result = await ctx.sample(
        [SamplingMessage("user", TextContent("What is this é🙂?")), picture],
        max_tokens=99,
        system_prompt="Be brief.",
        temperature=0.25,
        stop_sequences=["\n\n"],
        preferences=ModelPreferences([ModelHint("small")], cost_priority=1, speed_priority=0.5),
        metadata={"trace": "7"},
    )
    return msgspec.to_builtins(result)


@server.tool
async def sample_with_tools(ctx: Context) -> dict[str, Any]:
    """Ask the client's model, which may call a tool."""
    schema = {"type": "object", "properties": {"city": {"type": "string"}}}
    result = await ctx.sample(
        "What is the weather like?",
        tools=[Tool("weather", schema, "Tell the weather.")],
        tool_choice=ToolChoice("required"),
    )
    return msgspec.to_builtins(result)


@server.tool
async def folders(ctx: Context) -> list[dict[str, Any]]:
    """Ask for the folders of the client."""
    return [msgspec.to_builtins(root) for root in await ctx.roots()]


class SignOfLife(Question[bool]):
    """Asks the client whether it is there."""

    method = "ping"
    is_slow = False

    def missing(self, terms: Terms) -> str:
        """All clients can be asked."""
        return ""

    def read(self, raw: bytes) -> bool:
        """The answer is empty."""
        return raw.strip() == b"{}"


@server.tool
async def ping_back(ctx: Context) -> Any:
    """Ask the client for a sign of life."""
    question = SignOfLife(None)
    answer = ctx.answer("life", question)
    return InputRequired({"life": question}) if answer is None else f"alive: {answer}"


# Resources, prompts, completions.


@server.resource(
    "memo://today",
    title="Today",
    mime_type="text/markdown",
    size=7,
    annotations=Annotations(["user", "assistant"], 0.75, NOW),
    icons=[ICON],
    meta={"example.com/kind": "demo"},
)
async def today() -> str:
    """What is up today."""
    return "# é🙂"


@server.resource("memo://pixel", mime_type="image/png")
async def pixel() -> bytes:
    """One pixel."""
    return PIXEL


for number in range(PAGE):

    @server.resource(f"memo://more/{number}", name=f"more-{number}")
    async def more() -> str:
        """One of more than fit on a page."""
        return "more"


@server.resource("memo://of/{person}/{day}", title="Memos", mime_type="text/plain", icons=[ICON])
async def memo(person: str, day: str) -> str:
    """What somebody has to do on a day."""
    return f"{person} on {day}"


@server.prompt(title="Greeting", icons=[ICON])
async def greet(name: str, tone: Literal["warm", "cool"] = "warm") -> list[PromptMessage]:
    """Greet somebody.

    Args:
        name: Whom.
        tone: How.
    """
    return [
        PromptMessage("user", TextContent(f"Greet {name} in a {tone} way é🙂")),
        PromptMessage("assistant", TextContent("Hello!")),
        PromptMessage("user", ImageContent.from_bytes(PIXEL)),
        PromptMessage(
            "user", EmbeddedResource(TextResourceContents("memo://today", "# é🙂", "text/markdown"))
        ),
    ]


@server.completion("greet", "name")
async def names(typed: str, given: dict[str, str]) -> list[str]:
    """Names, in a form that suits the tone."""
    known = [f"{name} ({given['tone']})" if given else name for name in ("Ada", "Alan", "Grace")]
    return [name for name in known if name.startswith(typed)]


@server.completion("memo://of/{person}/{day}", "day")
async def days(typed: str) -> list[str]:
    """More days than fit into one completion."""
    return [f"{typed}{day:03}" for day in range(150)]
