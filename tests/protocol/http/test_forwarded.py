"""Which headers go on with a request, and with which values."""

from __future__ import annotations

import pytest

from anywire.protocol.http.forwarded import forwarded_values, is_forwardable


@pytest.mark.parametrize("name", ["Authorization", "Cookie", "X-User", "Accept-Language", "traceparent"])
def test_what_speaks_of_the_client_may_be_named(name: str) -> None:
    """A cookie as well, where somebody names it."""
    assert is_forwardable(name)


@pytest.mark.parametrize(
    "name",
    [
        *("Host", "Connection", "Keep-Alive", "TE", "Trailer", "Transfer-Encoding", "Upgrade", "Expect"),
        *("Proxy-Authorization", "Proxy-Connection", "Content-Length", "content-type", "Mcp-Session-Id"),
        *("MCP-Protocol-Version", "mcp-param-x", "Accept", "Accept-Encoding", "Last-Event-ID"),
    ],
)
def test_what_belongs_to_one_connection_or_message_may_not(name: str) -> None:
    """The message upstream is another one, on another connection."""
    assert not is_forwardable(name)


def test_exactly_the_named_headers_are_taken() -> None:
    """Whatever their case; a name that only begins alike is another name."""
    headers = [(b"X-User", b" zo\xc3\xab "), (b"x-user-id", b"7"), (b"cookie", b"a=b"), (b"host", b"here")]

    assert forwarded_values(headers, frozenset({"x-user", "x-other"})) == {"x-user": "zoë"}


def test_a_header_that_occurs_twice_is_joined_as_its_kind_is() -> None:
    """RFC 9110 for lists, RFC 9113 for cookies."""
    headers = [(b"x-a", b"1"), (b"cookie", b"a=1"), (b"X-A", b"2"), (b"cookie", b"b=2")]

    assert forwarded_values(headers, frozenset({"x-a", "cookie"})) == {"x-a": "1, 2", "cookie": "a=1; b=2"}


@pytest.mark.parametrize("value", [b"\xff", b"a\r\nX-Admin: 1", b"a\nb", b"a\x00b", b"\x7f"])
def test_a_value_that_could_not_be_sent_as_it_is_is_not_there(value: bytes) -> None:
    """Another value in its place would be a lie, and a line's end would be another header."""
    headers = [(b"x-a", value), (b"x-b", b"2\t3")]

    assert forwarded_values(headers, frozenset({"x-a", "x-b"})) == {"x-a": None, "x-b": "2\t3"}
