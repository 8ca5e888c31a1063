"""What a body is, and what a client can read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anywire.protocol.http.media import EVENT_STREAM, JSON, accepts, media_type
from tests.wire.strategies import thorough

BOTH = (True, True)
JSON_ONLY = (True, False)
STREAM_ONLY = (False, True)
NEITHER = (False, False)

ACCEPTED: dict[str | None, tuple[bool, bool]] = {
    # Nothing said: everything is taken.
    None: BOTH,
    "": BOTH,
    "  ": BOTH,
    ",": BOTH,
    " , ,": BOTH,
    # Names, in any order and case.
    "application/json, text/event-stream": BOTH,
    "text/event-stream, application/json": BOTH,
    "text/event-stream,application/json": BOTH,
    "Application/JSON,\tTEXT/Event-Stream": BOTH,
    "application/json": JSON_ONLY,
    "text/event-stream": STREAM_ONLY,
    "text/html": NEITHER,
    "text/html, image/png": NEITHER,
    "text/html, application/json": JSON_ONLY,
    ",application/json,": JSON_ONLY,
    "application/json; charset=utf-8": JSON_ONLY,
    "application/json;charset=utf-8;q=0.5, text/html": JSON_ONLY,
    # Ranges.
    "*/*": BOTH,
    "*": BOTH,
    "text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2": BOTH,
    "application/*": JSON_ONLY,
    "text/*": STREAM_ONLY,
    "text/*, application/*": BOTH,
    "image/*": NEITHER,
    "text/html, */*;q=0.1": BOTH,
    # Weights.
    "application/json;q=0.1, text/event-stream;q=0.9": BOTH,
    "application/json ; Q = 0.001": JSON_ONLY,
    "application/json;q=1.000": JSON_ONLY,
    "application/json;q=0": NEITHER,
    "application/json;q=0.000": NEITHER,
    "application/json;q=0, text/event-stream": STREAM_ONLY,
    "*/*;q=0": NEITHER,
    "*/*, text/event-stream;q=0": JSON_ONLY,
    "text/event-stream;q=0, */*": JSON_ONLY,
    "*/*;q=0, application/json": JSON_ONLY,
    "application/*;q=0, application/json": JSON_ONLY,
    "*/*;q=0, text/*;q=0.3": STREAM_ONLY,
    "text/*;q=0, */*": JSON_ONLY,
    "application/json;q=0, application/json": JSON_ONLY,
    "application/json, application/json;q=0": JSON_ONLY,
    # A weight that cannot be read says nothing against the type.
    "application/json;q=high": JSON_ONLY,
    "application/json;q=": JSON_ONLY,
    "application/json;q": JSON_ONLY,
    "application/json;q=-1": JSON_ONLY,
    "application/json;q=nan": JSON_ONLY,
    "application/json;q=inf": JSON_ONLY,
    "application/json;q=1_0": JSON_ONLY,
    "application/json;q=²": JSON_ONLY,
    # Garbage names nothing that there is.
    "json": NEITHER,
    "application": NEITHER,
    "application/": NEITHER,
    "application/jsonp": NEITHER,
    "/": NEITHER,
    ";": NEITHER,
    ";q=1": NEITHER,
    "*/json": NEITHER,
    "application/json text/event-stream": NEITHER,
    "\x00\xff": NEITHER,
}


@pytest.mark.parametrize(("accept", "expected"), ACCEPTED.items(), ids=map(repr, ACCEPTED))
def test_a_client_takes_what_its_header_says(accept: str | None, expected: tuple[bool, bool]) -> None:
    """First whether it takes JSON, then whether it takes a stream."""
    assert (accepts(accept, JSON), accepts(accept, EVENT_STREAM)) == expected


parts = st.sampled_from(
    ["application/json", "text/*", "*/*", "*", ";q=0", ";q=1", ";q=x", ",", ";", "=", "/", " "]
)


@given(st.one_of(st.text(max_size=40), st.lists(parts, max_size=12).map("".join)))
@thorough(300)
def test_no_header_raises(accept: str) -> None:
    assert isinstance(accepts(accept, JSON), bool)
    assert isinstance(media_type(accept), str)


@given(st.permutations(["text/html;q=0.3", "application/json;q=0.1", "text/event-stream;q=0", "*/*;q=0.2"]))
def test_order_does_not_matter(items: list[str]) -> None:
    accept = ", ".join(items)

    assert (accepts(accept, JSON), accepts(accept, EVENT_STREAM)) == JSON_ONLY


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("application/json", "application/json"),
        ("application/json; charset=utf-8", "application/json"),
        (" Application/JSON ;charset=utf-8", "application/json"),
        ("text/event-stream;", "text/event-stream"),
        ("TEXT/EVENT-STREAM", "text/event-stream"),
        ("", ""),
        (None, ""),
        (";", ""),
        ("nonsense", "nonsense"),
    ],
)
def test_a_media_type_is_what_stands_before_its_parameters(header: str | None, expected: str) -> None:
    assert media_type(header) == expected
