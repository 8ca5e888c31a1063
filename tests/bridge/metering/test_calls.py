"""What is counted of the requests of one method."""

from __future__ import annotations

from math import inf

import pytest

from anywire.bridge.metering.calls import BUCKETS, OTHER, TOOL_KIND, Calls, error_kind, label_of
from anywire.wire.message import ErrorResponse, Response


@pytest.mark.parametrize(
    ("result", "failed"),
    [
        (b'{"content":[],"isError":true}', True),
        (b'{"isError":true,"content":[]}', True),
        (b'{"isError" : \ttrue , "content":[]}', True),
        (b'{"content":[], "isError": true, "_meta":{"a":{}}}', True),
        (b'{"content":[{"text":"%b"}],"isError":true}' % (b"x" * 9000), True),
        (b'{"isError":true,"content":[{"text":"%b"}]}' % (b"x" * 9000), True),
        (b'{"content":[],"isError":false}', False),
        (b'{"content":[]}', False),
        (b'{"structuredContent":{"isError":true}}', False),
        (b'{"structuredContent":{"isError":true},"isError":false}', False),
        (rb'{"content":[{"text":"{\"isError\":true"}]}', False),
        (b'{"content":[{"text":"%b"}]}' % (b"x" * 9000), False),
        (b"[]", False),
        (b'"isError":true', False),
    ],
)
def test_a_tool_that_failed_is_told_by_the_result_itself(result: bytes, *, failed: bool) -> None:
    """Wherever servers write the member; the same words in a value of the tool's are none."""
    assert (error_kind("tools/call", Response(b"1", result)) == TOOL_KIND) is failed


def test_only_a_tool_call_can_be_a_tool_that_failed() -> None:
    """The result of another method may have a member of that name."""
    assert error_kind("prompts/get", Response(b"1", b'{"isError":true}')) is None


def test_an_error_is_counted_by_its_code() -> None:
    """One that cannot be read counts as an internal error, as everywhere."""
    assert error_kind("ping", ErrorResponse(b"1", b'{"code":-32602,"message":"no"}')) == "-32602"
    assert error_kind("ping", ErrorResponse(b"1", b'"no"')) == "-32603"


def test_methods_that_mcp_does_not_have_share_a_name() -> None:
    """A stranger may invent as many as he likes."""
    assert label_of("tools/call") == "tools/call"
    assert {label_of("x/y"), label_of(""), label_of("notifications/cancelled")} == {OTHER}


def test_durations_go_into_buckets() -> None:
    """One that is as long as a bound is within it; the last bucket has all."""
    calls = Calls("ping")
    for seconds in (0.0, 0.001, 0.0011, 1.0, 1000.0):
        calls.took(seconds)

    cumulated = calls.cumulated()

    assert tuple(cumulated) == (*BUCKETS, inf)
    assert (cumulated[0.001], cumulated[0.0025], cumulated[1.0], cumulated[300.0], cumulated[inf]) == (
        2,
        3,
        4,
        4,
        5,
    )
    assert (calls.answered, calls.seconds) == (5, pytest.approx(1001.0021))


def test_kinds_of_error_are_bounded() -> None:
    """A server that has a code of its own for each answer fills no memory."""
    calls = Calls("ping")
    for code in range(1000):
        calls.failed(str(code))
    calls.failed("5")

    assert len(calls.errors) <= 41
    assert sum(calls.errors.values()) == 1001
    assert (calls.errors["5"], calls.errors[OTHER]) == (2, 960)
