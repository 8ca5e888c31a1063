"""Values to JSON and back."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anywire.wire.value import Verbatim, decode_value, encode_value, value_reader
from tests.wire.strategies import thorough


class Block(msgspec.Struct, omit_defaults=True, rename="camel"):
    """A typed value with raw JSON in it."""

    plain_text: str
    raw: msgspec.Raw = msgspec.Raw(b"{}")
    when: datetime | None = None


def test_half_a_pair_is_written_as_a_replacement_character() -> None:
    assert encode_value("a\ud83db") == '"a\ufffdb"'.encode()
    assert encode_value({"\udc00": ["\ud800", ("\ud800",)]}) == '{"\ufffd":["\ufffd",["\ufffd"]]}'.encode()


def test_two_halves_that_stand_together_are_written_as_the_character() -> None:
    assert encode_value(["\ud83d\ude00", "\ud800"]) == '["\U0001f600","\ufffd"]'.encode()


def test_half_a_pair_changes_nothing_around_it() -> None:
    when = datetime(2025, 11, 25, tzinfo=UTC)
    block = Block("\ud800", msgspec.Raw(b'{"n": 1.0e-5, "big":99999999999999999999999}'), when)

    assert encode_value(block) == (
        '{"plainText":"\ufffd","raw":{"n": 1.0e-5, "big":99999999999999999999999},"when":"2025-11-25T00:00:00Z"}'.encode()
    )


def test_numbers_that_json_has_not_are_written_as_null() -> None:
    assert encode_value([float("nan"), float("inf"), -float("inf")]) == b"[null,null,null]"
    assert encode_value(["\ud800", float("nan")]) == '["\ufffd",null]'.encode()


def test_integers_of_any_usual_length_are_written_out() -> None:
    assert encode_value([2**64, -(2**70)]) == b"[18446744073709551616,-1180591620717411303424]"


@pytest.mark.parametrize("value", [object(), {1, object()}, {("a", "b"): 1}, ["\ud800", object()]])
def test_what_json_has_not_is_a_type_error(value: object) -> None:
    with pytest.raises(TypeError):
        encode_value(value)


def test_half_a_pair_reads_as_a_replacement_character() -> None:
    assert decode_value(rb'"a\ud83db"', str) == "a\ufffdb"
    assert decode_value(rb'{"\udc00":"\ud83d\ude00\ud83d"}', dict[str, str]) == {"\ufffd": "\U0001f600\ufffd"}


def test_a_decoder_that_is_given_is_used() -> None:
    decoder = msgspec.json.Decoder(list[int], strict=False)

    assert decode_value(b'["1"]', list[int], decoder) == [1]
    assert decode_value(msgspec.Raw(b"[1]"), list[int]) == [1]


@pytest.mark.parametrize(
    ("raw", "wanted"),
    [
        (b'"a"', int),
        (rb'["\ud800"]', dict),
        pytest.param(b"9" * 5000, int, id="5000-digits"),
        (rb'{"a":"\ud800"}', dict[str, int]),
    ],
)
def test_a_wrong_shape_is_a_validation_error(raw: bytes, wanted: type[Any]) -> None:
    with pytest.raises(msgspec.ValidationError):
        decode_value(raw, wanted)


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"nope",
        b'"\xff"',
        rb'["\ud800",]',
        b"[" * 100_000 + b"]" * 100_000,
        rb'["\ud800",' * 100_000 + b"1" + b"]" * 100_000,
    ],
    ids=["nothing", "a-word", "not-UTF-8", "malformed-behind-a-surrogate", "deep", "deep-behind-surrogates"],
)
def test_what_is_not_json_or_too_deep_is_a_decode_error(raw: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        decode_value(raw, object)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.text(),
    lambda children: st.lists(children) | st.dictionaries(st.text(), children),
    max_leaves=10,
)


@given(json_values)
@thorough(200)
def test_a_value_that_was_written_reads_as_itself(value: object) -> None:
    assert decode_value(encode_value(value), object) == value


@given(st.text(st.characters(codec=None)))
@thorough(200)
def test_any_text_can_be_written(text: str) -> None:
    raw = encode_value(text)

    assert decode_value(raw, str) == text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


# JSON that is written as it came.


def test_json_is_written_as_it_came_wherever_it_stands() -> None:
    value = {"a": [Verbatim(b'{"n": 1.0e-5}'), 1], "b": Verbatim(b"[ ]")}

    assert encode_value(value) == b'{"a":[{"n": 1.0e-5},1],"b":[ ]}'


def test_json_is_written_as_it_came_beside_half_a_surrogate_pair() -> None:
    assert encode_value(["x\ud83d", Verbatim(b'{"n": 1.0}')]) == '["x\ufffd",{"n": 1.0}]'.encode()


def test_what_has_no_json_is_refused_by_its_name() -> None:
    with pytest.raises(TypeError, match="Encoding objects of type object is unsupported"):
        encode_value([object()])


def test_a_null_can_be_read_as_something_else_where_the_type_has_none() -> None:
    read = value_reader(msgspec.json.Decoder(dict[str, int]), null=b"{}")

    assert read(b"null") == {}
    assert read(b'{"a":1}') == {"a": 1}
    with pytest.raises(msgspec.ValidationError):
        value_reader(msgspec.json.Decoder(dict[str, int]))(b"null")
