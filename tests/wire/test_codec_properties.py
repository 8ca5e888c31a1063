"""What holds for every frame: nothing raises, both paths agree, bytes come back."""

from __future__ import annotations

import json

from hypothesis import example, given
from hypothesis import strategies as st

from anywire.wire.codec import _decode_carefully, decode, encode
from anywire.wire.limits import Limits
from anywire.wire.message import Batch, ErrorResponse, Fault, Message, Notification, Request, Response
from anywire.wire.scan import depth_exceeds, syntax_error
from tests.wire.strategies import (
    envelopes,
    json_texts,
    mutations,
    odd_string_pieces,
    thorough,
)

LIMITS = Limits()
MEGABYTE = 1024 * 1024


def accepted_by_json(data: bytes) -> bool:
    """Whether the standard library takes this for JSON, its own constants left out."""

    def refuse(name: str) -> object:
        raise ValueError(name)

    try:
        json.loads(data.decode(), parse_int=str, parse_float=str, parse_constant=refuse)
    except ValueError:
        return False
    return True


def frames_of(thing: Message | Batch | Fault) -> list[bytes]:
    """The bytes that a message, or each item of a batch, was read from."""
    if isinstance(thing, Fault):
        return []
    items = [frame for item in thing.items for frame in frames_of(item)] if isinstance(thing, Batch) else []
    return [thing.frame.strip(b" \t\r\n"), *items]


@given(st.one_of(envelopes(), envelopes(odd_string_pieces)))
@thorough(300, in_ci=800)
def test_the_fast_path_and_the_careful_one_agree(frame: bytes) -> None:
    fast, careful = decode(frame, LIMITS), _decode_carefully(frame, LIMITS)

    assert fast == careful
    assert frames_of(fast) == frames_of(careful)


@given(mutations())
@thorough(300, in_ci=800)
def test_the_paths_agree_on_messages_that_were_damaged(frame: bytes) -> None:
    assert decode(frame, LIMITS) == _decode_carefully(frame, LIMITS)


@given(st.one_of(st.binary(max_size=64), mutations(), json_texts(odd_string_pieces).map(str.encode)))
@example(b'{"jsonrpc":"2.0","id":-' + b"9" * 5000 + b"}")
@thorough(300, in_ci=800)
def test_decoding_never_raises(frame: bytes) -> None:
    outcome = decode(frame, LIMITS)

    if isinstance(outcome, Fault):
        reply = outcome.answer()
        assert reply is None or not isinstance(decode(encode(reply)), Fault), (
            "the answer itself is no message"
        )


@given(envelopes(odd_string_pieces))
@thorough(120, in_ci=300)
def test_a_message_goes_back_byte_by_byte(frame: bytes) -> None:
    message = decode(frame, LIMITS)

    if not isinstance(message, Batch | Fault):
        assert encode(message).strip(b" \t\r\n") == frame.strip(b" \t\r\n")


@given(envelopes(odd_string_pieces))
@thorough(120, in_ci=300)
def test_the_values_of_a_message_are_its_bytes(frame: bytes) -> None:
    match decode(frame, LIMITS):
        case Request(id=id, params=params):
            raw = [id, params or id]
        case Notification(params=params):
            raw = [params or b""]
        case Response(id=id, result=result):
            raw = [id, result]
        case ErrorResponse(id=id, error=error):
            raw = [id or error, error]
        case _:
            raw = []

    assert all(value in frame for value in raw)


@given(envelopes(odd_string_pieces))
@thorough(120, in_ci=300)
def test_a_message_built_from_the_parts_of_another_equals_it(frame: bytes) -> None:
    match decode(frame, LIMITS):
        case Request(id=id, method=method, params=params) as message:
            assert decode(encode(Request(id, method, params))) == message
        case Response(id=id, result=result) as message:
            assert decode(encode(Response(id, result))) == message
        case ErrorResponse(id=id, error=error) as message:
            assert decode(encode(ErrorResponse(id, error))) == message
        case Notification(method=method, params=params) as message:
            assert decode(encode(Notification(method, params))) == message
        case _:
            pass


@given(st.one_of(json_texts(odd_string_pieces).map(str.encode), mutations()))
@thorough(300, in_ci=800)
def test_what_is_json_is_what_the_standard_library_takes_for_it(data: bytes) -> None:
    try:
        data.decode()
    except UnicodeDecodeError:
        return

    assert (syntax_error(data) is None) == accepted_by_json(data)


@given(st.one_of(json_texts(odd_string_pieces).map(str.encode), mutations()), st.integers(0, 4))
@thorough(120, in_ci=300)
def test_the_depth_is_what_a_reader_meets(data: bytes, limit: int) -> None:
    if not accepted_by_json_text(data):
        return

    def depth(value: object) -> int:
        if isinstance(value, Pairs):
            return 1 + max((depth(item) for _, item in value.pairs), default=0)
        if isinstance(value, list):
            return 1 + max(map(depth, value), default=0)  # pyright: ignore[reportUnknownArgumentType] plain JSON
        return 0

    value = json.loads(data.decode(), parse_int=str, object_pairs_hook=Pairs)

    assert depth_exceeds(data, limit) == (depth(value) > limit)


class Pairs:
    """An object with all its members, those that are there twice included."""

    def __init__(self, pairs: list[tuple[str, object]]) -> None:
        self.pairs = pairs


def accepted_by_json_text(data: bytes) -> bool:
    """Whether these bytes are UTF-8 and JSON."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return accepted_by_json(data)
