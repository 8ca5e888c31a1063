"""Which web pages may read what a server answers."""

from __future__ import annotations

import pytest

from anywire.protocol.http.cors import Share, share_with
from anywire.protocol.http.guard import Guard
from anywire.protocol.http.server import Head

APP = "https://app.example"
GUARD = Guard.for_bind("127.0.0.1", origins=[APP, "http://localhost:3000"])
POST = {"host": "127.0.0.1:8000", "origin": APP}
ASKS = {**POST, "access-control-request-method": "POST"}


def shared(
    headers: dict[str, str], method: str = "OPTIONS", guard: Guard = GUARD
) -> tuple[bool, dict[str, str]] | None:
    """Whether it is answered as a preflight, and the headers; None: nothing is said."""
    share = share_with(Head(method, headers), guard, "GET, POST, DELETE")
    return None if share is None else (share.preflight, dict(share.headers))


@pytest.mark.parametrize("origin", [APP, "http://localhost:3000"])
def test_an_answer_is_shared_with_the_origin_that_asks_and_no_other(origin: str) -> None:
    """Its session has to be read by the page as well."""
    assert shared({**POST, "origin": origin}, "POST") == (
        False,
        {
            "access-control-allow-origin": origin,
            "vary": "Origin",
            "access-control-expose-headers": "Mcp-Session-Id",
        },
    )


def test_a_preflight_is_told_what_the_page_may_send() -> None:
    answer = shared(ASKS)

    assert answer is not None
    preflight, headers = answer
    assert preflight
    assert headers["access-control-allow-origin"] == APP
    assert headers["access-control-allow-methods"] == "GET, POST, DELETE"
    assert int(headers["access-control-max-age"]) > 0
    assert headers["vary"] == "Origin"
    assert set(headers["access-control-allow-headers"].split(", ")) == {
        "accept",
        "authorization",
        "content-type",
        "last-event-id",
        "mcp-method",
        "mcp-name",
        "mcp-protocol-version",
        "mcp-session-id",
    }


def test_headers_that_mirror_parameters_may_be_sent_under_any_name() -> None:
    """A list cannot say so; those that are asked for are named."""
    asked = "content-type, Mcp-Param-Region,mcp-param-é, x-other, mcp-param-, mcp-param-a b"
    answer = shared({**ASKS, "access-control-request-headers": asked})

    assert answer is not None
    allowed = answer[1]["access-control-allow-headers"].split(", ")
    assert [name for name in allowed if name.startswith("mcp-param")] == ["mcp-param-region"]
    assert "x-other" not in allowed


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "127.0.0.1:8000"},
        {**ASKS, "origin": "https://evil.example"},
        {**ASKS, "origin": "https://app.example.evil.example"},
        {**ASKS, "origin": "http://app.example"},
        {**ASKS, "origin": "null"},
        {**ASKS, "origin": ""},
        {**ASKS, "origin": "http://127.0.0.1:8000"},
        {**ASKS, "origin": "http://localhost:3001"},
        {**ASKS, "host": "evil.example"},
    ],
)
@pytest.mark.parametrize("method", ["POST", "OPTIONS"])
def test_nothing_is_said_to_others(headers: dict[str, str], method: str) -> None:
    """Also not to pages of this machine, which are let in without being named."""
    assert shared(headers, method) is None


def test_without_origins_that_were_named_nothing_is_said_to_anybody() -> None:
    for guard in (Guard.for_bind("127.0.0.1"), Guard.for_bind("0.0.0.0")):
        for origin in ("http://127.0.0.1:8000", "http://localhost", APP, "null"):
            assert shared({**ASKS, "origin": origin}, guard=guard) is None


def test_where_all_origins_are_let_in_each_is_named_all_the_same() -> None:
    """A star would be taken for less than that by some."""
    answer = shared({**ASKS, "origin": "https://any.example"}, guard=Guard.for_bind("0.0.0.0", origins="*"))

    assert answer is not None
    assert answer[1]["access-control-allow-origin"] == "https://any.example"


def test_a_port_may_be_spelled_out_or_not() -> None:
    guard = Guard.for_bind("127.0.0.1", origins=["https://app.example:443"])

    assert shared(ASKS, guard=guard) is not None


def test_an_options_request_that_asks_for_no_method_is_no_preflight() -> None:
    share = share_with(Head("OPTIONS", POST), GUARD, "POST")

    assert isinstance(share, Share)
    assert not share.preflight
