"""One member is changed; the bytes of the others stay."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anywire.wire.scan import scan_object, syntax_error
from anywire.wire.splice import drop_members, get_items, get_member, set_member, with_progress_token
from tests.wire.strategies import json_texts, member_names, odd_string_pieces, strings, thorough, white_space

PARAMS = b'{"big":12345678901234567890123,"small": 1.0e-5,"text":"\\u00e9\\/","z":1,"a":[ ]}'


@st.composite
def objects(draw: st.DrawFn) -> bytes:
    """JSON objects, empty ones included, with any spelling of their members."""
    values = json_texts(odd_string_pieces)
    names = st.one_of(member_names, strings(odd_string_pieces))
    members = draw(st.lists(st.tuples(white_space, names, values), max_size=4))
    inside = ",".join(f"{space}{name}{space}:{space}{value}{space}" for space, name, value in members)
    return (draw(white_space) + "{" + draw(white_space) + inside + "}" + draw(white_space)).encode()


def members(data: bytes) -> list[tuple[str, bytes]]:
    """Name and raw value of each member."""
    scan = scan_object(data)
    assert scan.stopped == -1
    return [(member.name, data[member.value_start : member.value_end]) for member in scan.members]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("big", b"12345678901234567890123"),
        ("small", b"1.0e-5"),
        ("text", b'"\\u00e9\\/"'),
        ("a", b"[ ]"),
        ("b", None),
    ],
)
def test_a_member_is_given_as_its_bytes(name: str, value: bytes | None) -> None:
    assert get_member(PARAMS, name) == value


@pytest.mark.parametrize("data", [b"[]", b"null", b'"a"', b"", b"nope"])
def test_what_is_no_object_has_no_member(data: bytes) -> None:
    assert get_member(data, "a") is None


@given(st.lists(st.tuples(white_space, json_texts(odd_string_pieces), white_space), max_size=4))
def test_the_items_of_an_array_are_given_as_their_bytes(items: list[tuple[str, str, str]]) -> None:
    """However they are spelled, half of a surrogate pair included."""
    array = "[ " + ",".join(f"{before}{item}{after}" for before, item, after in items) + "]"
    assert get_items(array.encode()) == [item.encode() for _, item, _ in items]


@pytest.mark.parametrize("data", [b"{}", b"null", b'"[1]"', b""])
def test_what_is_no_array_has_no_items(data: bytes) -> None:
    assert get_items(data) is None


def test_a_member_is_replaced_in_its_place() -> None:
    assert set_member(PARAMS, "text", b"{}") == PARAMS.replace(b'"\\u00e9\\/"', b"{}")


def test_a_name_is_found_however_it_is_spelled() -> None:
    assert set_member(b'{"\\u0069d" : 1}', "id", b"2") == b'{"\\u0069d" : 2}'


@pytest.mark.parametrize(
    ("data", "changed"),
    [
        (b"{}", b'{"n":0}'),
        (b" { } ", b' {"n":0 } '),
        (b'{"a":1}', b'{"n":0,"a":1}'),
        (b'\n{\n "a": 1\n}', b'\n{"n":0,\n "a": 1\n}'),
    ],
)
def test_a_new_member_comes_first(data: bytes, changed: bytes) -> None:
    assert set_member(data, "n", b"0") == changed


@given(objects(), st.text(max_size=3), json_texts(odd_string_pieces).map(str.encode))
@thorough(150)
def test_the_other_members_keep_order_and_bytes(data: bytes, name: str, value: bytes) -> None:
    before = members(data)

    changed = set_member(data, name, value)

    assert syntax_error(changed) is None
    assert get_member(changed, name) == value
    names = [other for other, _ in before]
    if name in names:
        last = len(names) - 1 - names[::-1].index(name)
        assert members(changed) == [*before[:last], (name, value), *before[last + 1 :]]
    else:
        assert members(changed) == [(name, value), *before]


@pytest.mark.parametrize(
    ("data", "left"),
    [
        (b'{"a":1,"b":2,"c":3}', b'{"b":2}'),
        (b'{ "a" : 1 , "b" : 2 }', b'{ "b" : 2 }'),
        (b'{\n "b": 2,\n "a": 1\n}', b'{\n "b": 2\n}'),
        (b'{"\\u0061":1,"a":2,"b":1.0e-5}', b'{"b":1.0e-5}'),
        (b'{"a":{"a":1}}', b"{}"),
        (b"{}", b"{}"),
        (b'["a"]', b'["a"]'),
        (b"null", b"null"),
    ],
)
def test_members_are_dropped_with_the_comma_that_parted_them(data: bytes, left: bytes) -> None:
    assert drop_members(data, "a", "c") == left


@given(objects(), st.sets(st.text(max_size=2), max_size=2))
@thorough(150)
def test_what_is_not_dropped_keeps_order_and_bytes(data: bytes, names: set[str]) -> None:
    before = members(data)

    dropped = names | {name for name, _ in before[::2]}
    left = drop_members(data, *dropped)

    assert syntax_error(left) is None
    assert members(left) == [member for member in before if member[0] not in dropped]


# Progress tokens.


@pytest.mark.parametrize(
    ("params", "changed"),
    [
        (None, b'{"_meta":{"progressToken":7}}'),
        (b"{}", b'{"_meta":{"progressToken":7}}'),
        (b"{ }", b'{"_meta":{"progressToken":7} }'),
        (b'{"a":1.0e-5}', b'{"_meta":{"progressToken":7},"a":1.0e-5}'),
        (b' {"a":1}', b' {"_meta":{"progressToken":7},"a":1}'),
        (b'{"a":1,"_meta":{"k":"v"}}', b'{"a":1,"_meta":{"progressToken":7,"k":"v"}}'),
        (b'{"_meta":{"progressToken":"old","k":[]},"a":1}', b'{"_meta":{"progressToken":7,"k":[]},"a":1}'),
        (b'{"_meta":null}', b'{"_meta":{"progressToken":7}}'),
        (b'{"_meta":[]}', b'{"_meta":{"progressToken":7}}'),
        (b'{"\\u005fmeta":{"k":1}}', b'{"\\u005fmeta":{"progressToken":7,"k":1}}'),
        (b'{"text":"\\"_meta\\""}', b'{"_meta":{"progressToken":7},"text":"\\"_meta\\""}'),
        (b'{"x":{"_meta":{}}}', b'{"_meta":{"progressToken":7},"x":{"_meta":{}}}'),
    ],
)
def test_a_progress_token_goes_into_the_meta_member(params: bytes | None, changed: bytes) -> None:
    assert with_progress_token(params, b"7") == changed


@pytest.mark.parametrize("params", [b"[1,2]", b" [ ]", b"null", b'"x"', b"7"])
def test_params_that_are_no_object_stay_as_they_are(params: bytes) -> None:
    assert with_progress_token(params, b"7") == params


@given(objects())
@thorough(150)
def test_a_progress_token_damages_nothing(params: bytes) -> None:
    changed = with_progress_token(params, b'"t"')

    assert syntax_error(changed) is None
    meta = get_member(changed, "_meta")
    assert meta is not None
    assert get_member(meta, "progressToken") == b'"t"'
    others = [pair for pair in members(params) if pair[0] != "_meta"]
    assert [pair for pair in members(changed) if pair[0] != "_meta"] == others
    old = get_member(params, "_meta")
    if old is not None and old.startswith(b"{"):
        kept = [pair for pair in members(old) if pair[0] != "progressToken"]
        assert [pair for pair in members(meta) if pair[0] != "progressToken"] == kept


def test_a_changed_object_still_reads_as_json() -> None:
    changed = json.loads(set_member(PARAMS, "z", b'{"n":null}'))

    assert changed["z"] == {"n": None}
    assert changed["big"] == 12345678901234567890123
