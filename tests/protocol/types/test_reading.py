"""What a peer sends is read as far as it goes, and none of it is lost."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET, Raw

from anywire.protocol.types.annotations import Annotations
from anywire.protocol.types.content import TextContent
from anywire.protocol.types.icons import Icon
from anywire.protocol.types.initialize import Implementation, InitializeResult
from anywire.protocol.types.logging import LogMessageParams
from anywire.protocol.types.pagination import PaginatedParams
from anywire.protocol.types.progress import ProgressParams
from anywire.protocol.types.prompts import GetPromptParams, Prompt, PromptArgument
from anywire.protocol.types.reading import ItemFault, read, read_items
from anywire.protocol.types.resources import ListResourcesResult, Resource
from anywire.protocol.types.tools import CallToolResult, ListToolsResult, Tool, ToolAnnotations
from anywire.wire.value import encode_value
from tests.wire.strategies import json_texts, mutations

SCHEMA = b'{"type":"object"}'


def tool(more: bytes = b"") -> bytes:
    """A tool on the wire."""
    return b'{"name":"add","inputSchema":%b%b}' % (SCHEMA, more)


# The bytes.


def test_what_is_read_keeps_its_bytes() -> None:
    raw = tool(b', "future" : {"a": 1.0e-5}')

    assert read(raw, Tool).raw == raw


def test_what_is_made_here_is_written_as_its_bytes() -> None:
    assert Tool("add", {"type": "object"}).raw == tool()


def test_a_changed_copy_has_its_own_bytes() -> None:
    copy = msgspec.structs.replace(read(tool(b',"future":1'), Tool), title="Add")

    assert copy.raw == b'{"name":"add","inputSchema":{"type":"object"},"title":"Add"}'


def test_bytes_are_never_written_as_a_member() -> None:
    assert encode_value(read(tool(b',"raw":1'), Tool)) == tool()


def test_bytes_make_no_difference_to_equality() -> None:
    assert read(tool(b',"future":1'), Tool) == Tool("add", {"type": "object"})


def test_half_a_surrogate_pair_costs_itself_and_stays_in_the_bytes() -> None:
    raw = b'{"uri":"a:b","name":"x\\ud83d"}'
    resource = read(raw, Resource)

    assert (resource.name, resource.raw) == ("x\ufffd", raw)


# Optional members.


@pytest.mark.parametrize(
    "member",
    [
        b'"title":7',
        b'"title":null',
        b'"annotations":[]',
        b'"icons":{}',
        b'"icons":[{"theme":"light"}]',
        b'"outputSchema":true',
        b'"execution":{"taskSupport":"maybe"}',
        b'"_meta":null',
    ],
)
def test_an_optional_member_that_cannot_be_used_costs_itself(member: bytes) -> None:
    read_tool = read(tool(b',"description":"Adds.",' + member), Tool)

    assert (read_tool.name, read_tool.input_schema, read_tool.description) == (
        "add",
        {"type": "object"},
        "Adds.",
    )
    assert member in read_tool.raw


def test_a_member_inside_a_member_costs_itself() -> None:
    raw = b'{"uri":"a:b","name":"x","annotations":{"audience":["nobody"],"priority":1},"size":"big"}'

    assert read(raw, Resource) == Resource("a:b", "x", annotations=Annotations(priority=1))


def test_an_item_inside_a_member_costs_itself() -> None:
    raw = b'{"name":"p","title":5,"arguments":[{"name":"a"},{"title":"b"},7],"icons":[{"src":"x","sizes":"48"}]}'

    assert read(raw, Prompt) == Prompt("p", arguments=[PromptArgument("a")], icons=[Icon("x")])


@pytest.mark.parametrize(
    "raw",
    [
        b"{}",
        b'{"name":"add"}',
        b'{"name":7,"inputSchema":{}}',
        b'{"name":"a","inputSchema":[]}',
        b"[]",
        b"7",
        b"{",
    ],
)
def test_a_required_member_costs_the_whole(raw: bytes) -> None:
    with pytest.raises(msgspec.MsgspecError):
        read(raw, Tool)


def test_an_unusable_member_is_named() -> None:
    with pytest.raises(msgspec.ValidationError, match=r"inputSchema"):
        read(b'{"name":"a","title":7,"inputSchema":5}', Tool)
    with pytest.raises(msgspec.ValidationError, match=r"missing required field `name`"):
        read(b'{"title":7,"inputSchema":{}}', Tool)


def test_a_server_is_known_though_it_says_odd_things_of_itself() -> None:
    raw = (
        b'{"protocolVersion":"2025-11-25","capabilities":{"x": 1.0},"instructions":5,'
        b'"serverInfo":{"name":"s","version":null,"websiteUrl":{}}}'
    )
    result = read(raw, InitializeResult)

    assert result.server_info == Implementation("s")
    assert result.instructions is UNSET
    assert bytes(result.capabilities) == b'{"x": 1.0}'


# What is asked, and answered.


@pytest.mark.parametrize(
    ("raw", "type"),
    [
        (b'{"cursor":5}', PaginatedParams),
        (b'{"name":"p","arguments":{"a":1}}', GetPromptParams),
        (b'{"tools":5}', ListToolsResult),
        (b'{"tools":[],"nextCursor":5}', ListToolsResult),
        (b'{"content":[],"isError":"no"}', CallToolResult),
        (b'{"content":{}}', CallToolResult),
        (b'{"level":"loud","data":1}', LogMessageParams),
    ],
)
def test_what_matters_is_not_guessed(raw: bytes, type: type[msgspec.Struct]) -> None:
    """A bad cursor is not the first page, a bad flag is not a success."""
    with pytest.raises(msgspec.ValidationError):
        read(raw, type)


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        (b'{"cursor":null}', PaginatedParams()),
        (b'{"tools":[],"nextCursor":null,"_meta":null}', ListToolsResult([])),
        (b'{"tools":[],"ttlMs":"long","cacheScope":"all"}', ListToolsResult([])),
        (b'{"content":[],"isError":null}', CallToolResult([])),
        (b'{"progressToken":1,"progress":2,"total":"many","message":3}', ProgressParams(1, 2)),
        (b'{"level":"info","data":null,"logger":null}', LogMessageParams("info", None)),
    ],
)
def test_null_is_as_good_as_absent_and_what_only_adorns_is_forgiven(
    raw: bytes, value: msgspec.Struct
) -> None:
    assert read(raw, type(value)) == value


def test_null_that_is_content_is_content() -> None:
    assert read(b'{"content":[],"structuredContent":null}', CallToolResult).structured_content is None
    assert read(b'{"content":[]}', CallToolResult).structured_content is UNSET


# Lists.


def test_a_bad_item_costs_one() -> None:
    page = read(b'{"tools":[%b,{"name":7},%b]}' % (tool(), tool(b',"x":1')), ListToolsResult)

    tools, faults = read_items(page.tools, Tool)

    assert [each.raw for each in tools] == [tool(), tool(b',"x":1')]
    assert [fault.raw for fault in faults] == [b'{"name":7}']
    assert "name" in faults[0].reason or "inputSchema" in faults[0].reason


@pytest.mark.parametrize("item", [b"null", b"7", b"[]", b'"x"', b"{}", b'{"uri":1,"name":"x"}'])
def test_nine_good_items_stay_whatever_the_tenth_is(item: bytes) -> None:
    good = b'{"uri":"a:b","name":"x"}'
    page = read(b'{"resources":[%b,%b]}' % (item, b",".join([good] * 9)), ListResourcesResult)

    resources, faults = read_items(page.resources, Resource)

    assert resources == [Resource("a:b", "x")] * 9
    assert len(faults) == 1
    assert isinstance(faults[0], ItemFault)
    assert faults[0].raw == item


def test_items_that_are_read_already_pass() -> None:
    made = Resource("a:b", "x")

    assert read_items([made, Raw(b'{"uri":"c:d","name":"y"}')], Resource) == (
        [made, Resource("c:d", "y")],
        [],
    )


def test_a_page_is_written_with_items_or_with_raw_ones() -> None:
    page = ListResourcesResult([Resource("a:b", "x"), Raw(b'{"future": 1.0}')], next_cursor="")

    assert encode_value(page) == b'{"resources":[{"uri":"a:b","name":"x"},{"future": 1.0}],"nextCursor":""}'


# Hints.


def test_hints_of_a_tool_are_typed_as_far_as_they_go() -> None:
    hints = Tool("x", {}, annotations={"readOnlyHint": True, "idempotentHint": "yes", "future": 1}).hints

    assert hints == ToolAnnotations(read_only_hint=True)
    assert Tool("x", {}).hints == ToolAnnotations()


# Anything.

TYPES: list[type[msgspec.Struct]] = [Tool, Resource, Prompt, TextContent, CallToolResult, InitializeResult]


@given(json_texts().map(str.encode), st.sampled_from(TYPES))
def test_reading_fails_in_one_way_only(raw: bytes, type: type[msgspec.Struct]) -> None:
    only_fails_in_one_way(raw, type)


@given(mutations(st.just(tool(b',"icons":[{"src":"a"}],"annotations":{"title":"b"}'))))
def test_reading_what_is_nearly_right_fails_in_one_way_only(raw: bytes) -> None:
    only_fails_in_one_way(raw, Tool)


def only_fails_in_one_way(raw: bytes, type: type[Any]) -> None:
    """Reading gives a value with its bytes, or the one error."""
    try:
        value = read(raw, type)
    except msgspec.MsgspecError:
        return
    assert value.raw == raw
