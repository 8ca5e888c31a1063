"""Lists without what is hidden."""

from __future__ import annotations

from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anywire.bridge.policy.lists import LISTS, without_hidden
from anywire.bridge.policy.policy import Policy
from anywire.wire.scan import scan_object
from anywire.wire.splice import get_items, get_member
from tests.wire.strategies import json_texts, odd_string_pieces, thorough, white_space

TOOLS: Final = LISTS["tools/list"]
ODD = b'{"big":12345678901234567890123, "f" : 1.0e-5,"s":"\\u00e9\\/\\ud800", "name" :"%b"}'


@pytest.mark.parametrize("method", LISTS)
def test_each_list_leaves_out_what_is_denied(method: str) -> None:
    """By the name that its items have."""
    listing = LISTS[method]
    result = b'{"nextCursor":"c","%s":[{"%s":"x:one"},{"%s":"x:two"}]}' % (
        listing.member.encode(),
        listing.name.encode(),
        listing.name.encode(),
    )
    left, hidden = without_hidden(result, listing, Policy(deny=[f"{listing.kind.value}:x:one"]))
    assert hidden == ["x:one"]
    assert left == result.replace(b'{"%s":"x:one"},' % listing.name.encode(), b"")


def test_a_page_of_hidden_things_keeps_its_cursor() -> None:
    """There may be others on the next page."""
    result = b'{"tools":[{"name":"a"}], "nextCursor": "c", "x":1.0}'
    left, _ = without_hidden(result, TOOLS, Policy(allow=["b"]))
    assert left == b'{"tools":[], "nextCursor": "c", "x":1.0}'


@pytest.mark.parametrize(
    ("result", "denying", "allowing"),
    [
        (b"{}", b"{}", b"{}"),
        (b"[]", b"[]", b"[]"),
        (b"null", b"null", b"null"),
        (b'{"tools":null}', b'{"tools":null}', b'{"tools":[]}'),
        (b'{"tools":{"a":{}}}', b'{"tools":{"a":{}}}', b'{"tools":[]}'),
        (b'{"tools":"a"}', b'{"tools":"a"}', b'{"tools":[]}'),
        (b'{"tools":[{},7,{"name":7},{"name":"y"}]}',) * 2 + (b'{"tools":[{"name":"y"}]}',),
        (b'{"tools":[ ]}',) * 3,
    ],
)
def test_an_odd_list_costs_nothing_but_what_nothing_can_be_said_of(
    result: bytes, denying: bytes, allowing: bytes
) -> None:
    """Where only some names are allowed, what has none is not there."""
    assert without_hidden(result, TOOLS, Policy(deny=["x"]))[0] == denying
    assert without_hidden(result, TOOLS, Policy(allow=["y"]))[0] == allowing


@st.composite
def pages(draw: st.DrawFn) -> tuple[bytes, list[tuple[str, bytes]]]:
    """A page of tools in any spelling, and its items by their names."""
    items: list[tuple[str, bytes]] = []
    for name in draw(st.lists(st.sampled_from(["keep", "drop", "keep two", "drop two"]), max_size=5)):
        spelled = name.replace("e", "\\u0065") if draw(st.booleans()) else name
        members = [f'"name"{draw(white_space)}:{draw(white_space)}"{spelled}"']
        members += [f'"x{n}":{draw(json_texts(odd_string_pieces))}' for n in range(draw(st.integers(0, 2)))]
        inside = f"{draw(white_space)},".join(draw(st.permutations(members)))
        items.append((name, f"{{{inside}{draw(white_space)}}}".encode()))
    array = b"[%b]" % b",".join(draw(white_space).encode() + item for _, item in items)
    around = draw(json_texts(odd_string_pieces)).encode()
    return b'{"a":%b, "tools" : %b,"nextCursor":%b }' % (around, array, around), items


@thorough(150, 500)
@given(pages())
def test_what_stays_keeps_its_bytes_and_its_place(page: tuple[bytes, list[tuple[str, bytes]]]) -> None:
    """Also everything around the list."""
    result, items = page
    left, hidden = without_hidden(result, TOOLS, Policy(deny=["drop*"]))
    assert hidden == [name for name, _ in items if name.startswith("drop")]
    kept = [item for name, item in items if name.startswith("keep")]
    assert get_items(get_member(left, "tools") or b"") == kept
    before = scan_object(result).find("tools")
    assert before is not None
    array = b"[%b]" % b",".join(kept) if hidden else result[before.value_start : before.value_end]
    assert left == result[: before.value_start] + array + result[before.value_end :]


def test_numbers_escapes_and_half_a_character_pass_as_they_are() -> None:
    """Beside an item that is left out."""
    result = b'{"tools":[%b,%b]}' % (ODD % b"one", ODD % b"two")
    assert without_hidden(result, TOOLS, Policy(allow=["two"]))[0] == b'{"tools":[%b]}' % (ODD % b"two")
