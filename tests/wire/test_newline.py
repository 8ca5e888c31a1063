"""What lines promise.  The numbers are those of the promises that the line module was made after."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anywire.wire.codec import decode
from anywire.wire.limits import Limits
from anywire.wire.message import (
    JSONRPC_VERSION,
    NULL_ID,
    ErrorResponse,
    Fault,
    FaultKind,
    JsonRpcErrorCode,
    Message,
    Notification,
    Request,
    Response,
    create_error_response,
    create_notification,
    create_request,
    create_response,
)
from anywire.wire.newline import NewlineFramer, parse_message_line, serialize_message
from tests.wire.strategies import envelopes, mutations, thorough

MESSAGES: list[Message] = [
    create_request(1, "tools/call", {"name": "add", "arguments": {"text": "two\nlines\r\n and \u2028"}}),
    create_request("a\nb", "x\ny"),
    create_notification("notifications/initialized"),
    create_response(1, {"text": "\n"}),
    create_error_response(None, -32700, "line\nbreak", {"data": "\r"}),
]


def parse_fault(line: bytes | str) -> Fault:
    """Parse what is expected to be no request and no notification."""
    fault = parse_message_line(line)
    assert isinstance(fault, Fault)
    return fault


@pytest.mark.parametrize("message", MESSAGES)
def test_a_message_is_one_line_with_one_line_feed_at_its_end(message: Message) -> None:
    """Promises 1 and 15: one JSON object a line, exactly one newline, and none inside."""
    line = serialize_message(message)

    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert b"\r" not in line
    assert decode(line) == message


def test_plain_data_is_one_line_as_well() -> None:
    """Promise 15: the same for JSON data in the shape of a message."""
    line = serialize_message({"jsonrpc": "2.0", "id": 1, "result": {"text": "a\nb"}})

    assert line == b'{"jsonrpc":"2.0","id":1,"result":{"text":"a\\nb"}}\n'


def test_a_message_that_came_over_several_lines_goes_out_on_one() -> None:
    """Promise 15: a newline between two members is white space and is left out."""
    pretty = decode(b'{\r\n  "jsonrpc": "2.0",\n  "id": 1,\n  "method": "ping"\n}')
    assert isinstance(pretty, Request)

    assert serialize_message(pretty) == b'{  "jsonrpc": "2.0",  "id": 1,  "method": "ping"}\n'


@given(envelopes())
@thorough(200)
def test_what_is_framed_comes_back_as_one_frame_of_the_same_meaning(body: bytes) -> None:
    """Promise 15, for any JSON: only white space may change."""
    framer = NewlineFramer()

    (frame,) = framer.feed(framer.frame(body))

    assert isinstance(frame, bytes)
    assert json.loads(frame) == json.loads(body)


def test_parsing_and_writing_are_pure() -> None:
    """Promise 2: nothing is printed, nothing is read, whatever comes in."""
    code = (
        "from anywire.wire.newline import parse_message_line, serialize_message\n"
        "parse_message_line('nope'); parse_message_line('{}'); serialize_message({})\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60, check=True)

    assert (done.stdout, done.stderr) == (b"", b"")


def test_a_message_without_an_id_is_a_notification() -> None:
    """Promises 4 and 22: without an id it is nothing that could be answered."""
    message = parse_message_line(
        b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}\n'
    )

    assert message == Notification("notifications/cancelled", b'{"requestId":1}')


def test_the_version_is_two_point_zero() -> None:
    """Promise 7."""
    assert JSONRPC_VERSION == "2.0"


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("ParseError", -32700),
        ("InvalidRequest", -32600),
        ("MethodNotFound", -32601),
        ("InvalidParams", -32602),
        ("InternalError", -32603),
    ],
)
def test_the_standard_codes_have_their_names(name: str, code: int) -> None:
    """Promises 5 and 8: what goes wrong with a message has one of these."""
    assert JsonRpcErrorCode[name] == code
    assert len(JsonRpcErrorCode) == 5


@pytest.mark.parametrize("id", [b'"a"', b"7", b'""', b"0", b"-1", b"1.5"])
def test_an_id_is_a_string_or_a_number(id: bytes) -> None:
    """Promise 9."""
    assert parse_message_line(b'{"jsonrpc":"2.0","id":%b,"method":"x"}' % id) == Request(id, "x")


@pytest.mark.parametrize("id", ["null", "true", "false", "{}", "[]", "[1]"])
def test_an_id_of_another_kind_is_an_invalid_request(id: str) -> None:
    """Promises 9 and 21: null among them."""
    fault = parse_fault(f'{{"jsonrpc":"2.0","id":{id},"method":"x"}}')

    assert fault.kind is FaultKind.INVALID_REQUEST
    assert fault.id is None


def test_the_reply_to_what_is_not_json_has_a_null_id() -> None:
    """Promise 10."""
    reply = parse_fault("nope").answer()

    assert reply is not None
    assert reply.id == NULL_ID
    assert serialize_message(reply).startswith(b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,')


@pytest.mark.parametrize("end", ["", "\n", "\r\n", "\r", "\n\n", "\r\r\n\r\n"])
@pytest.mark.parametrize("kind", [str, bytes])
def test_line_ends_are_stripped(end: str, kind: type) -> None:
    """Promise 16: any run of line feeds and carriage returns."""
    line = '{"jsonrpc":"2.0","id":1,"method":"ping"}' + end

    assert parse_message_line(line if kind is str else line.encode()) == Request(b"1", "ping")


@pytest.mark.parametrize(
    "line", ["", "\n", "nope", '{"jsonrpc":', "{'a':1}", "[1,", "undefined", '{"id":1}}']
)
def test_text_that_is_not_json_is_a_parse_error(line: str) -> None:
    """Promise 17."""
    fault = parse_fault(line)

    assert fault.kind is FaultKind.PARSE_ERROR
    assert fault.code == -32700


@pytest.mark.parametrize(
    "line", ["42", '"x"', "null", "true", "[]", "[1]", '[{"jsonrpc":"2.0","method":"x"}]']
)
def test_json_that_is_no_object_is_an_invalid_request(line: str) -> None:
    """Promise 18: a number, a string, null, an array."""
    fault = parse_fault(line)

    assert fault.kind is FaultKind.INVALID_REQUEST
    assert fault.code == -32600
    assert not fault.is_reply


@pytest.mark.parametrize(
    "version", ["", '"jsonrpc":"1.0",', '"jsonrpc":2.0,', '"jsonrpc":null,', '"jsonrpc":"2.00",']
)
def test_another_version_is_an_invalid_request(version: str) -> None:
    """Promise 19."""
    fault = parse_fault(f'{{{version}"id":1,"method":"x"}}')

    assert fault.kind is FaultKind.INVALID_REQUEST
    assert fault.id == b"1"


@pytest.mark.parametrize("method", ["", ',"method":""', ',"method":7', ',"method":null', ',"method":["x"]'])
def test_a_method_that_is_missing_or_empty_or_no_string_is_an_invalid_request(method: str) -> None:
    """Promise 20."""
    fault = parse_fault(f'{{"jsonrpc":"2.0","id":1{method}}}')

    assert fault.kind is FaultKind.INVALID_REQUEST
    assert fault.id == b"1"


@pytest.mark.parametrize("params", [b"{}", b"[]", b"null", b'"x"', b"7", b"true", b'{"a": 1.0e-5, "a": 2}'])
def test_params_pass_untouched_whatever_they_are(params: bytes) -> None:
    """Promise 23."""
    message = parse_message_line(b'{"jsonrpc":"2.0","id":1,"method":"x","params":%b}' % params)

    assert message == Request(b"1", "x", params)


def test_params_that_are_absent_stay_absent() -> None:
    """Promise 23."""
    message = parse_message_line(b'{"jsonrpc":"2.0","id":1,"method":"x"}')

    assert isinstance(message, Request)
    assert message.params is None
    assert b"params" not in serialize_message(message)


@given(st.one_of(st.binary(max_size=40), st.text(st.characters(codec=None), max_size=40), mutations()))
@thorough(300)
def test_a_failure_is_a_value(line: bytes | str) -> None:
    """Promise 24: nothing raises."""
    assert isinstance(parse_message_line(line), Request | Notification | Fault)


@pytest.mark.parametrize(
    ("line", "beginning"),
    [
        ("nope", "Parse error: "),
        ("\ud800", "Parse error: "),
        ("[]", "Invalid Request: "),
        ("{}", "Invalid Request: "),
    ],
)
def test_the_reason_begins_with_the_name_of_the_error(line: str, beginning: str) -> None:
    """Promise 25."""
    assert parse_fault(line).reason.startswith(beginning)


def test_half_a_pair_in_a_text_is_refused_with_its_position() -> None:
    fault = parse_fault('{"jsonrpc":"2.0","id":1,"method":"\ud800"}')

    assert fault.kind is FaultKind.PARSE_ERROR
    assert fault.position == 34


@pytest.mark.parametrize(
    ("line", "id"),
    [
        ('{"jsonrpc":"2.0","id":1,"result":{}}', b"1"),
        ('{"jsonrpc":"2.0","id":"a","error":{"code":1,"message":""}}', b'"a"'),
        ('{"jsonrpc":"2.0","id":null,"error":{}}', None),
        ('{"jsonrpc":"2.0","error":{}}', None),
        ('[{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","error":{}},{"id":2,"result":1}]', None),
    ],
)
def test_a_response_is_an_invalid_request_that_is_never_answered(line: str, id: bytes | None) -> None:
    """Or two endpoints could answer each other for ever."""
    fault = parse_fault(line)

    assert fault.kind is FaultKind.INVALID_REQUEST
    assert fault.is_reply
    assert fault.answer() is None
    assert fault.id == id


def test_a_batch_with_a_request_in_it_is_answered() -> None:
    fault = parse_fault('[{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","id":2,"method":"x"}]')

    assert fault.answer() is not None


def test_limits_hold_for_one_line_too() -> None:
    fault = parse_message_line(b'{"jsonrpc":"2.0","id":1,"method":"x","params":[[]]}', Limits(depth=2))

    assert isinstance(fault, Fault)
    assert fault.id == b"1"


# The framer as an object.


def test_a_framer_that_starts_later_counts_from_there() -> None:
    (fault,) = NewlineFramer(offset=100).feed(b"\nContent-Length: 2\n")

    assert isinstance(fault, Fault)
    assert fault.position == 101


def test_a_chunk_without_lines_copies_nothing_but_itself() -> None:
    framer = NewlineFramer()
    frames = [frame for _ in range(50_000) for frame in framer.feed(b"x" * 20)]

    assert frames == []
    assert framer.feed(b"\n") == [b"x" * 1_000_000]


@pytest.mark.parametrize("sizes", [(5000, 3, 5000), (3, 5000, 3), (1023, 1024, 1025), (5000,)])
def test_long_lines_and_short_ones_are_cut_alike(sizes: tuple[int, ...]) -> None:
    lines = [b"{%b}" % (b"x" * size) for size in sizes]
    framer = NewlineFramer()

    assert framer.feed(b"\n".join(lines)) == lines[:-1]
    assert framer.feed(b"\n\n") == lines[-1:]
    assert framer.feed(b"\n".join(lines) + b"\n") == lines


def test_of_a_line_that_is_too_long_no_more_than_its_ends_are_kept() -> None:
    framer = NewlineFramer(Limits(message_bytes=1000, excerpt_bytes=100))

    for _ in range(10_000):
        framer.feed(b"x" * 1000)
    kept = framer._oversized

    assert kept is not None
    assert len(framer._pending) == 0
    assert len(kept._head) + len(kept._tail) == 200
    (fault,) = framer.feed(b"\n")
    assert isinstance(fault, Fault)
    assert fault.size == 10_000_000


@pytest.mark.parametrize(
    "body", [b'{"a":1}', b'{\n"a":\r\n1\r}', b'{"a":\r1}', b'["\\n",\n"\\r"]', '{"a":"\u2028"}'.encode()]
)
def test_a_body_is_written_as_one_line_that_means_the_same(body: bytes) -> None:
    line = NewlineFramer().frame(body)

    assert line == body.replace(b"\n", b"").replace(b"\r", b"") + b"\n"


def test_a_response_can_be_written_as_well() -> None:
    assert serialize_message(Response(b"1", b"{}")) == b'{"jsonrpc":"2.0","id":1,"result":{}}\n'
    assert serialize_message(ErrorResponse(None, b"{}")) == b'{"jsonrpc":"2.0","error":{}}\n'


@pytest.mark.parametrize("bodies", [[b"{}"], [b"{}", b"[1]"], [b'{\n"a":\r\n1}', b"{}"], [b"{ \r}", b"[\n]"]])
def test_bodies_that_are_written_together_are_a_line_each(bodies: list[bytes]) -> None:
    framer = NewlineFramer()

    assert b"".join(framer.join(bodies)) == b"".join(map(framer.frame, bodies))


def test_a_large_body_is_written_without_being_copied() -> None:
    large = b'["%b"]' % (b"x" * 1_000_000)
    framer = NewlineFramer()

    assert framer.join([large])[0] is large
    assert b"".join(framer.join([large])) == framer.frame(large)
    assert framer.join([large + b"\n "]) == (large + b" \n",)
