"""From words to the arguments of a call."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from anywire.cli.arguments import read_arguments
from anywire.errors import ConfigError

Schema = dict[str, Any]


def read(*words: str, document: bytes | None = None, **properties: Schema) -> str:
    """The arguments as they would be sent, by a schema with these properties."""
    schema = {"type": "object", "properties": properties, "$defs": DEFINITIONS}
    return msgspec.json.encode(read_arguments(words, document).against(schema)).decode()


DEFINITIONS: Schema = {
    "Size": {"type": "integer"},
    "Loop": {"$ref": "#/$defs/Loop"},
    "odd/name~": {"type": "boolean"},
}


@pytest.mark.parametrize("word", ["x=5", "x=", "x=true", "x={}", "x=a=b", 'x="quoted"', "x= spaced "])
def test_text_stays_text(word: str) -> None:
    """Where the schema wants a string, nothing is read into it."""
    text = word.partition("=")[2]

    assert read(word, x={"type": "string"}) == msgspec.json.encode({"x": text}).decode()


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": ["string", "null"]},
        {"anyOf": [{"type": "string"}, {"type": "null"}]},
        {"oneOf": [{"type": "integer"}, {"type": "string"}]},
        {"enum": ["5", 5]},
        {"anyOf": [{"type": "integer"}, {}]},
        {"$ref": "https://example.org/elsewhere"},
        {"$ref": "#/$defs/Nowhere"},
        {"$ref": "#/$defs/Loop"},
        {"type": "unheard-of"},
    ],
)
def test_text_wins_where_it_is_allowed_or_nothing_is_known(schema: Schema) -> None:
    """What may be text is text; a literal is written with `:=`."""
    assert read("x=5", x=schema) == '{"x":"5"}'
    assert read("x:=5", x=schema) == '{"x":5}'


@pytest.mark.parametrize(
    ("word", "schema", "value"),
    [
        ("x=5", {"type": "integer"}, "5"),
        ("x=-5", {"type": "number"}, "-5"),
        ("x=2.50", {"type": "number"}, "2.50"),
        ("x=1e3", {"type": "number"}, "1e3"),
        ("x=123456789012345678901234567890", {"type": "integer"}, "123456789012345678901234567890"),
        ("x=true", {"type": "boolean"}, "true"),
        ("x=null", {"type": ["integer", "null"]}, "null"),
        ('x=[1, "a"]', {"type": "array"}, '[1, "a"]'),
        ('x={"b": 1, "a": 2}', {"type": "object"}, '{"b": 1, "a": 2}'),
        ("x=5", {"anyOf": [{"type": "integer"}, {"type": "null"}]}, "5"),
        ("x=5", {"allOf": [{"type": "integer"}]}, "5"),
        ("x=5", {"$ref": "#/$defs/Size"}, "5"),
        ("x=true", {"$ref": "#/$defs/odd~1name~0"}, "true"),
        ("x=2", {"enum": [1, 2, 3]}, "2"),
        ("x=true", {"const": True}, "true"),
    ],
)
def test_a_word_becomes_what_the_schema_asks_for(word: str, schema: Schema, value: str) -> None:
    """Numbers, booleans, arrays and objects arrive as they were typed."""
    assert read(word, x=schema) == f'{{"x":{value}}}'


@pytest.mark.parametrize(
    ("word", "kind"),
    [
        ("count=abc", "integer"),
        ("count=2.5", "integer"),
        ("count=", "integer"),
        ("count=1e3", "integer"),
        ("count=NaN", "number"),
        ("count=yes", "boolean"),
        ("count=1", "boolean"),
        ("count=a,b", "array"),
        ("count={}", "array"),
        ("count=[]", "object"),
    ],
)
def test_a_word_of_another_kind_is_refused_by_name_with_an_example(word: str, kind: str) -> None:
    """The sentence names the argument, what was typed and how to write it."""
    with pytest.raises(ConfigError) as caught:
        read(word, count={"type": kind})

    text = str(caught.value)
    assert "'count'" in text
    assert repr(word.partition("=")[2]) in text
    assert f"no {kind}" in text
    assert "count=" in text.partition("write")[2] or "count:=" in text


@pytest.mark.parametrize(
    "value", ['{"b": 1, "a": [true, null]}', '"text"', "12345678901234567890123", "1.10"]
)
def test_a_literal_arrives_as_it_was_typed(value: str) -> None:
    """`key:=json` is JSON whatever the schema says."""
    assert read(f"x:={value}", x={"type": "string"}) == f'{{"x":{value}}}'


@pytest.mark.parametrize("value", ["", "text", "{", "NaN", "'a'", "[1,]"])
def test_a_literal_that_is_no_json_is_refused(value: str) -> None:
    """The sentence tells how text is written instead."""
    with pytest.raises(ConfigError, match="for text write x="):
        read(f"x:={value}")


@pytest.mark.parametrize("word", ["text", "=5", ":=5", "a"])
def test_what_is_no_argument_is_refused(word: str) -> None:
    """An argument has a name and a value."""
    with pytest.raises(ConfigError, match="write key=value, key:=json or --input FILE"):
        read(word)


def test_an_argument_is_given_once() -> None:
    """Two values for one name are a mistake, also in two spellings."""
    with pytest.raises(ConfigError, match="'x' is given twice"):
        read("x=1", "x:=2")


def test_words_win_over_the_document() -> None:
    """`--input` gives what the words do not."""
    document = b'\xef\xbb\xbf {"a": 1.50,\n "b": 2, "c": [1, 2]}'

    assert read("b=x", "d:=4", document=document) == '{"a":1.50,"c":[1, 2],"d":4,"b":"x"}'


@pytest.mark.parametrize("document", [b"", b"[]", b"{", b'"text"', b'{"a": }', b"\xff"])
def test_a_document_that_is_no_object_is_refused(document: bytes) -> None:
    """The sentence names the option."""
    with pytest.raises(ConfigError, match="--input: not a JSON object"):
        read(document=document)


def test_what_is_not_unicode_is_refused() -> None:
    """A byte that the terminal could not decode does not travel as something else."""
    with pytest.raises(ConfigError, match="'x' is not valid Unicode"):
        read("x=\udcff")


def test_nothing_is_known_without_a_schema() -> None:
    """A server that lists no such tool gets text."""
    assert read_arguments(["x=5"]).against(None) == {"x": msgspec.Raw(b'"5"')}
