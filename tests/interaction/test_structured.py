"""Structured content: what an annotation of a result promises, and what a result then is."""

from __future__ import annotations

import base64
import dataclasses
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, TypedDict

import msgspec
import pydantic
import pytest
from PIL import Image

from anywire import Context, ImageContent, Server, TextContent, ToolOutput
from anywire.errors import ConfigError, Refusal
from anywire.protocol.types.content import AudioContent, EmbeddedResource, ResourceLink
from anywire.protocol.types.resources import TextResourceContents
from anywire.protocol.types.tools import CallToolResult
from tests.interaction.talk import error, failure, in_each_revision, over_each_wire, talk, text


class Weather(msgspec.Struct):
    city: Annotated[str, "Where"]
    degrees: float
    wind: Wind | None = None


class Wind(msgspec.Struct):
    speed: int


@dataclasses.dataclass
class Box:
    width: int


class Typed(TypedDict):
    name: str


class Inner(pydantic.BaseModel):
    size: int


class Model(pydantic.BaseModel):
    name: str = pydantic.Field(min_length=2)
    inner: Inner
    others: list[Inner] = []


class Colour(Enum):
    RED = "red"


class Pair(NamedTuple):
    left: int
    right: int


async def outcome(function: Any, revision: str | None = None, **options: Any) -> tuple[Any, dict[str, Any]]:
    """The output schema of a tool without parameters, and the result of a call."""
    server = Server("s")
    server.tool(**options)(function)
    async with talk(server, "memory", revision) as peer:
        await peer.ask(1, "tools/list")
        listed = (await peer.receive())["result"]["tools"][0]
        await peer.call(2, listed["name"])
        return listed.get("outputSchema"), (await peer.receive())["result"]


INTEGER = {"type": "integer"}


def wrapped(schema: object) -> dict[str, Any]:
    return {"type": "object", "properties": {"result": schema}, "required": ["result"]}


