"""What header framing promises.  The numbers are those of the promises that the module was made after."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anywire.wire.codec import decode, encode
from anywire.wire.content_length import (
    ContentLengthFramer,
    encode_message,
    escape_non_ascii,
    parse_messages,
)
from anywire.wire.limits import Limits
from anywire.wire.message import (
    Batch,
    Fault,
    FaultKind,
    Message,
    Request,
    Response,
    create_error_response,
    create_notification,
    create_request,
    create_response,
)
from tests.wire.strategies import envelopes, mutations, odd_string_pieces, thorough
from tests.wire.vectors import Vector, each_vector

QUARTER = 256 * 1024
PING = encode_message(create_request(1, "ping"))
PONG = encode_message(create_request(2, "pong"))


@pytest.mark.parametrize(
    "message",
    [
        create_request(1, "tools/call", {"text": "plain"}),
        create_request("é", "日本", {"text": "🙂\u2028\x7f"}),
        create_notification("x", ["\u0000\n"]),
        create_response(1, {"half": "\ud800"}),
        create_error_response(None, -32700, "Ungültig"),
    ],
)
def test_a_message_is_framed_with_its_length_and_nothing_else(message: Message) -> None:
    """Promises 1 and 9: one header, a blank line, so many bytes, no newline behind them."""
    data = encode_message(message)

    head, separator, body = data.partition(b"\r\n\r\n")
    assert separator
    assert head == b"Content-Length: %d" % len(body)
    assert decode(body) is not None
    assert json.loads(body) == json.loads(encode(message))
    assert parse_messages(data).remaining == b""


def test_the_length_counts_bytes_and_characters_alike() -> None:
    """Promise 9: N is bytes; the body is ASCII, so peers that count UTF-16 units come to the same."""
    data = encode_message(create_request(1, "x", {"text": "é🙂"}))

    body = data.partition(b"\r\n\r\n")[2]
    assert body == b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"text":"\\u00e9\\ud83d\\ude42"}}'
    assert data.startswith(b"Content-Length: %d\r\n" % len(body.decode().encode("utf-16-le")[::2]))


def test_plain_data_is_framed_as_well() -> None:
    """Promise 9, for JSON data in the shape of a message."""
    assert encode_message({"jsonrpc": "2.0", "method": "é"}) == (
        b'Content-Length: 35\r\n\r\n{"jsonrpc":"2.0","method":"\\u00e9"}'
    )


def test_requests_responses_and_notifications_have_their_shapes() -> None:
    """Promise 2."""
    parsed = parse_messages(
        encode_message(create_request(1, "a", {}))
        + encode_message(create_notification("b"))
        + encode_message(create_response(1, None))
        + encode_message(create_error_response(2, -32601, "no"))
    )

    assert parsed.messages == [
        create_request(1, "a", {}),
        create_notification("b"),
        create_response(1, None),
        create_error_response(2, -32601, "no"),
    ]


def test_all_complete_messages_come_out_in_order_with_the_rest() -> None:
    """Promises 10 and 11."""
    parsed = parse_messages(PING + PONG + PING[:-1])

    assert parsed.messages == [Request(b"1", "ping"), Request(b"2", "pong")]
    assert parsed.remaining == PING[:-1]
    assert parsed.faults == []


@pytest.mark.parametrize("cut", range(len(PONG)))
def test_a_message_that_is_not_whole_stays_whole_in_the_rest(cut: int) -> None:
    """Promise 12: wherever it is cut, in its headers or in its body."""
    first = parse_messages(PING + PONG[:cut])
    second = parse_messages(first.remaining + PONG[cut:])

    assert first.remaining == PONG[:cut]
    assert first.messages + second.messages == [Request(b"1", "ping"), Request(b"2", "pong")]
    assert second.remaining == b""


@pytest.mark.parametrize("limits", [Limits(), Limits(message_bytes=64, excerpt_bytes=16)])
@each_vector("content_length.txt")
def test_a_buffer_may_be_parsed_wherever_it_is_cut(vector: Vector, limits: Limits) -> None:
    """Promise 12, for all that can go wrong: nothing is lost and nothing told twice."""
    if vector.limits.header_bytes != Limits().header_bytes:
        return  # what is given up may be told again, once in each buffer
    whole = parse_messages(vector.data, limits)

    for cut in range(len(vector.data)):
        first = parse_messages(vector.data[:cut], limits)
        second = parse_messages(first.remaining + vector.data[cut:], limits)
        assert first.messages + second.messages == whole.messages
        assert [fault.kind for fault in first.faults + second.faults] == [
            fault.kind for fault in whole.faults
        ]
        assert second.remaining == whole.remaining


def test_an_empty_buffer_gives_nothing() -> None:
    """Promise 13."""
    parsed = parse_messages(b"")

    assert (parsed.messages, parsed.remaining, parsed.faults) == ([], b"", [])


@pytest.mark.parametrize(
    "headers",
    [
        b"content-length: %d\r\n\r\n",
        b"CONTENT-LENGTH:%d\r\n\r\n",
        b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n",
        b"Content-Length: %d\r\nContent-Type: application/json\r\n\r\n",
        b"X: y\nContent-length : %d \nZ: content-length\n\n",
    ],
)
def test_the_name_matches_in_any_case_among_any_headers(headers: bytes) -> None:
    """Promise 14."""
    body = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'

    assert parse_messages(headers % len(body) + body).messages == [Request(b"1", "ping")]


@pytest.mark.parametrize(
    "block",
    [
        b"Content-Type: text/plain\r\n\r\n",
        b"garbage\n\n",
        b"Content-Length: -1\r\n\r\n",
        b"Content-Length: many\r\n\r\n",
        b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n",
    ],
)
def test_headers_without_a_usable_length_are_skipped(block: bytes) -> None:
    """Promise 15: up to their blank line."""
    parsed = parse_messages(block + PING)

    assert parsed.messages == [Request(b"1", "ping")]
    assert [fault.kind for fault in parsed.faults] == [FaultKind.BAD_HEADER]


def test_a_body_that_is_not_json_is_a_fault_and_no_message() -> None:
    """Promise 16; what the model skips in silence is told here, so that the caller does not wait."""
    parsed = parse_messages(b"Content-Length: 5\r\n\r\noops!" + PING)

    assert parsed.messages == [Request(b"1", "ping")]
    assert [fault.kind for fault in parsed.faults] == [FaultKind.PARSE_ERROR]


@pytest.mark.parametrize("body", [b'{"id":9,"method":"x"}', b'{"jsonrpc":"1.0","id":9,"method":"x"}'])
def test_a_body_of_another_version_is_a_fault_and_no_message(body: bytes) -> None:
    """Promise 17; told with its id, for the same reason."""
    parsed = parse_messages(b"Content-Length: %d\r\n\r\n%b" % (len(body), body) + PING)

    assert parsed.messages == [Request(b"1", "ping")]
    assert [(fault.kind, fault.id) for fault in parsed.faults] == [(FaultKind.INVALID_REQUEST, b"9")]


def test_a_batch_is_one_thing_among_the_messages() -> None:
    body = b'[{"jsonrpc":"2.0","method":"x"}]'

    (batch,) = parse_messages(b"Content-Length: %d\r\n\r\n%b" % (len(body), body)).messages

    assert isinstance(batch, Batch)


def test_one_message_whose_length_is_wrong_costs_no_other() -> None:
    """The mistake that counts characters: the call fails with its id, the next one is answered."""
    body = '{"jsonrpc":"2.0","id":7,"method":"x","params":"é🙂"}'
    data = b"Content-Length: %d\r\n\r\n%b" % (len(body), body.encode())

    parsed = parse_messages(PING + data + PONG)

    assert parsed.messages == [Request(b"1", "ping"), Request(b"2", "pong")]
    assert [(fault.kind, fault.id) for fault in parsed.faults] == [
        (FaultKind.PARSE_ERROR, b"7"),
        (FaultKind.STRAY, None),
    ]
    assert [fault.answer() is not None for fault in parsed.faults] == [True, False]


@given(st.lists(envelopes(odd_string_pieces), max_size=4))
@thorough(120)
def test_bodies_that_are_framed_come_back_with_the_same_meaning(bodies: list[bytes]) -> None:
    framer = ContentLengthFramer()

    frames = framer.feed(b"".join(map(framer.frame, bodies)))

    assert [json.loads(frame) for frame in frames if isinstance(frame, bytes)] == [
        json.loads(body.decode()) for body in bodies
    ]


@given(
    st.one_of(
        st.binary(max_size=80), mutations(st.sampled_from([PING + PONG, b"X: 1\n" + PING + b"\r\n" + PONG]))
    )
)
@thorough(300)
def test_a_buffer_of_anything_raises_nothing(buffer: bytes) -> None:
    parsed = parse_messages(buffer)

    assert buffer.endswith(parsed.remaining)


def test_of_garbage_without_an_end_no_more_remains_than_may_begin_a_header() -> None:
    parsed = parse_messages(b"x" * 100_000 + b"Content-Len")

    assert parsed.remaining == b"xxContent-Len"[-13:]
    assert [fault.kind for fault in parsed.faults] == [FaultKind.BAD_HEADER]


@pytest.mark.parametrize(("digits", "kinds"), [(15, []), (16, [FaultKind.BAD_HEADER])])
def test_a_length_may_have_fifteen_digits(digits: int, kinds: list[FaultKind]) -> None:
    out = ContentLengthFramer().feed(b"Content-Length: " + b"9" * digits + b"\r\n\r\n")

    assert [fault.kind for fault in out if isinstance(fault, Fault)] == kinds


# Escaping.


@pytest.mark.parametrize(
    ("body", "ascii"),
    [
        (b'{"a":"b"}', b'{"a":"b"}'),
        ('"é"'.encode(), b'"\\u00e9"'),
        ('"日🙂x🙂"'.encode(), b'"\\u65e5\\ud83d\\ude42x\\ud83d\\ude42"'),
        ('"\u2028\x7f\x80"'.encode(), b'"\\u2028\x7f\\u0080"'),
        (b'"\\u00e9\\ud800"', b'"\\u00e9\\ud800"'),
        (b'"\xff"', b'"\\ufffd"'),
    ],
)
def test_what_is_beyond_ascii_is_escaped_and_nothing_else(body: bytes, ascii: bytes) -> None:
    assert escape_non_ascii(body) == ascii


@given(envelopes(odd_string_pieces))
@thorough(120)
def test_escaping_keeps_the_meaning(body: bytes) -> None:
    escaped = escape_non_ascii(body)

    assert escaped.isascii()
    assert json.loads(escaped) == json.loads(body.decode())
    assert decode(escaped) is not None


# The framer as an object.


def test_a_framer_that_starts_later_counts_from_there() -> None:
    framer = ContentLengthFramer(offset=100)

    assert framer.begun == 100
    (fault,) = framer.feed(b"\r\nX: 1\r\n\r\n")

    assert isinstance(fault, Fault)
    assert fault.position == 102
    assert framer.begun == 110


def test_a_message_that_is_too_large_fails_as_soon_as_its_id_is_known() -> None:
    framer = ContentLengthFramer(Limits(message_bytes=1000, excerpt_bytes=50))

    before = framer.feed(b'Content-Length: 5000\r\n\r\n{"jsonrpc":"2.0","id":7,"method":"x"')
    (fault,) = framer.feed(b',"params":"' + b"x" * 100)

    assert before == []
    assert isinstance(fault, Fault)
    assert (fault.kind, fault.id, fault.size) == (FaultKind.TOO_LARGE, b"7", 0)


def test_of_a_message_that_is_too_large_no_more_than_its_ends_are_kept() -> None:
    framer = ContentLengthFramer(Limits(message_bytes=1000, excerpt_bytes=100))
    framer.feed(b"Content-Length: 10000000\r\n\r\n")

    for _ in range(9_999):
        framer.feed(b"x" * 1000)
    kept = framer._oversized

    assert kept is not None
    assert len(framer._buffer) == 0
    assert len(kept._head) + len(kept._tail) == 200
    (fault,) = framer.feed(b"x" * 1000)
    assert isinstance(fault, Fault)
    assert fault.size == 10_000_000


@pytest.mark.parametrize(
    "data",
    [
        b" \r\n" * (QUARTER // 3),
        b"content-lengt " * (QUARTER // 14),
        b"Content-Length: x\r\n\r\n" * (QUARTER // 21),
        b"Content-Length: 2\r\n\r\n{}" * (QUARTER // 23),
        b"{\n" * (QUARTER // 2),
        b"X" * QUARTER,
        b"\xef\xbb\xbf" * (QUARTER // 3),
        b"Content-Length: 999999999\r\n\r\n" + b"x" * QUARTER,
    ],
    ids=[
        "blank-lines",
        "half-a-name",
        "no-numbers",
        "small-messages",
        "lines",
        "one-header",
        "marks",
        "one-body",
    ],
)
@pytest.mark.parametrize("size", [1, QUARTER])
def test_much_of_any_shape_is_read_in_linear_time(data: bytes, size: int) -> None:
    framer = ContentLengthFramer()

    for start in range(0, len(data), size):
        framer.feed(data[start : start + size])

    assert len(framer._buffer) <= Limits().header_bytes


def test_a_response_that_was_read_is_written_in_ascii() -> None:
    response = decode('{"jsonrpc":"2.0","id":1,"result":"é"}'.encode())

    assert isinstance(response, Response)
    assert encode_message(response).endswith(b'"result":"\\u00e9"}')
