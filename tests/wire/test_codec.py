"""The codec's promises that need more than one frame to be seen."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from anywire.wire.codec import (
    _decode_envelope,
    _from_envelope,
    body,
    decode,
    decode_value,
    encode,
    fault_from_excerpt,
)
from anywire.wire.limits import Limits
from anywire.wire.message import (
    NULL_ID,
    Batch,
    ErrorResponse,
    Fault,
    FaultKind,
    Notification,
    Request,
    Response,
    create_request,
)

MEGABYTE = 1024 * 1024
IDS = [
    b"1",
    b'"1"',
    b"1.0",
    b"9007199254740993",
    b'""',
    b"0",
    b"-0",
    b"-1",
    b"1e3",
    b"1E-3",
    b'"' + b"x" * 64 + b'"',
    b'"\\u0061"',
    b'"\\ud83d\\ude00"',
    b'"\\ud83d"',
    b'"a\\/b\\n"',
    '"é"'.encode(),
    b"9" * 5000,
    b"-" + b"9" * 5000,
    b"1e999",
]


def decode_fault(frame: bytes, limits: Limits | None = None) -> Fault:
    """Decode what is expected to be no message."""
    fault = decode(frame, limits or Limits())
    assert isinstance(fault, Fault)
    return fault


@pytest.mark.parametrize("id", IDS, ids=lambda id: id[:24].decode())
@pytest.mark.parametrize(
    "spelling", [b'{"jsonrpc":"2.0","id":%b,"method":"x"}', b'{ "id":%b , "method":"x", "jsonrpc":"2.0" }']
)
def test_an_id_comes_back_exactly(id: bytes, spelling: bytes) -> None:
    request = decode(spelling % id)

    assert isinstance(request, Request)
    assert request.id == id
    assert encode(Response(request.id, b"{}")) == b'{"jsonrpc":"2.0","id":%b,"result":{}}' % id


@pytest.mark.parametrize("id", IDS, ids=lambda id: id[:24].decode())
def test_the_id_of_what_is_no_message_comes_back_exactly(id: bytes) -> None:
    fault = decode_fault(b'{"id":%b,"method":"x"}' % id)
    reply = fault.answer()

    assert fault.id == id
    assert reply is not None
    assert encode(reply).startswith(b'{"jsonrpc":"2.0","id":%b,"error":{"code":-32600,' % id)


def test_not_json_is_answered_with_a_parse_error() -> None:
    reply = decode_fault(b"oops").answer()

    assert reply is not None
    assert reply.detail().code == -32700
    assert reply.detail().message.startswith("Parse error: ")


def test_json_that_is_no_message_is_answered_with_an_invalid_request() -> None:
    reply = decode_fault(b"[]").answer()

    assert reply is not None
    assert reply.detail().code == -32600
    assert reply.detail().message.startswith("Invalid Request: ")


def test_an_id_that_could_not_be_read_is_answered_as_null_or_left_out() -> None:
    fault = decode_fault(b"oops")

    with_null, without = fault.answer(NULL_ID), fault.answer(None)

    assert with_null is not None
    assert without is not None
    assert encode(with_null).startswith(b'{"jsonrpc":"2.0","id":null,"error":')
    assert encode(without).startswith(b'{"jsonrpc":"2.0","error":')


def test_a_reason_tells_where_the_trouble_is() -> None:
    assert decode_fault(b"oops").reason.endswith(" at byte 0")
    assert decode_fault(b'{"id":1,"method":}').reason.endswith(" at byte 17")
    assert " at byte " not in decode_fault(b"[]").reason


@pytest.mark.parametrize(
    "message",
    [
        Request(b"1", "x"),
        Request(b'"a"', "tools/call", b'{"a":[1]}'),
        Notification("x"),
        Notification("x", b"[]"),
        Response(b"1", b'{"a":[1]}'),
    ],
)
def test_the_usual_spelling_is_known_to_have_nothing_twice(
    message: Request | Notification | Response,
) -> None:
    frame = encode(message)

    read, bare_size = _from_envelope(_decode_envelope(frame), frame)

    assert read == message
    assert bare_size == len(frame)
    assert _from_envelope(_decode_envelope(frame + b" "), frame + b" ")[1] == len(frame)


def test_a_fault_tells_how_much_there_was_and_keeps_an_excerpt() -> None:
    fault = decode_fault(b"x" * 100, Limits(excerpt_bytes=10))

    assert fault.data == b"x" * 10
    assert fault.size == 100


def test_an_integer_of_any_length_passes_as_the_bytes_it_is() -> None:
    digits = b"9" * 5000

    request = decode(b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"n":%b}}' % digits)

    assert isinstance(request, Request)
    assert request.params == b'{"n":%b}' % digits


def test_a_lone_surrogate_passes_undamaged_and_reads_as_a_replacement() -> None:
    frame = b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"text":"\\ud83d and \\ud83d\\ude00"}}'

    request = decode(frame)

    assert isinstance(request, Request)
    assert request.params is not None
    assert encode(request) == frame
    assert decode_value(request.params, dict[str, str]) == {"text": "\ufffd and \U0001f600"}


# Nesting.

NESTS: dict[str, tuple[bytes, bytes]] = {
    "arrays": (b"[", b"]"),
    "objects": (b'{"a":', b"}"),
    "both": (b'[{"a":', b"}]"),
    "with-a-lone-surrogate": (b'["\\ud800",', b"]"),
    "with-names-twice": (b'{"id":1,"id":', b"}"),
}
each_nest = pytest.mark.parametrize("nest", NESTS.values(), ids=NESTS.keys())


def nested(nest: tuple[bytes, bytes], levels: int) -> bytes:
    """A request whose params nest so deeply."""
    times = levels // len(nest[1])
    return b'{"jsonrpc":"2.0","id":1,"method":"x","params":%b1%b}' % (nest[0] * times, nest[1] * times)


@each_nest
def test_sixty_levels_pass(nest: tuple[bytes, bytes]) -> None:
    assert isinstance(decode(nested(nest, 60)), Request)


@each_nest
def test_the_limit_passes_and_two_levels_more_are_refused(nest: tuple[bytes, bytes]) -> None:
    depth = Limits().depth

    assert isinstance(decode(nested(nest, depth - 2)), Request)
    fault = decode_fault(nested(nest, depth + 2))
    assert fault.id == b"1"
    assert fault.reason == f"Parse error: nested deeper than {depth} levels"
    assert fault.position == -1


@each_nest
def test_a_million_levels_are_refused(nest: tuple[bytes, bytes]) -> None:
    fault = decode_fault(nested(nest, 1_000_000))

    assert fault.kind is FaultKind.PARSE_ERROR
    assert fault.id == b"1"


def test_a_million_levels_of_batches_are_refused() -> None:
    assert decode_fault(b"[" * 1_000_000).kind is FaultKind.PARSE_ERROR
    assert decode_fault(b"[" * 1_000_000 + b"]" * 1_000_000).kind is FaultKind.PARSE_ERROR


def test_batches_in_batches_are_refused_at_any_allowed_depth() -> None:
    batch = decode(b"[" * 250 + b"]" * 250)

    assert isinstance(batch, Batch)
    assert [item.kind for item in batch.items if isinstance(item, Fault)] == [FaultKind.INVALID_REQUEST]


def test_a_limit_that_no_reader_can_follow_is_a_fault_and_not_an_exception() -> None:
    limits = Limits(depth=10_000_000)

    assert decode_fault(nested(NESTS["arrays"], 1_000_000), limits).kind is FaultKind.PARSE_ERROR


@pytest.mark.parametrize("frame", [nested(NESTS["arrays"], 250), nested(NESTS["with-a-lone-surrogate"], 250)])
def test_little_room_on_the_callers_stack_is_a_fault_at_worst(frame: bytes) -> None:
    def descend(levels: int) -> object:
        return descend(levels - 1) if levels else decode(frame)

    assert isinstance(descend(600), Request | Fault)


# Time.  A reader that looks back for each byte would not finish any of these.

SLOW_SHAPES: dict[str, Callable[[int], bytes]] = {
    "escaped quotes in a string without an end": lambda size: b'{"id":1,"method":"' + b'\\"' * (size // 2),
    "escaped quotes in a nest without an end": lambda size: b'{"id":1,"params":["' + b'\\"' * (size // 2),
    "quotes": lambda size: b'{"params":[' + b'"' * size,
    "backslashes": lambda size: b'{"params":["' + b"\\" * size,
    "lone surrogates": lambda size: b'{"jsonrpc":"2.0","id":1,"result":"' + b"\\ud800" * (size // 6) + b'"}',
    "pairs and halves": lambda size: (
        b'{"jsonrpc":"2.0","id":1,"result":"' + b"\\ud800\\ud83d\\ude00" * (size // 18) + b'"}'
    ),
    "brackets": lambda size: b'{"jsonrpc":"2.0","id":1,"params":' + b"[" * size,
    "brackets that close": lambda size: (
        b'{"jsonrpc":"2.0","id":1,"params":' + b"[" * (size // 2) + b"]" * (size // 2) + b"}"
    ),
    "objects that open": lambda size: b'{"a":' * (size // 5),
    "numbers in an array": lambda size: b"[" + b"1," * (size // 2) + b"1]",
    "numbers behind a lone surrogate": lambda size: b'["\\ud800"' + b",1" * (size // 2) + b"]",
    "strings behind a lone surrogate": lambda size: b'["\\ud800"' + b',"a"' * (size // 4) + b"]",
    "ids": lambda size: b"{" + b'"id":1,' * (size // 7) + b'"jsonrpc":"2.0","method":"x"}',
    "unknown members": lambda size: b'{"jsonrpc":"2.0","id":1,"id":2' + b',"a":1' * (size // 6) + b"}",
    "white space": lambda size: b'{"jsonrpc":"2.0",' + b" " * size + b'"id":nope}',
    "telling names": lambda size: b"{," + b'"result" ' * (size // 9),
    "commas": lambda size: b"{" + b"," * size,
    "bytes that are not UTF-8": lambda size: b"\xff" * size,
    "text beyond ASCII": lambda size: (
        b'{"jsonrpc":"2.0","id":1,"method":"x","params":"' + b"\xc3\xa9" * (size // 2) + b"\xff"
    ),
    "items that are cut": lambda size: b'[{"id":1,"params":["' + b'\\"' * (size // 2),
}


@pytest.mark.parametrize("shape", SLOW_SHAPES.values(), ids=[name.replace(" ", "-") for name in SLOW_SHAPES])
def test_five_megabytes_of_any_shape_are_read_in_linear_time(shape: Callable[[int], bytes]) -> None:
    assert decode(shape(5 * MEGABYTE)) is not None


# Writing.


@pytest.mark.parametrize(
    ("message", "text"),
    [
        (Request(b"1", "ping"), b'{"jsonrpc":"2.0","id":1,"method":"ping"}'),
        (Request(b'"a"', "x", b"[1]"), b'{"jsonrpc":"2.0","id":"a","method":"x","params":[1]}'),
        (Notification("x"), b'{"jsonrpc":"2.0","method":"x"}'),
        (Notification("x", b"{}"), b'{"jsonrpc":"2.0","method":"x","params":{}}'),
        (Response(b"1", b"null"), b'{"jsonrpc":"2.0","id":1,"result":null}'),
        (ErrorResponse(b"1", b"{}"), b'{"jsonrpc":"2.0","id":1,"error":{}}'),
        (ErrorResponse(NULL_ID, b"{}"), b'{"jsonrpc":"2.0","id":null,"error":{}}'),
        (ErrorResponse(None, b"{}"), b'{"jsonrpc":"2.0","error":{}}'),
        (Request(b"1", 'say "é"\n'), '{"jsonrpc":"2.0","id":1,"method":"say \\"é\\"\\n"}'.encode()),
        (Request(b"1", "cut \ud83d"), '{"jsonrpc":"2.0","id":1,"method":"cut \ufffd"}'.encode()),
        (Notification("cut \ud83d"), '{"jsonrpc":"2.0","method":"cut \ufffd"}'.encode()),
    ],
)
def test_a_message_that_was_built_is_written_without_white_space(
    message: Request | Notification | Response | ErrorResponse, text: bytes
) -> None:
    assert encode(message) == text
    assert body(message) == text


def test_a_message_that_was_read_is_written_as_it_came() -> None:
    frame = b'{ "method" : "ping", "id": 1.0 , "jsonrpc":"2.0", "x":[ ] }'

    message = decode(frame)

    assert isinstance(message, Request)
    assert encode(message) == frame


def test_messages_are_written_as_one_array() -> None:
    assert encode(Batch((Response(b"1", b"{}"), Notification("x")))) == (
        b'[{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","method":"x"}]'
    )
    assert encode(Batch(())) == b"[]"


def test_plain_data_in_the_shape_of_a_message_is_written_as_json() -> None:
    assert body({"jsonrpc": "2.0", "id": 1, "result": {"a": [1, 2.5, None, "é"]}}) == (
        '{"jsonrpc":"2.0","id":1,"result":{"a":[1,2.5,null,"é"]}}'.encode()
    )


def test_what_is_written_reads_as_the_same() -> None:
    request = create_request("a", "x", {"big": 2**70, "half": "\ud800", "float": 1.0e-5})

    assert decode(encode(request)) == request


@pytest.mark.parametrize(
    ("frame", "bare"),
    [
        (b'{"jsonrpc":"2.0","id":4}', True),
        (b'{"id":"a","x":1}', True),
        (b'{"jsonrpc":"2.0"}', False),
        (b'{"jsonrpc":"2.0","id":{}}', False),
        (b'{"jsonrpc":"2.0","id":4,"params":{}}', False),
        (b'{"jsonrpc":"2.0","id":4,"method":7}', False),
        (b'{"jsonrpc":"1.0","id":4,"result":7}', False),
        (b'{"jsonrpc":"2.0","id":4,"x":', False),
    ],
)
def test_an_object_with_an_id_and_nothing_else_may_settle_what_waits_for_it(frame: bytes, bare: bool) -> None:
    fault = decode(frame)

    assert isinstance(fault, Fault)
    assert (fault.is_bare, fault.may_settle) == (bare, bare or fault.is_reply)
    assert fault.is_reply or fault.answer() is not None


# Excerpts of what was too large to keep.

HEAD = b'{"method":"tools/call","params":{"text":"xxxxxx'


@pytest.mark.parametrize(
    ("tail", "id", "is_reply"),
    [
        (b'xxx"},"jsonrpc":"2.0","id":7}', b"7", False),
        (b'xxx"},"id":"a" , "jsonrpc":"2.0"}\r', b'"a"', False),
        (b'xxx"} , "id" : 7 }', b"7", False),
        (b'xxx"},"id":7,"x":{"a":[1]}}', b"7", False),
        (b'xxx"},"id":7,"result":{"a":[1]}}', b"7", True),
        (b'xxx","id":7}}', None, False),
        (b'xxx\\"id\\":7}"}', None, False),
        (b'xxx "id":7}', None, False),
        (b'xxx"},"id":null}', None, False),
        (b'xxx"},"id":7', None, False),
        (b'xxx"},"id":}', None, False),
        (b'"id":7}', None, False),
        (b"xxx", None, False),
        (b"", None, False),
    ],
)
def test_an_id_is_found_behind_the_large_member(tail: bytes, id: bytes | None, is_reply: bool) -> None:
    fault = fault_from_excerpt(FaultKind.TOO_LARGE, "too large", HEAD, tail, 100)

    assert (fault.id, fault.is_reply) == (id, is_reply)


def test_an_id_in_front_counts_more_than_one_behind() -> None:
    fault = fault_from_excerpt(
        FaultKind.TOO_LARGE, "too large", b' \xef\xbb\xbf{"id":1,"x":"', b'","id":7}', 100
    )

    assert fault.id == b"1"


def test_an_envelope_with_too_many_members_is_refused_without_looking_at_all_of_them() -> None:
    """What needs the slow reader must not keep it busy for seconds."""
    frame = b'{"jsonrpc":"2.0","id":1,' + b'"a":"\\u0061",' * 1_000 + b'"method":"ping"}'

    fault = decode(frame)

    assert isinstance(fault, Fault)
    assert fault.kind is FaultKind.INVALID_REQUEST
    assert fault.reason == "Invalid Request: an envelope has fewer than 1000 members"
    assert fault.id == b"1"


def test_an_envelope_may_have_some_members_that_are_not_known() -> None:
    frame = b'{"jsonrpc":"2.0","id":1,' + b'"a":"\\u0061",' * 900 + b'"method":"ping"}'

    assert isinstance(decode(frame), Request)
