"""The slow reader of envelopes."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anywire.wire.scan import (
    depth_exceeds,
    replace_lone_surrogates,
    scan_array,
    scan_object,
    syntax_error,
)
from tests.wire.strategies import json_texts, mutations, odd_string_pieces, strings, thorough, white_space

MEGABYTE = 1024 * 1024


def values(data: bytes) -> list[tuple[str, bytes]]:
    """Name and raw value of each member that was read."""
    return [
        (member.name, data[member.value_start : member.value_end]) for member in scan_object(data).members
    ]


def test_members_are_given_with_their_spans() -> None:
    data = b' { "a" : 1 , "b":"x,y}" ,"c":[{"d":2}], "\\u0065" : null } '

    assert values(data) == [("a", b"1"), ("b", b'"x,y}"'), ("c", b'[{"d":2}]'), ("e", b"null")]
    assert scan_object(data).stopped == -1


def test_a_member_begins_at_its_name() -> None:
    data = b'{"a":1, "b" : 2}'

    assert [data[member.start :] for member in scan_object(data).members] == [b'"a":1, "b" : 2}', b'"b" : 2}']


@pytest.mark.parametrize("data", [b"{}", b" { } ", b"{\n}\n"])
def test_an_empty_object_is_whole(data: bytes) -> None:
    assert scan_object(data).members == ()
    assert scan_object(data).stopped == -1


@pytest.mark.parametrize(
    ("data", "names", "stopped", "stopped_in"),
    [
        (b"", [], 0, None),
        (b"[1]", [], 0, None),
        (b"  7", [], 2, None),
        (b"{", [], 1, None),
        (b'{"a', [], 1, None),
        (b'{"a"', [], 4, "a"),
        (b'{"a":', [], 5, "a"),
        (b'{"a":1', [], 6, "a"),
        (b'{"a":"x', [], 7, "a"),
        (b'{"a":[1,{"b":', [], 13, "a"),
        (b'{"a":1,', ["a"], 7, None),
        (b'{"a":1 2}', ["a"], 7, None),
        (b'{"a":1,,"b":2}', ["a"], 7, None),
        (b'{"a":1,"b":}', ["a"], 11, "b"),
        (b'{"a":1,"b" 2}', ["a"], 11, "b"),
        (b"{'a':1}", [], 1, None),
        (b'{"a":1}{', ["a"], 7, None),
        (b'{"a":1} x', ["a"], 8, None),
    ],
)
def test_the_scanner_stops_at_what_does_not_fit_and_keeps_what_it_had(
    data: bytes, names: list[str], stopped: int, stopped_in: str | None
) -> None:
    scan = scan_object(data)

    assert [member.name for member in scan.members] == names
    assert (scan.stopped, scan.stopped_in) == (stopped, stopped_in)


def test_values_are_delimited_and_not_judged() -> None:
    assert values(b'{"a":nope,"b":[nope],"c":"\\x\t"}') == [
        ("a", b"nope"),
        ("b", b"[nope]"),
        ("c", b'"\\x\t"'),
    ]


def test_a_name_that_cannot_be_decoded_is_itself() -> None:
    assert [name for name, _ in values(b'{"\\ud800":1,"\xff":2,"\\x":3}')] == ["\\ud800", "\ufffd", "\\x"]


def test_of_wanted_members_the_first_and_the_last_of_each_name_are_kept() -> None:
    scan = scan_object(b'{"a":1,"b":2,"a":3,"c":4,"a":5,"b":6}', frozenset({"a", "b"}))

    assert [(member.name, member.value_start) for member in scan.members] == [
        ("a", 5),
        ("b", 11),
        ("a", 29),
        ("b", 35),
    ]
    assert scan.duplicates(frozenset({"a", "b", "c"})) == ["a", "b"]
    found = scan.find("a")
    assert found is not None
    assert found.value_start == 29
    assert scan.find("c") is None


def test_what_is_kept_does_not_grow_with_the_number_of_members() -> None:
    scan = scan_object(b'{"id":0' + b',"id":1,"x":2' * 10_000 + b"}", frozenset({"id"}))

    assert [member.name for member in scan.members] == ["id", "id"]


@given(json_texts(odd_string_pieces).map(str.encode))
@thorough(200)
def test_what_the_standard_library_reads_is_read_to_the_end(data: bytes) -> None:
    scan = scan_object(data)

    if data.strip().startswith(b"{"):
        assert scan.stopped == -1
        pairs = json.loads(data, parse_int=str, object_pairs_hook=list)
        assert len(scan.members) == len(pairs)
        assert all(
            syntax_error(data[member.value_start : member.value_end]) is None for member in scan.members
        )
    else:
        assert scan.members == ()


@given(
    st.lists(
        st.tuples(white_space, st.sampled_from(["a", "b", "\\u0061", "c"]), json_texts(odd_string_pieces)),
        min_size=1,
        max_size=6,
    )
)
@thorough(200)
def test_a_large_object_is_read_as_a_small_one(parts: list[tuple[str, str, str]]) -> None:
    """The values end where they end, whoever finds that out; names may come twice."""
    small = ",".join(f'{space}"{name}"{space}:{space}{value}{space}' for space, name, value in parts)
    large = f'{{{small},"large":["{"x" * 2000}"]}}'.encode()
    read = values(f"{{{small}}}".encode())

    assert values(large)[:-1] == read
    assert scan_object(large).stopped == -1


@pytest.mark.parametrize("damage", [b"", b"}", b",", b"nope", b"\\ud800"])
def test_a_large_object_that_is_damaged_is_read_as_far_as_it_goes(damage: bytes) -> None:
    """Behind the first values, whatever comes there."""
    data = b'{"a":{"b":[%b]},"c":"d","e":%b' % (b"1," * 500 + b"1", damage)

    assert [name for name, _ in values(data)[:2]] == ["a", "c"]


def test_members_without_number_are_read_without_a_dictionary_of_them() -> None:
    """Which would be far larger than the text."""
    data = b"{%b}" % b",".join(b'"%d":[]' % number for number in range(100_001))

    assert len(scan_object(data).members) == 100_001


@given(st.one_of(st.binary(max_size=40), mutations()))
@thorough(300)
def test_the_scanner_never_raises_and_stays_inside(data: bytes) -> None:
    scan = scan_object(data)

    assert -1 <= scan.stopped <= len(data)
    for member in scan.members:
        assert 0 < member.start < member.value_start < member.value_end <= len(data)


# Arrays.


@given(st.lists(st.tuples(white_space, json_texts(odd_string_pieces)), max_size=5), st.integers(0, 6))
@thorough(200)
def test_an_array_is_split_into_its_items(parts: list[tuple[str, str]], limit: int) -> None:
    data = "[" + ",".join(f"{space}{item}{space}" for space, item in parts) + "]"

    assert scan_array(data.encode(), limit) == [item.encode() for _, item in parts][:limit]


@pytest.mark.parametrize("data", [b"[]", b" [ ] ", b"[\n]"])
def test_an_empty_array_has_no_items(data: bytes) -> None:
    assert scan_array(data, 10) == []


# Depth.


@pytest.mark.parametrize(
    ("data", "depth"),
    [
        (b"1", 0),
        (b"[]", 1),
        (b'{"a":[{}]}', 3),
        (b"[[],[[]],[]]", 3),
        (b'["[[[[",{"]":"}"}]', 2),
        (b'["\\"[[[[\\"",[]]', 2),
        (b'["\\\\",[[]],"\\\\\\"[[["]', 3),
    ],
)
def test_depth_counts_what_is_open_at_once(data: bytes, depth: int) -> None:
    assert not depth_exceeds(data, depth)
    assert depth == 0 or depth_exceeds(data, depth - 1)


@pytest.mark.parametrize("padding", [0, 1, 2, 65_530, 65_534, 65_535, 65_536, 131_070, 200_000])
def test_depth_is_the_same_wherever_a_block_ends(padding: int) -> None:
    data = b'[["' + b"x" * padding + b'[[\\"[[",' + b'"[","]",' * 3 + b"[[1]]]]"

    assert depth_exceeds(data, 3)
    assert not depth_exceeds(data, 4)


@pytest.mark.parametrize("opening", [b"[", b'{"a":', b'[{"a":'])
@pytest.mark.parametrize("times", [1, 8, 9, 16, 17, 30])
def test_depth_is_the_same_in_a_long_text(opening: bytes, times: int) -> None:
    closing = b"".join({91: b"]", 123: b"}"}.get(byte, b"") for byte in reversed(opening))
    data = opening * times + b'"' + b"x" * 10_000 + b'"' + closing * times
    depth = times * len(closing)

    assert not depth_exceeds(data, depth)
    assert depth_exceeds(data, depth - 1)


# Syntax.


@pytest.mark.parametrize(
    ("data", "position"),
    [
        (b"", 0),
        (b'{"a":1', 6),
        (b'{"a":1}x', 7),
        (b"[1]]", 3),
        (b"[01]", 2),
        (b"[1.]", 3),
        (b"[NaN]", 1),
        (b"[1,]", 3),
        (b'["\x01"]', 2),
        (b'["\\ud800\\q"]', 9),
        ('["é",nope]'.encode(), 7),
    ],
)
def test_trouble_is_told_with_its_position(data: bytes, position: int) -> None:
    trouble = syntax_error(data)

    assert trouble is not None
    assert trouble[0]
    assert trouble[1] == position


@pytest.mark.parametrize(
    "data",
    [
        b'["\\ud800"]',
        b'{"\\udfff\\ud800":1}',
        b"1e999",
        pytest.param(b"9" * 5000, id="5000-digits"),
        b" [] \n",
    ],
)
def test_what_the_grammar_allows_is_no_trouble(data: bytes) -> None:
    assert syntax_error(data) is None


# Lone surrogates.


@pytest.mark.parametrize(
    ("data", "mended"),
    [
        (rb'"\ud800"', rb'"\ufffd"'),
        (rb'"\uDFFF"', rb'"\ufffd"'),
        (rb'"\ud83d\ude00"', rb'"\ud83d\ude00"'),
        (rb'"\ud83d\ud83d\ude00"', rb'"\ufffd\ud83d\ude00"'),
        (rb'"\ud83d\ude00\ude00"', rb'"\ud83d\ude00\ufffd"'),
        (rb'"\ude00\ud83d"', rb'"\ufffd\ufffd"'),
        (rb'"\ud83dx\ude00"', rb'"\ufffdx\ufffd"'),
        (rb'"\ud83d\u0041"', rb'"\ufffd\u0041"'),
        (rb'"\ud83d\n"', rb'"\ufffd\n"'),
        (rb'"\\ud800"', rb'"\\ud800"'),
        (rb'"\\\ud800"', rb'"\\\ufffd"'),
        (rb'"\\\\ud800"', rb'"\\\\ud800"'),
        (rb'"\\\\\ud800\\ud800"', rb'"\\\\\ufffd\\ud800"'),
        (rb'"\"\ud800"', rb'"\"\ufffd"'),
        (rb'"\ud8"', rb'"\ud8"'),
        (rb'"\ud7ff\ue000"', rb'"\ud7ff\ue000"'),
        (rb"\ud800", rb"\ufffd"),
        (b"", b""),
    ],
)
def test_half_a_pair_is_replaced_and_nothing_else(data: bytes, mended: bytes) -> None:
    assert replace_lone_surrogates(data) == mended


@given(strings(odd_string_pieces))
@thorough(400)
def test_a_mended_string_reads_as_one_with_replacement_characters(text: str) -> None:
    mended = replace_lone_surrogates(text.encode())

    expected = json.loads(text).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    assert json.loads(mended) == expected
    assert len(mended) == len(text.encode())


def test_a_megabyte_of_halves_is_mended_in_one_go() -> None:
    count = MEGABYTE // 6

    assert replace_lone_surrogates(b"\\ud800" * count) == b"\\ufffd" * count
    assert replace_lone_surrogates(b"\\" * MEGABYTE) == b"\\" * MEGABYTE
