"""Lines of a control channel: every vector, and what is written for the other side."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anywire.wire.control import (
    ControlAnswer,
    ControlCancel,
    ControlFailure,
    ControlLine,
    ControlRequest,
    KeepAlive,
    OtherLine,
    control_answer,
    control_cancel,
    control_failure,
    control_request,
    decode_control,
    named,
)
from anywire.wire.control_mcp import (
    McpMessage,
    mcp_answer,
    mcp_request,
    read_mcp_message,
    read_mcp_response,
    read_server_names,
)
from anywire.wire.limits import Limits
from anywire.wire.message import Fault
from anywire.wire.newline import NewlineFramer
from tests.wire.vectors import Vector, each_vector


def render(line: ControlLine | Fault) -> bytes:
    """A line as the vectors write it."""
    match line:
        case ControlRequest():
            words = [b"request", line.id, line.subtype.encode(), line.request]
        case ControlAnswer():
            words = [b"answer", line.id, line.response]
        case ControlFailure():
            words = [b"failure", line.id, line.error.encode()]
        case ControlCancel():
            words = [b"cancel", line.id]
        case KeepAlive():
            words = [b"alive"]
        case OtherLine():
            words = [b"other", line.type.encode() or None]
        case Fault():
            id = None if line.id is None else b"id=" + line.id
            words = [b"fault", line.kind.name.encode(), id, b"reply" if line.is_reply else None]
    return b" ".join(word for word in words if word is not None)


@each_vector("control.txt")
def test_a_line_is_what_the_vector_says(vector: Vector) -> None:
    """Requests, responses, cancellations, and everything else that comes."""
    assert [render(decode_control(vector.data, vector.limits))] == vector.out


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (
            control_request(b'"a"', "interrupt"),
            ControlRequest(b'"a"', "interrupt", b'{"subtype":"interrupt"}'),
        ),
        (control_request(b"1", "x", b' { "a":1}'), ControlRequest(b"1", "x", b'{"subtype":"x", "a":1}')),
        (control_answer(b'"a"'), ControlAnswer(b'"a"')),
        (control_answer(b'"a"', b"[1]"), ControlAnswer(b'"a"', b"[1]")),
        (control_failure(b'"a"', 'no "é"\n'), ControlFailure(b'"a"', 'no "é"\n')),
        (control_cancel(b'"a"'), ControlCancel(b'"a"')),
    ],
)
def test_what_is_written_is_read_back(written: bytes, read: ControlLine) -> None:
    """And is one line of JSON."""
    json.loads(written)
    assert decode_control(written) == read


def test_a_message_is_carried_as_the_bytes_it_is() -> None:
    """In a request and in its answer."""
    message = b'{"x":[ 1.0 ],"t":"\\ud83d"}'
    request = decode_control(mcp_request(b'"a"', '"é"'.encode(), message))
    answer = decode_control(mcp_answer(b'"a"', message))

    assert isinstance(request, ControlRequest)
    assert read_mcp_message(request.request) == McpMessage("é", message)
    assert isinstance(answer, ControlAnswer)
    assert read_mcp_response(answer.response) == message


@pytest.mark.parametrize(
    ("body", "read"),
    [
        (b'{"server_name":"a","message":{}}', McpMessage("a", b"{}")),
        (b'{"serverName":"a","message":[1]}', McpMessage("a", b"[1]")),
        (b'{"serverName":"b","server_name":"a","message":{}}', McpMessage("a", b"{}")),
        (b'{"server_name":"","message":{}}', McpMessage("", b"{}")),
        (b'{"server_name":"\\ud83d","message":{}}', McpMessage("\ufffd", b"{}")),
        (b'{"server_name":7,"message":{}}', None),
        (b'{"server_name":"a"}', None),
        (b'{"message":{}}', None),
        (b"[]", None),
    ],
)
def test_a_message_names_its_server(body: bytes, read: McpMessage | None) -> None:
    """In either spelling; without a name or a message it is none."""
    assert read_mcp_message(body) == read


@pytest.mark.parametrize("response", [None, b"{}", b"7", b'{"other":1}', b'{"t":"\\ud83d"}'])
def test_an_answer_may_carry_nothing(response: bytes | None) -> None:
    """Hosts acknowledge with an empty success."""
    assert read_mcp_response(response) is None


@pytest.mark.parametrize(
    ("body", "names"),
    [
        (b'{"sdkMcpServers":["a","b"]}', ("a", "b")),
        (b'{"sdkMcpServers":{"a":{"type":"sdk","name":"a"}},"sdkMcpServerManifests":{}}', ("a",)),
        (b'{"sdkMcpServers":[]}', ()),
        (b'{"sdkMcpServers":["a",7]}', ("a",)),
        (b'{"sdkMcpServers":null}', None),
        (b'{"sdkMcpServers":"a"}', None),
        (b"{}", None),
    ],
)
def test_the_servers_come_as_a_list_or_as_a_map(body: bytes, names: tuple[str, ...] | None) -> None:
    """Or are not said at all."""
    assert read_server_names(body) == names


def test_whose_line_was_too_large_is_found_in_its_beginning() -> None:
    """So that nobody waits for what was not kept."""
    limits = Limits().replace(message_bytes=1000, excerpt_bytes=200)
    request = mcp_request(b'"r1"', b'"calc"', b'{"t":"%b"}' % (b"x" * 2000))
    answer = mcp_answer(b'"r2"', b'{"t":"%b"}' % (b"x" * 2000))
    faults = [each for line in (request, answer) for each in NewlineFramer(limits).feed(line + b"\n")]

    found = [named(fault) for fault in faults if isinstance(fault, Fault)]

    assert [(fault.id, fault.is_reply) for fault in found] == [(b'"r1"', False), (b'"r2"', True)]


_PIECES = st.sampled_from(
    [
        b'{"type":', b'"control_request"', b'"control_response"', b'"control_cancel"', b',"request_id":', b'"a"',
        b"7", b"null", b',"request":', b',"response":', b'{"subtype":"x"}', b'{"subtype":"success"', b"}", b"{", b"[",
        b"]", b'"', b"\\", b"\xff", b'"\\ud83d"', b'"error"', b",", b" ", b'"subtype":', b"1e999", b"-",
    ]
)  # fmt: skip


@given(st.one_of(st.binary(max_size=200), st.lists(_PIECES, max_size=20).map(b"".join)))
def test_no_line_raises(data: bytes) -> None:
    """Whatever comes: it is something, and an id that is told can be written back."""
    found = decode_control(data)
    if isinstance(found, Fault):
        assert named(found) is not None
    id = getattr(found, "id", None)
    if id is not None:
        json.loads(control_failure(id, "x"))
    if isinstance(found, ControlRequest):
        read_mcp_message(found.request)
        read_server_names(found.request)
    if isinstance(found, ControlAnswer):
        read_mcp_response(found.response)
