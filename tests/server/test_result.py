"""From what a handler returned to the bytes of a result."""

from __future__ import annotations

import dataclasses
import datetime
import json
from decimal import Decimal
from enum import Enum
from typing import Any, NamedTuple
from uuid import UUID

import msgspec
import pytest

from anywire import ImageContent, TextContent, ToolOutput
from anywire.server.result import describe, encode_failure, encode_output

PNG = "data:image/png;base64,iVBORw0KGgo="


class Colour(Enum):
    RED = "red"


class Point(msgspec.Struct):
    x: int
    y: int = 2


@dataclasses.dataclass
class Box:
    corner: Point
    name: str | None = None


class Pair(NamedTuple):
    left: int
    right: int


def result(value: object) -> dict[str, Any]:
    """The result as a client reads it; strictly, so that nothing in it is no JSON."""

    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is no JSON")

    return json.loads(encode_output(value), parse_constant=refuse)


def text(words: str) -> dict[str, str]:
    return {"type": "text", "text": words}


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("", ""),
        ("plain", "plain"),
        ("Zoë \u2028 😀\n", "Zoë \u2028 😀\n"),
        ("half \ud83d", "half \ufffd"),
        (5, "5"),
        (10**30, str(10**30)),
        (1.5, "1.5"),
        (float("nan"), "null"),
        (float("inf"), "null"),
        (True, "true"),
        ({"a": [1, None], "é": {}}, '{"a":[1,null],"é":{}}'),
        ({"half": "\ud83d", "nan": float("nan")}, '{"half":"\ufffd","nan":null}'),
        ({1: "a"}, '{"1":"a"}'),
        ([], "[]"),
        ([1, "a", None], '[1,"a",null]'),
        ((1, 2), "[1,2]"),
        (["a", "b"], '["a","b"]'),
        ({"x"}, '["x"]'),
        (Point(1), '{"x":1,"y":2}'),
        (Box(Point(1)), '{"corner":{"x":1,"y":2},"name":null}'),
        ([Box(Point(1), "b")], '[{"corner":{"x":1,"y":2},"name":"b"}]'),
        (Pair(1, 2), "[1,2]"),
        (Colour.RED, '"red"'),
        (datetime.date(2025, 11, 25), '"2025-11-25"'),
        (UUID(int=1), '"00000000-0000-0000-0000-000000000001"'),
        (Decimal("1.50"), '"1.50"'),
        (msgspec.Raw(b'{"a":1}'), '{"a":1}'),
    ],
)
def test_a_value_is_one_block_of_text(value: object, words: str) -> None:
    """A string as it is, anything else as its JSON."""
    assert result(value) == {"content": [text(words)]}


class Subtle(str):
    """A string by inheritance."""

    __slots__ = ()


def test_a_kind_of_string_is_a_string() -> None:
    """Not the JSON of one."""
    assert result(Subtle("plain")) == {"content": [text("plain")]}


def test_nothing_is_no_block() -> None:
    """A handler without a result has an empty one."""
    assert encode_output(None) == b'{"content":[]}'


def test_blocks_are_themselves() -> None:
    """Alone, or in a list with strings and other values in between."""
    image = ImageContent("iVBORw0KGgo=", "image/png")
    block = {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"}
    assert result(TextContent("t")) == {"content": [text("t")]}
    assert result(image) == {"content": [block]}
    assert result([TextContent("t"), image, "plain", 5, None]) == {
        "content": [text("t"), block, text("plain"), text("5")]
    }
    assert result((image,)) == {"content": [block]}


def test_a_picture_is_made_of_its_bytes() -> None:
    """In base64, with its type."""
    assert ImageContent.from_bytes(b"\x89PNG\r\n\x1a\n") == ImageContent("iVBORw0KGgo=", "image/png")
    assert ImageContent.from_bytes(b"x", "image/webp").mime_type == "image/webp"


@pytest.mark.parametrize(
    ("attachments", "blocks"),
    [
        ((), []),
        ((PNG,), [("iVBORw0KGgo=", "image/png")]),
        (("data:image/svg+xml;base64,AA==", PNG), [("AA==", "image/svg+xml"), ("iVBORw0KGgo=", "image/png")]),
        (("data:image/png;base64,iVBO\n Rw0KGgo=",), [("iVBORw0KGgo=", "image/png")]),
        (("https://host/x.png", "data:text/plain;base64,AA==", "data:image/png,raw", "", "file:///x"), []),
    ],
)
def test_attachments_are_pictures_after_the_text(
    attachments: tuple[str, ...], blocks: list[tuple[str, str]]
) -> None:
    """Other addresses are left out: nothing is fetched, nothing is leaked."""
    assert result(ToolOutput("words", attachments)) == {
        "content": [
            text("words"),
            *({"type": "image", "data": data, "mimeType": kind} for data, kind in blocks),
        ]
    }


def test_metadata_never_leaves() -> None:
    """It is for the program itself, wherever the output stands."""
    output = ToolOutput("words", metadata={"secret": "s3cret"})
    for value in (output, [output], [TextContent("t"), output], (output, 5)):
        encoded = encode_output(value)
        assert b"s3cret" not in encoded
        assert b"words" in encoded
    with pytest.raises(TypeError, match="ToolOutput"):
        encode_output({"inside": output})
    assert repr(output) == "ToolOutput('words', (), {'secret': 's3cret'})"


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize("value", [object(), [object()], {"a": object()}, {(1, 2): 3}, nested(100_000)])
def test_what_has_no_json_is_refused(value: object) -> None:
    """By an exception that becomes that call's error."""
    with pytest.raises((TypeError, RecursionError)):
        encode_output(value)


def test_a_failure_says_so() -> None:
    """With its text."""
    assert json.loads(encode_failure("no \ud83d")) == {"content": [text("no \ufffd")], "isError": True}


class Silent(Exception):
    def __str__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ValueError("text"), "text"),
        (ValueError(), "ValueError"),
        (KeyError("k"), "'k'"),
        (Silent(), "Silent"),
        (ExceptionGroup("g", [ValueError("one")]), "one"),
        (BaseExceptionGroup("g", [ExceptionGroup("h", [Silent()])]), "Silent"),
        (ExceptionGroup("both", [ValueError("one"), ValueError("two")]), "both (2 sub-exceptions)"),
    ],
)
def test_an_exception_is_described_by_its_cause(error: BaseException, words: str) -> None:
    """A group of one is that one."""
    assert describe(error) == words
