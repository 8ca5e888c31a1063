"""JSON as people write it: comments and trailing commas anywhere, and places for what is wrong."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anywire.config.document import read_document
from anywire.config.json_text import Node, read_json
from anywire.errors import ConfigError
from tests.wire.strategies import thorough

TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]:,]|[^\s{}\[\]:,"]+')
TRIVIA = ("", " ", "\n", "\r\n", "\t", '// x ]}"\n', "/* , */", "/**/", '/* // \n " */', "//\n")

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
    | st.sampled_from(["// no comment", "/* none */", 'a"b\\', "\ud83d", ",]"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=12,
)


@st.composite
def decorated(draw: st.DrawFn) -> tuple[object, str]:
    """A value, and its JSON with white space, comments and commas where they mean nothing."""
    value = draw(values)
    tokens = TOKEN.findall(json.dumps(value, ensure_ascii=draw(st.booleans())))
    text = draw(st.sampled_from(TRIVIA))
    for before, token in zip(["", *tokens], tokens, strict=False):
        if token in ("}", "]") and before not in ("{", "[") and draw(st.booleans()):
            text += "," + draw(st.sampled_from(TRIVIA))
        text += token + draw(st.sampled_from(TRIVIA))
    return value, text


def said_of(read: Callable[[], object]) -> str:
    """What is said of something that cannot be read; nothing is said of what can."""
    try:
        read()
    except ConfigError as error:
        return str(error)
    return "nothing"


@thorough(100)
@given(decorated())
def test_comments_and_trailing_commas_change_nothing(given_: tuple[object, str]) -> None:
    """Between any two tokens."""
    value, text = given_

    assert json.dumps(read_json(text, "x").plain()) == json.dumps(value)


@thorough(100)
@given(decorated())
def test_each_value_is_where_its_span_says(given_: tuple[object, str]) -> None:
    """What stands there reads as the value alone."""

    def check(node: Node) -> None:
        alone = read_json(text[node.start : node.end], "x")
        assert json.dumps(alone.plain()) == json.dumps(node.plain())
        for member in node.members or ():
            assert text[member.start] == '"'
            assert member.comma == -1 or text[member.comma] == ","
            check(member.value)
        for item in node.items or ():
            check(item)

    _, text = given_
    check(read_json(text, "x"))


@thorough(100)
@given(st.text(st.sampled_from('{}[]:,"\\/*\n \t-+.01e\x00éntrufalse'), max_size=30) | st.text())
def test_whatever_is_read_is_a_value_or_a_config_error(text: str) -> None:
    """Never anything else."""
    assert re.match(r"x, line \d+, column \d+: |nothing", said_of(lambda: read_json(text, "x")))


@thorough(100)
@given(st.binary(max_size=40), st.sampled_from(["x.json", "x.toml", "x"]))
def test_whatever_a_file_holds_is_a_document_or_a_config_error(content: bytes, where: str) -> None:
    """Bytes that are no text included."""
    assert said_of(lambda: read_document(content, where)).startswith((where, "nothing"))


@thorough(100)
@given(decorated(), st.data())
def test_a_text_that_is_cut_is_no_value(given_: tuple[object, str], data: st.DataObject) -> None:
    """At whichever place inside an object."""
    _, text = given_
    whole = '{"a": ' + text + "}"
    cut = data.draw(st.integers(0, len(whole) - 1))

    with pytest.raises(ConfigError):
        read_json(whole[:cut], "x")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "line 1, column 1: there is nothing in it"),
        ("// only a comment", "line 1, column 18: there is nothing in it"),
        ("{}\n{}", "line 2, column 1: something follows the end of the JSON value"),
        ("{} /* x", "line 1, column 4: something follows"),
        ('{"a": 1 /* x', "line 1, column 9: a comment that begins here has no end"),
        ('{"a": /* x', "line 1, column 7: a comment that begins here has no end"),
        ('{\n  "a": 1\n  "b": 2\n}', "line 3, column 3: a comma or '}' is missing"),
        ('{"a": 1', "line 1, column 8: the end comes before '{' of line 1 is closed"),
        ('{"a": [1,\n2', "line 2, column 2: the end comes before '[' of line 1 is closed"),
        ('{"a":', "line 1, column 6: the end comes where a value is expected"),
        ('{"a" 1}', "line 1, column 6: a colon between a name and its value is missing"),
        ("{a: 1}", "line 1, column 2: a name in double quotes or '}' is missing"),
        ("{'a': 1}", "line 1, column 2: a name in double quotes or '}' is missing"),
        ("{\"a\": 'b'}", "line 1, column 7: a text stands in double quotes"),
        ('{"a": "b}', "line 1, column 7: a text that begins here does not end on its line"),
        ('{"a": "b\nc"}', "line 1, column 7: a text that begins here does not end on its line"),
        ('{"a": "C:\\Users"}', "line 1, column 10: a backslash begins no escape of JSON here"),
        ('{"a": "\\u12"}', "a backslash begins no escape of JSON here"),
        ('{"a": "b\tc"}', "line 1, column 9: a control character stands in a text"),
        ('{"a": True}', "line 1, column 7: a value is expected"),
        ('{"a": 01}', "line 1, column 7: a value is expected"),
        ('{"a": 1.}', "line 1, column 7: a value is expected"),
        ('{"a": NaN}', "line 1, column 7: a value is expected"),
        ('{"a": ,}', "line 1, column 7: a value is expected"),
        ("[,]", "line 1, column 2: a value is expected"),
        ('{"a": 1,,}', "line 1, column 9: a name in double quotes or '}' is missing"),
        ("[" * 65, "line 1, column 65: it nests deeper than 64 levels"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(text: str, said: str) -> None:
    """In a sentence for people."""
    with pytest.raises(ConfigError) as caught:
        read_json(text, "x.json")

    assert str(caught.value).startswith("x.json, line ")
    assert said in str(caught.value)


def test_a_secret_in_a_file_with_a_mistake_is_not_repeated() -> None:
    """An error shows the place and no text."""
    for text in ('{"TOKEN": hunter2}', '{"TOKEN": "hunter2', '{"TOKEN" "hunter2"}', '{"a": "hunter2\\x"}'):
        with pytest.raises(ConfigError) as caught:
            read_json(text, "x.json")
        assert "hunter2" not in str(caught.value)


def test_numbers_are_what_json_says() -> None:
    """Huge ones cost nothing and refuse nothing."""
    assert read_json("[1, -0, 2.5, 1e2, 12345678901234567890]", "x").plain() == [
        1,
        0,
        2.5,
        100.0,
        12345678901234567890,
    ]
    assert read_json("9" * 100_000, "x").plain() == float("inf")


@pytest.mark.parametrize(
    "text", ["{" * 40_000, '{"a":' * 40_000, "/" * 40_000, "/*" * 40_000, '"\\' * 40_000]
)
def test_what_never_ends_is_refused_in_linear_time(text: str) -> None:
    """Unclosed brackets, comments and texts."""
    with pytest.raises(ConfigError):
        read_json(text, "x")
