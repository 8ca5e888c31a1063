"""Blocks of content: known ones are typed, unknown ones stay as they came."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from msgspec import UNSET, Raw

from anywire.protocol.types.annotations import Annotations
from anywire.protocol.types.content import (
    AudioContent,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    ToolResultContent,
    ToolUseContent,
    UnknownContent,
    read_content,
)
from anywire.protocol.types.prompts import GetPromptResult, PromptMessage
from anywire.protocol.types.reading import read, read_items
from anywire.protocol.types.resources import (
    BlobResourceContents,
    ReadResourceResult,
    TextResourceContents,
    read_contents,
    read_resource_contents,
)
from anywire.protocol.types.sampling import CreateMessageResult, SamplingMessage
from anywire.protocol.types.tools import CallToolResult
from anywire.wire.value import encode_value
from tests.wire.strategies import json_texts

HOLOGRAM = b'{"type":"hologram", "n": 1.0e-5, "big": 123456789012345678901234567890}'


# Kinds.


@pytest.mark.parametrize(
    ("raw", "block"),
    [
        (b'{"type":"text","text":"a"}', TextContent("a")),
        (b'{"type":"image","data":"aGk=","mimeType":"image/png"}', ImageContent.from_bytes(b"hi")),
        (b'{"type":"audio","data":"aGk=","mimeType":"audio/wav"}', AudioContent.from_bytes(b"hi")),
        (b'{"type":"resource_link","uri":"a:b","name":"x","size":3}', ResourceLink("a:b", "x", size=3)),
        (
            b'{"type":"resource","resource":{"uri":"a:b","text":"t"}}',
            EmbeddedResource(TextResourceContents("a:b", "t")),
        ),
        (
            b'{"type":"resource","resource":{"uri":"a:b","blob":"aGk="}}',
            EmbeddedResource(BlobResourceContents.from_bytes("a:b", b"hi")),
        ),
        (b'{"type":"tool_use","id":"1","name":"add","input":{"a":1}}', ToolUseContent("1", "add", {"a": 1})),
        (
            b'{"type":"tool_result","toolUseId":"1","content":[{"type":"text","text":"a"}]}',
            ToolResultContent("1", [TextContent("a")]),
        ),
    ],
)
def test_a_block_of_a_known_kind_is_typed(raw: bytes, block: msgspec.Struct) -> None:
    got = read_content(raw)

    assert got == block
    assert type(got) is type(block)
    assert got.raw == raw
    assert encode_value(got) == raw


def test_annotations_and_meta_come_along() -> None:
    raw = b'{"type":"text","text":"a","annotations":{"audience":["user"],"priority":0.5},"_meta":{"a/b":1}}'

    assert read_content(raw) == TextContent("a", Annotations(["user"], 0.5), meta={"a/b": 1})


@pytest.mark.parametrize(
    ("raw", "kind"),
    [
        (HOLOGRAM, "hologram"),
        (b'{"type":"text"}', "text"),
        (b'{"type":"text","text":7}', "text"),
        (b'{"type":"image","data":"aGk="}', "image"),
        (b'{"type":"resource","resource":{"uri":"a:b"}}', "resource"),
        (b'{"type":"resource","resource":{"text":"b"}}', "resource"),
        (b'{"type":"tool_result","toolUseId":"1","content":5}', "tool_result"),
        (b'{"type":7}', ""),
        (b'{"type":null}', ""),
        (b'{"text":"a"}', ""),
        (b"{}", ""),
        (b"[1]", ""),
        (b"7", ""),
        (b"null", ""),
    ],
)
def test_any_other_block_stays_as_it_came(raw: bytes, kind: str) -> None:
    block = read_content(raw)

    assert isinstance(block, UnknownContent)
    assert (block.type, block.raw) == (kind, raw)
    assert encode_value([block]) == b"[" + raw + b"]"


def test_a_block_keeps_its_text_though_its_annotations_are_odd() -> None:
    raw = b'{"type":"text","text":"a","annotations":{"priority":"high"},"_meta":7}'

    assert read_content(raw) == TextContent("a", Annotations())
    assert read_content(raw).raw == raw


@given(json_texts().map(str.encode))
def test_no_block_is_ever_lost(raw: bytes) -> None:
    assert read_content(raw).raw == raw


def test_unknown_blocks_are_equal_when_their_bytes_are() -> None:
    assert UnknownContent("a", b"{}") == UnknownContent("a", b"{}")
    assert UnknownContent("a", b"{}") != UnknownContent("a", b"{ }")
    assert len({UnknownContent("a", b"{}"), UnknownContent("a", b"{}")}) == 1
    assert repr(UnknownContent("a", b"{}")) == "UnknownContent(b'{}')"


# Inside of something.


def test_the_blocks_of_a_result_are_typed_each_by_itself() -> None:
    raw = b'{"content":[{"type":"text","text":"a"},%b,{"type":"image"}],"isError":true,"future":1}' % HOLOGRAM
    result = read(raw, CallToolResult)

    assert [type(block) for block in result.content] == [TextContent, UnknownContent, UnknownContent]
    assert result.raw == raw
    assert encode_value(result) == raw.replace(b',"future":1', b"")


def test_a_message_holds_whatever_block_came() -> None:
    known = read(b'{"role":"user","content":{"type":"text","text":"a"}}', PromptMessage)
    unknown = read(b'{"role":"user","content":%b}' % HOLOGRAM, PromptMessage)

    assert known == PromptMessage("user", TextContent("a"))
    assert unknown.content == UnknownContent("hologram", HOLOGRAM)
    assert encode_value(unknown) == b'{"role":"user","content":%b}' % HOLOGRAM


def test_a_message_of_nobody_costs_one() -> None:
    raw = b'{"messages":[{"role":"ghost","content":{}},{"role":"user","content":{"type":"text","text":"a"}}]}'

    messages, faults = read_items(read(raw, GetPromptResult).messages, PromptMessage)

    assert messages == [PromptMessage("user", TextContent("a"))]
    assert [fault.raw for fault in faults] == [b'{"role":"ghost","content":{}}']


def test_a_message_to_a_model_has_one_block_or_several() -> None:
    one = read(b'{"role":"user","content":{"type":"text","text":"a"}}', SamplingMessage)
    two = read(b'{"role":"user","content": [{"type":"text","text":"a"},%b]}' % HOLOGRAM, SamplingMessage)

    assert one.content == TextContent("a")
    assert two.content == [TextContent("a"), UnknownContent("hologram", HOLOGRAM)]
    assert encode_value(SamplingMessage("user", [TextContent("a")])) == (
        b'{"role":"user","content":[{"type":"text","text":"a"}]}'
    )


def test_what_a_model_said_is_read_as_far_as_it_goes() -> None:
    raw = b'{"role":"assistant","content":[],"model":"m","stopReason":7}'

    assert read(raw, CreateMessageResult) == CreateMessageResult("assistant", [], "m")


# Resources.


def test_contents_are_text_or_bytes() -> None:
    text = read_contents(b'{"uri":"a:b","text":"t","mimeType":"text/plain","x":1}')
    blob = read_contents(b'{"uri":"a:b","blob":"aGk=","text":"t"}')

    assert text == TextResourceContents("a:b", "t", "text/plain")
    assert isinstance(blob, BlobResourceContents)
    assert (blob.data, blob.mime_type) == (b"hi", UNSET)


def test_bytes_that_are_no_base64_are_told_when_they_are_asked_for() -> None:
    with pytest.raises(ValueError, match=r"base64|padding"):
        _ = BlobResourceContents("a:b", "aGk").data


def test_contents_that_cannot_be_read_cost_one() -> None:
    raw = b'{"contents":[{"uri":"a:b"},{"uri":"a:b","text":"t"},{"uri":"a:b","blob":5},7]}'
    result = read(raw, ReadResourceResult)

    contents, faults = read_resource_contents(result.contents)

    assert contents == [TextResourceContents("a:b", "t")]
    assert [fault.raw for fault in faults] == [b'{"uri":"a:b"}', b'{"uri":"a:b","blob":5}', b"7"]
    assert read_resource_contents([contents[0], Raw(b"[]")])[0] == contents
