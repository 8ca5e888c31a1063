"""The typed params and results."""

from __future__ import annotations

import msgspec
import pytest

from anywire.protocol.types.content import ImageContent, TextContent
from anywire.protocol.types.logging import LOG_LEVELS, LogLevel, SetLevelParams, is_logged
from anywire.protocol.types.tools import (
    CallToolParams,
    CallToolResult,
    ListToolsResult,
    Tool,
    ToolResultMessage,
)
from anywire.wire.value import decode_value, encode_value

# Content.


def test_blocks_are_written_with_their_type() -> None:
    assert encode_value([TextContent("é"), ImageContent("aGk=", "image/png")]) == (
        '[{"type":"text","text":"é"},{"type":"image","data":"aGk=","mimeType":"image/png"}]'.encode()
    )


def test_a_picture_is_written_in_base64() -> None:
    assert ImageContent.from_bytes(b"hi") == ImageContent("aGk=", "image/png")
    assert ImageContent.from_bytes(b"", "image/gif") == ImageContent("", "image/gif")


@pytest.mark.parametrize(
    ("uri", "image"),
    [
        ("data:image/png;base64,aGk=", ImageContent("aGk=", "image/png")),
        ("data:image/svg+xml;base64,aGk=", ImageContent("aGk=", "image/svg+xml")),
        ("data:image/png;base64,aG\n k=", ImageContent("aGk=", "image/png")),
        ("data:image/png,aGk=", None),
        ("data:text/plain;base64,aGk=", None),
        ("data:image/png;base64,a?k=", None),
        ("https://example.com/x.png", None),
        ("", None),
    ],
)
def test_a_picture_is_taken_from_a_data_uri_and_from_no_other(uri: str, image: ImageContent | None) -> None:
    assert ImageContent.from_data_uri(uri) == image


# Logging.


def test_the_levels_stand_least_severe_first() -> None:
    assert LOG_LEVELS == ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")


@pytest.mark.parametrize("minimum", LOG_LEVELS)
def test_a_message_is_logged_from_its_minimum_on(minimum: LogLevel) -> None:
    logged = [level for level in LOG_LEVELS if is_logged(level, minimum)]

    assert logged == list(LOG_LEVELS[LOG_LEVELS.index(minimum) :])


def test_an_unknown_level_is_refused() -> None:
    assert decode_value(b'{"level":"alert"}', SetLevelParams).level == "alert"
    with pytest.raises(msgspec.ValidationError):
        decode_value(b'{"level":"loud"}', SetLevelParams)


# Tools.


def test_a_tool_is_listed_without_what_it_has_not() -> None:
    assert encode_value(Tool("add", {"type": "object"})) == b'{"name":"add","inputSchema":{"type":"object"}}'


def test_the_arguments_of_a_call_stay_raw() -> None:
    call = decode_value(
        b'{"name":"add","arguments":{"a": 1.0e-5},"_meta":{"progressToken": 7},"x":1}', CallToolParams
    )

    assert (call.name, bytes(call.arguments), bytes(call.meta)) == (
        "add",
        b'{"a": 1.0e-5}',
        b'{"progressToken": 7}',
    )
    assert bytes(decode_value(b"{}", CallToolParams).arguments) == b"{}"


def test_a_result_says_that_it_is_an_error_only_if_it_is() -> None:
    """Promise 5: a tool that failed is a result like any other, with `isError`."""
    assert encode_value(CallToolResult([TextContent("x")])) == b'{"content":[{"type":"text","text":"x"}]}'
    assert encode_value(CallToolResult([], is_error=True)) == b'{"content":[],"isError":true}'


def test_blocks_of_kinds_not_yet_known_are_kept_as_they_came() -> None:
    raw = b'{"content":[{"type":"hologram", "n":1.0e-5}],"isError":true,"structuredContent":{"a":1},"x":2}'

    result = decode_value(raw, ToolResultMessage)

    assert [bytes(block) for block in result.content] == [b'{"type":"hologram", "n":1.0e-5}']
    assert result.is_error
    assert isinstance(result.structured_content, msgspec.Raw)
    assert bytes(result.structured_content) == b'{"a":1}'
    assert decode_value(b"{}", ToolResultMessage) == ToolResultMessage()


def test_a_page_of_tools_keeps_each_tool_as_it_came() -> None:
    page = decode_value(b'{"tools":[{"name":7},{"name": "x"}],"nextCursor":"c"}', ListToolsResult)

    assert [tool if isinstance(tool, Tool) else bytes(tool) for tool in page.tools] == [
        b'{"name":7}',
        b'{"name": "x"}',
    ]
    assert page.next_cursor == "c"
