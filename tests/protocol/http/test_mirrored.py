"""Headers that say again what the body says."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anywire.protocol.http.mirrored import (
    Mirror,
    MirrorFault,
    decode_mirrored,
    encode_mirrored,
    mirror_difference,
    mirrored_headers,
    read_mirrors,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("plain", "plain"),
        ("two words", "two words"),
        ("", ""),
        (" lead", "=?base64?IGxlYWQ=?="),
        ("trail\t", "=?base64?dHJhaWwJ?="),
        ("é", "=?base64?w6k=?="),
        ("a\r\nb", "=?base64?YQ0KYg==?="),
        ("=?base64?SGVsbG8=?=", "=?base64?PT9iYXNlNjQ/U0dWc2JHOD0/PQ==?="),
        ("=?base64?SGVsbG8=", "=?base64?SGVsbG8="),
    ],
)
def test_a_text_is_written_as_a_header_may_have_it(text: str, value: str) -> None:
    """As it is, or wrapped."""
    assert encode_mirrored(text) == value
    assert decode_mirrored(value) == text


@pytest.mark.parametrize(
    "value", ["=?base64?SGVsbG8?=", "=?base64?SGVs!!!bG8=?=", "a\x01", "é", "=?base64?/w==?="]
)
def test_a_value_that_cannot_be_read_is_none(value: str) -> None:
    """Bad base64, no UTF-8, illegal characters."""
    assert decode_mirrored(value) is None


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_every_text_comes_back(text: str) -> None:
    """And its header is visible ASCII."""
    value = encode_mirrored(text)
    assert value.isascii()
    assert value == value.strip() or value == text
    assert decode_mirrored(value) == text


def schema(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


REGION = {"type": "string", "x-mcp-header": "Region"}


def test_marks_are_found_at_any_depth_of_properties() -> None:
    """With the path to the argument."""
    deep = schema(
        region=REGION,
        query={"type": "string"},
        inner=schema(count={"type": "integer", "x-mcp-header": "Count"}),
    )
    mirrors = [Mirror("mcp-param-region", ("region",)), Mirror("mcp-param-count", ("inner", "count"))]
    assert read_mirrors(deep) == mirrors
    assert read_mirrors(schema(a={"type": "string"})) == []
    assert read_mirrors({"type": "object", "properties": {"x-mcp-header": {"type": "string"}}}) == []


@pytest.mark.parametrize(
    "bad",
    [
        schema(a={"type": "string", "x-mcp-header": ""}),
        schema(a={"type": "string", "x-mcp-header": "two words"}),
        schema(a={"type": "string", "x-mcp-header": "a:b"}),
        schema(a={"type": "string", "x-mcp-header": "é"}),
        schema(a={"type": "string", "x-mcp-header": "a\x01"}),
        schema(a={"type": "string", "x-mcp-header": 5}),
        schema(a={"type": "object", "x-mcp-header": "A"}),
        schema(a={"type": "array", "x-mcp-header": "A"}),
        schema(a={"type": "null", "x-mcp-header": "A"}),
        schema(a={"type": "number", "x-mcp-header": "A"}),
        schema(a=REGION, b=REGION),
        schema(a=REGION, b={"type": "string", "x-mcp-header": "REGION"}),
        schema(a={"type": "array", "items": REGION}),
        schema(a={"anyOf": [REGION]}),
        {"type": "object", "$defs": {"a": REGION}},
    ],
)
def test_a_bad_mark_is_a_fault(bad: dict[str, Any]) -> None:
    """The tool cannot be called over HTTP then."""
    with pytest.raises(MirrorFault):
        read_mirrors(bad)


MIRRORS = [
    Mirror("mcp-param-region", ("region",)),
    Mirror("mcp-param-n", ("n",)),
    Mirror("mcp-param-b", ("b",)),
]
CALL = b'{"name":"t","arguments":{"region":"\xc3\xa9","n":42,"b":true,"other":1}}'


def test_a_client_says_again_what_the_body_says() -> None:
    """The method, the name, the arguments that are marked; what is null or absent has no header."""
    assert mirrored_headers("tools/list", None) == [("mcp-method", "tools/list")]
    assert mirrored_headers("resources/read", b'{"uri":"file:///a%20b"}') == [
        ("mcp-method", "resources/read"),
        ("mcp-name", "file:///a%20b"),
    ]
    assert mirrored_headers("tools/call", CALL, MIRRORS) == [
        ("mcp-method", "tools/call"),
        ("mcp-name", "t"),
        ("mcp-param-region", "=?base64?w6k=?="),
        ("mcp-param-n", "42"),
        ("mcp-param-b", "true"),
    ]
    assert mirrored_headers("tools/call", b'{"name":"t","arguments":{"region":null}}', MIRRORS)[2:] == []


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"mcp-name": "  t "},
        {"mcp-param-n": "42.0"},
        {"mcp-param-other": "whatever"},
    ],
)
def test_headers_that_say_the_same_are_no_difference(changes: dict[str, str]) -> None:
    """Blanks around them do not matter, nor how an integer is written."""
    headers = dict(mirrored_headers("tools/call", CALL, MIRRORS)) | changes
    assert mirror_difference(headers, "tools/call", CALL, MIRRORS) == ""


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"mcp-method": None}, "Mcp-Method is None"),
        ({"mcp-method": "TOOLS/CALL"}, "Mcp-Method is 'TOOLS/CALL'"),
        ({"mcp-name": None}, "Mcp-Name is missing"),
        ({"mcp-name": "T"}, "Mcp-Name is 'T' and the body has 't'"),
        ({"mcp-param-region": None}, "mcp-param-region is missing"),
        ({"mcp-param-region": "é"}, "cannot be read"),
        ({"mcp-param-region": "=?base64?w6k?="}, "cannot be read"),
        ({"mcp-param-n": "43"}, "mcp-param-n is '43' and the body has '42'"),
        ({"mcp-param-n": "many"}, "mcp-param-n is 'many'"),
        ({"mcp-param-b": "True"}, "mcp-param-b is 'True'"),
    ],
)
def test_headers_that_say_something_else_are_a_difference(changes: dict[str, str | None], words: str) -> None:
    """It says which, and what each says."""
    headers = dict(mirrored_headers("tools/call", CALL, MIRRORS)) | changes
    told = {name: value for name, value in headers.items() if value is not None}
    assert words in mirror_difference(told, "tools/call", CALL, MIRRORS)


def test_a_header_without_its_argument_is_a_difference() -> None:
    """The body does not say it."""
    headers = {"mcp-method": "tools/call", "mcp-name": "t", "mcp-param-region": "x"}
    body = b'{"name":"t","arguments":{}}'
    assert "the body has None" in mirror_difference(headers, "tools/call", body, MIRRORS)


@pytest.mark.parametrize("params", [None, b"[]", b"5", b'{"name":5}', b'{"name":"t","arguments":[]}'])
def test_no_body_raises(params: bytes | None) -> None:
    """Whatever it is."""
    mirrored_headers("tools/call", params, MIRRORS)
    mirror_difference({"mcp-method": "tools/call"}, "tools/call", params, MIRRORS)
