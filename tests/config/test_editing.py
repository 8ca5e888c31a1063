"""Servers put into a text and taken out of it, with comments, order and layout kept."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anywire.config.document import read_document
from anywire.config.editing import with_servers, without_server
from anywire.errors import ConfigError
from tests.config.test_json_text import TRIVIA
from tests.wire.strategies import thorough

NEW = {"command": "run", "args": ["-y", "x"], "env": {"K": "${K}"}}
TABLE = ("mcpServers",)

COMMENTED = """\
{
    // my servers
    "theme": "dark",
    "mcpServers": {
        "one": { "command": "a" }, // the first
        /* the second */
        "two": {
            "command": "b", // runs b
        } // no more
    },
    "last": [1, 2] // numbers
}
"""


def added(text: str, name: str = "new") -> str:
    """The text with one more server."""
    return with_servers(read_document(text, "x.json"), TABLE, {name: NEW})


def removed(text: str, name: str) -> str:
    """The text without one."""
    return without_server(read_document(text, "x.json"), TABLE, name)


def test_a_server_is_added_at_the_end_laid_out_like_its_neighbours() -> None:
    """Every line that was there is there, but for one comma."""
    assert added(COMMENTED) == COMMENTED.replace(
        "        } // no more\n",
        """\
        }, // no more
        "new": {
            "command": "run",
            "args": ["-y", "x"],
            "env": {
                "K": "${K}"
            }
        }
""",
    )


def test_a_comma_behind_the_last_server_stays_a_habit() -> None:
    """And none comes to stand twice."""
    text = COMMENTED.replace("} // no more", "}, // no more")

    assert '        },\n    },\n    "last"' in added(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{}", '{\n  "mcpServers": {\n    "new": {\n'),
        ("{\n}\n", '{\n  "mcpServers": {\n    "new": {\n'),
        ('{"mcpServers": {}}', '{"mcpServers": {\n  "new": {\n'),
        ('{"mcpServers": {"a": {}}}', '{"mcpServers": {"a": {}, "new": {"command": "run", '),
        ('{"mcpServers": {"a": {},}}', '{"mcpServers": {"a": {}, "new": {"command": "run", '),
        ('{\n\t"a": 1\n}', '{\n\t"a": 1,\n\t"mcpServers": {\n\t\t"new": {\n'),
        ('{\n  "mcpServers": { // none yet\n  }\n}', '{ // none yet\n    "new": {\n'),
        ('{\r\n  "mcpServers": {\r\n  }\r\n}', '"mcpServers": {\r\n    "new": {\r\n'),
    ],
)
def test_a_server_is_added_to_any_layout(text: str, expected: str) -> None:
    """Tables that are missing are made."""
    result = added(text)

    assert expected in result
    assert read_document(result, "x.json").data["mcpServers"]


def test_a_server_is_removed_with_its_lines() -> None:
    """Comments around it stay; the comma before the last goes with it."""
    assert removed(COMMENTED, "one") == COMMENTED.replace(
        '        "one": { "command": "a" }, // the first\n', "         // the first\n"
    )
    assert removed(COMMENTED, "two") == COMMENTED.replace(
        '"a" }, // the first', '"a" } // the first'
    ).replace(
        '        "two": {\n            "command": "b", // runs b\n        } // no more\n',
        "         // no more\n",
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"mcpServers": {"a": {}}}', '{"mcpServers": {}}'),
        ('{"mcpServers": {"a": {}, "b": {}}}', '{"mcpServers": {"b": {}}}'),
        ('{"mcpServers": {"b": {}, "a": {}}}', '{"mcpServers": {"b": {} }}'),
        ('{"mcpServers": {"a": {}, "b": {}, "a": {}}}', '{"mcpServers": {"b": {} }}'),
        ('{"mcpServers": {\n  "b": {},\n  "a": {}\n}}', '{"mcpServers": {\n  "b": {}\n}}'),
        ('{"mcpServers": {\r\n  "a": {},\r\n  "b": {}\r\n}}', '{"mcpServers": {\r\n  "b": {}\r\n}}'),
    ],
)
def test_a_server_is_removed_from_any_layout(text: str, expected: str) -> None:
    """However often it is there."""
    assert removed(text, "a") == expected


@thorough(100)
@given(st.data())
def test_what_is_added_and_removed_leaves_the_data_as_it_was(data: st.DataObject) -> None:
    """Whatever stands between the tokens."""
    gaps = iter(data.draw(st.lists(st.sampled_from(TRIVIA), min_size=12, max_size=12)))
    comma = data.draw(st.sampled_from(["", ","]))
    text = (
        f'{next(gaps)}{{{next(gaps)}"mcpServers"{next(gaps)}:{next(gaps)}{{{next(gaps)}"a"{next(gaps)}:'
        f"{next(gaps)}{{}}{next(gaps)}{comma}{next(gaps)}}}{next(gaps)}{comma}{next(gaps)}}}{next(gaps)}"
    )
    before = read_document(text, "x.json").data

    more = added(text)
    less = removed(more, "a")

    assert read_document(more, "x.json").data == {"mcpServers": {"a": {}, "new": NEW}}
    assert read_document(less, "x.json").data == {"mcpServers": {"new": NEW}}
    assert read_document(removed(more, "new"), "x.json").data == before


@thorough(100)
@given(st.text(min_size=1, max_size=8), st.text(max_size=20))
def test_any_name_and_any_text_can_be_written(name: str, value: str) -> None:
    """Quotes, line separators and the like included."""
    text = with_servers(read_document('{\n  "mcpServers": {}\n}', "x"), TABLE, {name: {"command": value}})

    assert read_document(text, "x").data == {"mcpServers": {name: {"command": value}}}


def test_other_formats_and_other_things_in_the_place_are_refused() -> None:
    """Nothing is written over."""
    with pytest.raises(ConfigError, match="only files of JSON can be changed"):
        with_servers(read_document("a = 1", "x.toml"), TABLE, {"a": NEW})
    with pytest.raises(ConfigError, match="mcpServers is no object in it"):
        added('{"mcpServers": 7}')


def test_numbers_and_odd_members_stay_the_text_they_were() -> None:
    """Only the place of the change is touched."""
    text = '{\n  "big": 12345678901234567890.10,\n  "esc": "\\u00e9\\/",\n  "mcpServers": {}\n}'

    assert added(text).startswith(text[: text.index("{}")])
    assert json.loads(added(text))["esc"] == "é/"