@pytest.mark.parametrize(
    ("hint", "value", "schema", "structured"),
    [
        (
            Weather,
            Weather("Rome", 21.5),
            {
                "type": "object",
                "properties": {
                    "city": {"type": "string"},
                    "degrees": {"type": "number"},
                    "wind": {"anyOf": [{"$ref": "#/$defs/Wind"}, {"type": "null"}], "default": None},
                },
                "required": ["city", "degrees"],
                "$defs": {
                    "Wind": {
                        "title": "Wind",
                        "type": "object",
                        "properties": {"speed": INTEGER},
                        "required": ["speed"],
                    }
                },
            },
            {"city": "Rome", "degrees": 21.5, "wind": None},
        ),
        (
            Box,
            Box(3),
            {"type": "object", "properties": {"width": INTEGER}, "required": ["width"]},
            {"width": 3},
        ),
        (
            Typed,
            {"name": "x"},
            {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
            {"name": "x"},
        ),
        (dict[str, int], {"a": 1}, {"type": "object", "additionalProperties": INTEGER}, {"a": 1}),
        (int, 5, wrapped(INTEGER), {"result": 5}),
        (bool, True, wrapped({"type": "boolean"}), {"result": True}),
        (list[int], [1, 2], wrapped({"type": "array", "items": INTEGER}), {"result": [1, 2]}),
        (list[int], [], wrapped({"type": "array", "items": INTEGER}), {"result": []}),
        (Literal["a"], "a", wrapped({"enum": ["a"]}), {"result": "a"}),
        (int | None, None, wrapped({"anyOf": [INTEGER, {"type": "null"}]}), {"result": None}),
    ],
)
async def test_an_annotated_result_is_structured(
    hint: Any, value: Any, schema: object, structured: object
) -> None:
    """An object as it is, anything else as `result`; its JSON is there as a text as well."""

    async def tool() -> Any:
        return value

    tool.__annotations__["return"] = hint
    listed, got = await outcome(tool)

    assert listed == schema
    assert got["structuredContent"] == structured
    assert len(got["content"]) <= 1


@pytest.mark.parametrize(
    ("hint", "value"),
    [
        (str, "x"),
        (None, None),
        (Any, {"a": 1}),
        (object, {"a": 1}),
        (list, [1]),
        (str | None, "x"),
        (ToolOutput, ToolOutput("x")),
        (TextContent, TextContent("x")),
        (list[TextContent | ImageContent], [TextContent("x")]),
        (list[str | ImageContent], ["x", ImageContent("aGk=", "image/png")]),
        (CallToolResult, CallToolResult([TextContent("x")])),
        (bytes, b"x"),
    ],
)
async def test_what_is_content_or_unknown_is_not_structured(hint: Any, value: Any) -> None:
    """Text and blocks are for reading; without an annotation nothing is promised."""

    async def tool() -> Any:
        return value

    tool.__annotations__["return"] = hint
    listed, got = await outcome(tool)

    assert listed is None
    assert "structuredContent" not in got


async def test_a_tool_may_keep_to_text() -> None:
    """If it says so."""

    async def tool() -> int:
        return 5

    assert await outcome(tool, structured=False) == (None, {"content": [{"type": "text", "text": "5"}]})


@in_each_revision
async def test_old_revisions_get_the_text_alone(revision: str) -> None:
    """They know no structured content."""

    async def tool() -> Box:
        return Box(1)

    _, got = await outcome(tool, revision)

    assert got["content"] == [{"type": "text", "text": '{"width":1}'}]
    assert ("structuredContent" in got) == (revision >= "2025-06-18")


async def test_a_handler_may_give_the_whole_result() -> None:
    """With content, structured content, `_meta` and whether it failed."""

    async def tool() -> CallToolResult:
        return CallToolResult([], structured_content={"a": 1}, is_error=True, meta={"x/y": 1})

    _, got = await outcome(tool)

    assert got == {"content": [], "isError": True, "structuredContent": {"a": 1}, "_meta": {"x/y": 1}}


# Schemas of the author's own.

OWN: dict[str, Any] = {
    "type": "object",
    "properties": {"n": {"type": "integer", "minimum": 1}},
    "required": ["n"],
}


@over_each_wire
async def test_an_input_schema_of_ones_own_is_listed_as_it_is_and_checked(wire: str) -> None:
    """The function takes all arguments as one dictionary."""
    server = Server("s")

    @server.tool(input_schema=OWN)
    async def tool(arguments: dict[str, Any], context: Context) -> str:
        return f"{arguments} {context.request_id.decode()}"

    async with talk(server, wire) as peer:
        await peer.ask(1, "tools/list")
        assert (await peer.receive())["result"]["tools"][0]["inputSchema"] == OWN
        await peer.call(2, "tool", {"n": 3, "more": [1]})
        await peer.expect(text(2, "{'n': 3, 'more': [1]} 2"))
        await peer.call(3, "tool", {"n": 0})
        reason = "Invalid arguments for tool 'tool': 0 is less than the minimum of 1 - at `$.n`"
        await peer.expect(failure(3, reason))
        await peer.call(4, "tool")
        assert '"n" is a required property' in (await peer.receive())["result"]["content"][0]["text"]


async def test_an_output_schema_of_ones_own_is_kept() -> None:
    """A result unlike it is the tool's failure, not a lie."""
    server = Server("s")

    @server.tool(output_schema=OWN)
    async def tool(n: Any) -> dict[str, Any]:
        return {"n": n}

    async with talk(server) as peer:
        await peer.call(1, "tool", {"n": 3})
        assert (await peer.receive())["result"]["structuredContent"] == {"n": 3}
        await peer.call(2, "tool", {"n": 0})
        got = (await peer.receive())["result"]
        assert got["isError"] is True
        assert "the result is not as its output schema says: 0 is less" in got["content"][0]["text"]


def _nothing() -> dict[str, Any]:
    return {}


def _takes(arguments: dict[str, Any]) -> dict[str, Any]:
    return arguments


@pytest.mark.parametrize(
    ("function", "options", "message"),
    [
        (_nothing, {"input_schema": OWN}, "takes one parameter"),
        (_takes, {"input_schema": {"type": 5}}, "no JSON schema"),
        (_takes, {"input_schema": {"$ref": "https://a.example/schema.json"}}, "is not fetched"),
        (_nothing, {"output_schema": {"type": "array"}}, "describes an object"),
    ],
)
def test_a_schema_that_cannot_be_is_refused(function: Any, options: dict[str, Any], message: str) -> None:
    """When the program starts; nothing is fetched from anywhere."""
    with pytest.raises(ConfigError, match=message):
        Server("s").tool(**options)(function)


# Models.


@over_each_wire
async def test_models_are_arguments_and_results(wire: str) -> None:
    """Described by their own schema, checked by their own rules."""
    server = Server("s")

    @server.tool
    async def grow(model: Model, by: int = 1) -> Model:
        return Model(name=model.name, inner=Inner(size=model.inner.size + by))

    async with talk(server, wire) as peer:
        await peer.ask(1, "tools/list")
        tool = (await peer.receive())["result"]["tools"][0]
        properties = tool["inputSchema"]["properties"]
        inner = {"properties": {"size": {"title": "Size", "type": "integer"}}, "required": ["size"]}
        assert properties["model"]["properties"]["inner"] == {"$ref": "#/$defs/Inner"}
        assert tool["inputSchema"]["$defs"]["Inner"] == inner | {"title": "Inner", "type": "object"}
        assert tool["outputSchema"]["required"] == ["name", "inner"]

        await peer.call(2, "grow", {"model": {"name": "ab", "inner": {"size": 1}}, "by": 2})
        got = (await peer.receive())["result"]
        assert got["structuredContent"] == {"name": "ab", "inner": {"size": 3}, "others": []}
        await peer.call(3, "grow", {"model": {"name": "a", "inner": {"size": 1}}})
        got = (await peer.receive())["result"]
        assert got["isError"] is True
        assert "at least 2 characters" in got["content"][0]["text"]


# Blocks.


@pytest.mark.parametrize(
    ("data", "kind", "mime_type"),
    [
        (b"\x89PNG\r\n\x1a\n...", "image", "image/png"),
        (b"\xff\xd8\xff\xe0", "image", "image/jpeg"),
        (b"GIF89a", "image", "image/gif"),
        (b"RIFF\0\0\0\0WEBP", "image", "image/webp"),
        (b"RIFF\0\0\0\0WAVE", "audio", "audio/wav"),
        (b"ID3", "audio", "audio/mpeg"),
        (bytearray(b"OggS"), "audio", "audio/ogg"),
    ],
)
async def test_bytes_are_what_they_begin_like(data: bytes, kind: str, mime_type: str) -> None:
    """An image or a sound."""

    async def tool() -> Any:
        return data

    _, got = await outcome(tool)

    encoded = base64.b64encode(data).decode()
    assert got == {"content": [{"type": kind, "data": encoded, "mimeType": mime_type}]}


async def test_other_bytes_are_a_resource_that_holds_them() -> None:
    """With a media type where it can be told."""

    async def tool() -> Any:
        return [b"\0\1", b"%PDF-1.7"]

    _, got = await outcome(tool)

    assert [block["resource"] for block in got["content"]] == [
        {"uri": "anywire:bytes", "blob": "AAE=", "mimeType": "application/octet-stream"},
        {"uri": "anywire:bytes", "blob": "JVBERi0xLjc=", "mimeType": "application/pdf"},
    ]


async def test_an_image_of_pillow_is_an_image() -> None:
    """As a PNG."""

    async def tool() -> Image.Image:
        return Image.new("RGB", (1, 1))

    listed, got = await outcome(tool)

    assert listed is None
    (block,) = got["content"]
    assert block["mimeType"] == "image/png"
    assert base64.b64decode(block["data"]).startswith(b"\x89PNG")


async def test_blocks_of_every_kind_can_be_mixed() -> None:
    """And are written in order."""

    async def tool() -> Any:
        return [
            "text",
            AudioContent.from_bytes(b"hi"),
            ResourceLink("a://b", "b"),
            EmbeddedResource(TextResourceContents("a://c", "held")),
            ToolOutput("out"),
            Path("x"),
        ]

    _, got = await outcome(tool)

    assert got["content"] == [
        {"type": "text", "text": "text"},
        {"type": "audio", "data": "aGk=", "mimeType": "audio/wav"},
        {"type": "resource_link", "uri": "a://b", "name": "b"},
        {"type": "resource", "resource": {"uri": "a://c", "text": "held"}},
        {"type": "text", "text": "out"},
        {"type": "text", "text": '"x"'},
    ]


@in_each_revision
async def test_blocks_fit_the_revision(revision: str) -> None:
    """Nothing of a sound or a link is lost on a client that has no word for it."""

    async def tool() -> Any:
        return [AudioContent.from_bytes(b"hi"), ResourceLink("a://b", "b", description="What it is")]

    _, got = await outcome(tool, revision)
    audio, link = got["content"]

    if revision == "2024-11-05":
        assert audio["resource"] == {"uri": "anywire:audio", "blob": "aGk=", "mimeType": "audio/wav"}
    else:
        assert audio == {"type": "audio", "data": "aGk=", "mimeType": "audio/wav"}
    if revision in ("2024-11-05", "2025-03-26"):
        assert link == {"type": "text", "text": "b: a://b\nWhat it is"}
    else:
        assert link == {"type": "resource_link", "uri": "a://b", "name": "b", "description": "What it is"}


async def test_a_refusal_is_an_error_of_the_request() -> None:
    """With the code, the message and the data of the program."""
    server = Server("s")

    @server.tool
    def refuse() -> str:
        raise Refusal(-31000, "not today", {"when": "tomorrow"})

    async with talk(server) as peer:
        await peer.call(1, "refuse")
        await peer.expect(error(1, -31000, "not today", {"when": "tomorrow"}))


async def test_a_tool_is_listed_with_all_that_is_said_of_it() -> None:
    """Icons, annotations and `_meta` included."""
    server = Server("s")

    @server.tool(title="T", annotations={"readOnlyHint": True}, meta={"a/b": 1})
    async def tool() -> str:
        return ""

    async with talk(server) as peer:
        await peer.ask(1, "tools/list")
        listed = (await peer.receive())["result"]["tools"]
        assert listed == [
            {
                "_meta": {"a/b": 1},
                "name": "tool",
                "title": "T",
                "annotations": {"readOnlyHint": True},
                "inputSchema": {"type": "object", "properties": {}, "required": []},
            }
        ]
    with pytest.raises(TypeError, match="unknown option: titel"):
        server.tool(titel="T")(tool)  # pyright: ignore[reportCallIssue] on purpose
