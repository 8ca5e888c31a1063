"""What a result looks like to a person."""

from __future__ import annotations

import json
from typing import Any

import pytest

from anywire.cli.content import result_text
from anywire.client.result import ToolResult


def shown(*blocks: dict[str, Any], **members: Any) -> str:
    """The text of a result with these blocks and members."""
    return result_text(ToolResult.from_raw(json.dumps({"content": blocks, **members}).encode()))


def text(value: str) -> dict[str, Any]:
    """A block of text."""
    return {"type": "text", "text": value}


def test_text_is_shown_as_it_is() -> None:
    """Blocks stand below each other."""
    assert shown(text("one\n  two"), text("three")) == "one\n  two\nthree"


@pytest.mark.parametrize(
    ("block", "line"),
    [
        (
            {"type": "image", "mimeType": "image/png", "data": "A" * 16_460},
            "[image image/png, 12,345 bytes]",
        ),
        ({"type": "audio", "mimeType": "audio/wav", "data": "AAA="}, "[audio audio/wav, 2 bytes]"),
        ({"type": "image"}, "[image of unknown type, no data]"),
        ({"type": "resource_link", "uri": "file:///a.txt"}, "[link file:///a.txt]"),
        (
            {"type": "resource", "resource": {"uri": "x:y", "text": "hello"}},
            "[resource x:y]\nhello",
        ),
        (
            {"type": "resource", "resource": {"uri": "x:y", "mimeType": "a/b", "blob": "AA=="}},
            "[resource x:y, a/b, 1 bytes]",
        ),
        ({"type": "hologram", "depth": 3}, '[hologram {"type":"hologram","depth":3}]'),
        ({"depth": 3}, '[a block {"depth":3}]'),
        ({"type": "text"}, '[text {"type":"text"}]'),
    ],
)
def test_other_blocks_stand_in_brackets(block: dict[str, Any], line: str) -> None:
    """What cannot be printed is named, kinds that nobody knows yet included."""
    assert shown(block) == line


def test_structured_content_is_indented_and_otherwise_as_it_came() -> None:
    """Numbers keep their spelling, members their order."""
    raw = b'{"content":[{"type":"text","text":"warm"}],"structuredContent":{"z":1.50,"a":12345678901234567890123}}'

    assert result_text(ToolResult.from_raw(raw)) == (
        'warm\n{\n  "z": 1.50,\n  "a": 12345678901234567890123\n}'
    )


def test_structured_content_that_stands_in_a_text_as_well_is_shown_once() -> None:
    """Servers repeat it for clients that know no structured content."""
    assert shown(text('{"a":1}'), structuredContent={"a": 1}) == '{\n  "a": 1\n}'


def test_structured_content_that_only_wraps_the_text_is_not_shown() -> None:
    """A number that a tool gave stays a number; with more than that, all is told."""
    assert shown(text("0.25"), structuredContent={"result": 0.25}) == "0.25"
    assert shown(text("0.25"), structuredContent={"result": 0.5}) == '0.25\n{\n  "result": 0.5\n}'


def test_a_result_without_anything_is_nothing() -> None:
    """An empty result prints nothing."""
    assert shown() == ""
