"""What a client sends, what it makes of an answer, and where it lets itself be sent."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anywire.protocol.http.client import (
    Purpose,
    Reading,
    is_same_origin,
    read_head,
    redirect_target,
    request_headers,
    resolve_on_origin,
)
from tests.wire.strategies import thorough

JSON = "application/json"
STREAM = "text/event-stream"
TYPES = [
    JSON,
    "application/json; charset=utf-8",
    STREAM,
    "text/event-stream;charset=utf-8",
    "text/plain",
    "text/html",
    "",
]
KINDS = {
    JSON: "json",
    "application/json; charset=utf-8": "json",
    STREAM: "stream",
    "text/event-stream;charset=utf-8": "stream",
}

REQUEST, NOTE, LISTEN, END = Purpose.REQUEST, Purpose.NOTE, Purpose.STREAM, Purpose.END


# What is sent.


def test_a_post_takes_either_reply() -> None:
    for purpose in (REQUEST, NOTE):
        assert request_headers(purpose, session_id=None, revision=None) == {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        }


def test_a_get_takes_a_stream() -> None:
    assert request_headers(LISTEN, session_id=None, revision=None) == {"Accept": "text/event-stream"}


def test_a_delete_takes_nothing() -> None:
    assert request_headers(END, session_id="s", revision=None) == {"Mcp-Session-Id": "s"}


@pytest.mark.parametrize("purpose", Purpose)
def test_every_request_of_a_session_names_it(purpose: Purpose) -> None:
    assert request_headers(purpose, session_id="s-1", revision=None)["Mcp-Session-Id"] == "s-1"


@pytest.mark.parametrize("purpose", Purpose)
@pytest.mark.parametrize(
    ("revision", "named"),
    [
        (None, False),
        ("2024-11-05", False),
        ("2025-03-26", False),
        ("2025-06-18", True),
        ("2025-11-25", True),
        ("2026-07-28", True),
    ],
)
def test_the_version_that_was_agreed_is_named_since_there_is_a_header_for_it(
    purpose: Purpose, revision: str | None, named: bool
) -> None:
    """It is the negotiated one, never a newest one of ours."""
    headers = request_headers(purpose, session_id="s", revision=revision)

    assert headers.get("MCP-Protocol-Version") == (revision if named else None)


def test_a_stream_is_taken_up_behind_its_last_event() -> None:
    headers = request_headers(LISTEN, session_id="s", revision=None, last_event_id="g_7")

    assert headers["Last-Event-ID"] == "g_7"
    assert "Last-Event-ID" not in request_headers(LISTEN, session_id="s", revision=None)


@pytest.mark.parametrize("value", ["a\r\nX-Evil: 1", "a\nb", "a\0", "\x1b[0m", "\x7f", "\udc80"])
def test_what_a_server_gave_and_no_header_can_hold_is_left_out(value: str) -> None:
    headers = request_headers(LISTEN, session_id=value, revision="2025" + value, last_event_id=value)

    assert headers == {"Accept": "text/event-stream"}


def test_what_a_header_can_hold_is_sent_as_it_came() -> None:
    headers = request_headers(LISTEN, session_id="a b\té", revision=None, last_event_id="日本 1")

    assert headers["Mcp-Session-Id"] == "a b\té"
    assert headers["Last-Event-ID"] == "日本 1"


# What an answer is: each status with each type, for each purpose.


def read(purpose: Purpose, status: int, content: str, *, had_session: bool = True) -> Reading:
    """What a client makes of the head of an answer."""
    headers = {"content-type": content} if content else {}
    return read_head(purpose, status, headers, had_session=had_session)


@pytest.mark.parametrize("content", TYPES)
@pytest.mark.parametrize("status", [200, 201, 202, 203, 206])
def test_an_answer_to_a_request_is_what_its_type_says(status: int, content: str) -> None:
    """Whatever success it is: streams with a status of 202 exist."""
    expected = {"json": Reading.JSON, "stream": Reading.STREAM}.get(KINDS.get(content, ""), Reading.FAILED)

    assert read(REQUEST, status, content) is expected


@pytest.mark.parametrize("content", ["text/plain", "text/html", ""])
@pytest.mark.parametrize("status", [200, 202, 204])
def test_an_answer_of_another_type_fails_at_once(status: int, content: str) -> None:
    """Nothing will come that could be waited for."""
    assert read(REQUEST, status, content) is Reading.FAILED


@pytest.mark.parametrize("content", TYPES)
@pytest.mark.parametrize("status", [200, 201, 202, 203, 204, 206])
def test_a_note_was_taken_by_any_success(status: int, content: str) -> None:
    """Servers say 200 with an empty body, with `null`, with a page; a stream may have the replies to a batch."""
    expected = Reading.STREAM if KINDS.get(content) == "stream" else Reading.ACCEPTED

    assert read(NOTE, status, content) is expected


@pytest.mark.parametrize("content", TYPES)
@pytest.mark.parametrize(
    "status", [300, 301, 302, 303, 304, 400, 401, 403, 405, 406, 408, 409, 410, 413, 415, 421, 429]
)
@pytest.mark.parametrize("purpose", [REQUEST, NOTE])
def test_a_post_that_was_refused_has_failed(purpose: Purpose, status: int, content: str) -> None:
    assert read(purpose, status, content) is Reading.FAILED


@pytest.mark.parametrize("content", TYPES)
@pytest.mark.parametrize("status", [500, 501, 502, 503, 504, 507])
@pytest.mark.parametrize("purpose", [REQUEST, NOTE])
def test_a_server_that_fails_costs_one_request(purpose: Purpose, status: int, content: str) -> None:
    assert read(purpose, status, content) is Reading.FAILED


@pytest.mark.parametrize("content", TYPES)
@pytest.mark.parametrize("purpose", [REQUEST, NOTE])
def test_a_session_that_is_not_found_is_gone(purpose: Purpose, content: str) -> None:
    assert read(purpose, 404, content) is Reading.SESSION_GONE


@pytest.mark.parametrize("content", TYPES)
@pytest.mark.parametrize("purpose", [REQUEST, NOTE])
def test_without_a_session_not_found_is_the_wrong_address(purpose: Purpose, content: str) -> None:
    assert read(purpose, 404, content, had_session=False) is Reading.FAILED


@pytest.mark.parametrize("had_session", [True, False])
@pytest.mark.parametrize("content", TYPES)
@pytest.mark.parametrize("status", [200, 201, 202, 203, 206])
def test_the_general_stream_is_a_stream_or_there_is_none(
    status: int, content: str, had_session: bool
) -> None:
    """An answer of another type ends it for good; asked again it would be the same."""
    expected = Reading.STREAM if KINDS.get(content) == "stream" else Reading.NOT_OFFERED

    assert read(LISTEN, status, content, had_session=had_session) is expected


@pytest.mark.parametrize("content", TYPES)
@pytest.mark.parametrize("status", [204, 301, 302, 303, 400, 402, 405, 406, 409, 410, 415, 422, 451, 501])
def test_a_stream_that_is_refused_is_not_offered(status: int, content: str) -> None:
    """It is optional, so this is no error, and nothing that another try would mend."""
    assert read(LISTEN, status, content) is Reading.NOT_OFFERED


@pytest.mark.parametrize("content", TYPES)
@pytest.mark.parametrize("status", [401, 403, 408, 429, 500, 502, 503, 504])
def test_a_stream_that_may_come_later_has_failed_for_now(status: int, content: str) -> None:
    assert read(LISTEN, status, content) is Reading.FAILED


@pytest.mark.parametrize("content", [JSON, STREAM, "text/plain", ""])
def test_a_stream_of_a_session_that_is_not_found_means_that_it_is_gone(content: str) -> None:
    assert read(LISTEN, 404, content) is Reading.SESSION_GONE


@pytest.mark.parametrize("content", TYPES)
def test_a_stream_that_is_not_found_without_a_session_is_not_offered(content: str) -> None:
    assert read(LISTEN, 404, content, had_session=False) is Reading.NOT_OFFERED


@pytest.mark.parametrize("content", ["text/html", "text/html; charset=utf-8"])
def test_a_page_that_says_not_found_is_a_server_without_the_optional_stream(content: str) -> None:
    """Web frameworks answer so for a method they have no route for; the session lives."""
    assert read(LISTEN, 404, content) is Reading.NOT_OFFERED


@pytest.mark.parametrize("status", [200, 202, 204, 301, 400, 401, 403, 404, 405, 500, 503])
def test_a_goodbye_is_taken_whatever_comes_back(status: int) -> None:
    """A server that does not end sessions says 405, one that has ended this one 404."""
    assert {read(END, status, content) for content in TYPES} == {Reading.ACCEPTED}


@pytest.mark.parametrize("status", [307, 308])
@pytest.mark.parametrize("purpose", Purpose)
def test_a_redirect_that_keeps_the_method_may_be_followed(purpose: Purpose, status: int) -> None:
    assert {read(purpose, status, content) for content in TYPES} == {Reading.REDIRECT}


@given(st.sampled_from(Purpose), st.integers(100, 999), st.text(max_size=20), st.booleans())
@thorough(300)
def test_no_answer_raises(purpose: Purpose, status: int, content: str, had_session: bool) -> None:
    assert isinstance(read(purpose, status, content, had_session=had_session), Reading)


# Redirects.

HERE = "https://host.example:8443/a/mcp?key=1"


@pytest.mark.parametrize(
    ("location", "target"),
    [
        ("/a/mcp/", "https://host.example:8443/a/mcp/"),
        ("mcp/", "https://host.example:8443/a/mcp/"),
        ("./", "https://host.example:8443/a/"),
        ("../b", "https://host.example:8443/b"),
        ("?key=2", "https://host.example:8443/a/mcp?key=2"),
        ("https://host.example:8443/other", "https://host.example:8443/other"),
        ("HTTPS://HOST.EXAMPLE:8443/other", "https://HOST.EXAMPLE:8443/other"),
        ("//host.example:8443/other", "https://host.example:8443/other"),
        (" /other ", "https://host.example:8443/other"),
    ],
)
def test_a_redirect_on_the_same_origin_is_followed(location: str, target: str) -> None:
    assert redirect_target(HERE, location, followed=0) == target


@pytest.mark.parametrize(
    ("url", "location"),
    [
        ("https://host.example/mcp", "https://host.example:443/mcp/"),
        ("http://host.example:80/mcp", "http://host.example/mcp/"),
        ("http://[::1]:8000/mcp", "http://[::1]:8000/mcp/"),
        ("http://HOST.example/mcp", "http://host.EXAMPLE/mcp/"),
    ],
)
def test_an_origin_may_be_spelled_in_other_ways(url: str, location: str) -> None:
    assert redirect_target(url, location, followed=0) == location


@pytest.mark.parametrize(
    "location",
    [
        None,
        "",
        "http://host.example:8443/a/mcp",
        "http://host.example/a/mcp",
        "https://host.example/a/mcp",
        "https://host.example:8444/a/mcp",
        "https://host.example:0/a/mcp",
        "https://evil.example:8443/a/mcp",
        "https://host.example.evil.example:8443/a/mcp",
        "https://host.example:8443.evil.example/a/mcp",
        "https://host.example:8443@evil.example/a/mcp",
        "//evil.example/a/mcp",
        "https://sub.host.example:8443/",
        "https://host.example.:8443/",
        "wss://host.example:8443/",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "data:,x",
        "https://[",
        "https://[::1",
        "https://host.example:http/",
        "https://host.example:99999/",
        "https://host.example:-1/",
        "http://host\u2100.example/",
    ],
)
def test_a_redirect_to_anywhere_else_is_not(location: str | None) -> None:
    """The headers hold whatever credentials there are, and they are for this origin alone."""
    assert redirect_target(HERE, location, followed=0) is None


@pytest.mark.parametrize(
    "location", ["///evil.example:1:2/", "https://", "https:x", "/\\evil.example", "/x#@evil"]
)
def test_what_only_looks_like_another_origin_is_this_one(location: str) -> None:
    target = redirect_target(HERE, location, followed=0)

    assert target is not None
    assert target.startswith("https://host.example:8443/")


def test_a_redirect_is_followed_five_times() -> None:
    """A server that sends a client round in circles gets rid of it."""
    followed, url = 0, HERE
    while (target := redirect_target(url, "/a/mcp", followed=followed)) is not None:
        followed, url = followed + 1, target

    assert followed == 5


def test_a_password_in_the_address_goes_with_it() -> None:
    url = "https://user:secret@host.example/mcp"

    assert redirect_target(url, "/mcp/", followed=0) == "https://user:secret@host.example/mcp/"
    assert (
        redirect_target(url, "https://host.example/mcp/", followed=0)
        == "https://user:secret@host.example/mcp/"
    )
    assert redirect_target(url, "https://user:secret@host.example/mcp/", followed=0) is not None


@pytest.mark.parametrize("user", ["evil", "user:other", "user", ":secret", "user:secret@user:secret"])
@pytest.mark.parametrize("url", ["https://user:secret@host.example/mcp", "https://host.example/mcp"])
def test_a_server_does_not_say_as_whom_to_come(url: str, user: str) -> None:
    assert redirect_target(url, f"https://{user}@host.example/mcp/", followed=0) is None


def test_a_password_does_not_go_to_another_origin() -> None:
    assert redirect_target("https://user:secret@host.example/", "https://other.example/", followed=0) is None
    assert redirect_target("https://user:secret@host.example/", "http://host.example/", followed=0) is None


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("http://a/x", "http://a/y?z", True),
        ("http://a:80/", "http://a/", True),
        ("https://a:443/", "https://a/", True),
        ("http://A/", "http://a/", True),
        ("http://user@a/", "http://a/", True),
        ("http://a/", "https://a/", False),
        ("http://a:443/", "https://a/", False),
        ("http://a:8000/", "http://a:8001/", False),
        ("http://a:0/", "http://a/", False),
        ("http://a/", "http://b/", False),
        ("http://a/", "//a/", False),
        ("http://a:x/", "http://a:x/", False),
        ("http://a:99999/", "http://a:88888/", False),
        ("http://[/", "http://[/", False),
        ("", "", False),
        ("mailto:a", "mailto:b", False),
    ],
)
def test_an_origin_is_a_scheme_a_host_and_a_port(one: str, other: str, same: bool) -> None:
    assert is_same_origin(one, other) is is_same_origin(other, one) is same


pieces = st.sampled_from(
    [
        "http:",
        "https:",
        "//",
        "/",
        "host.example",
        "evil",
        ":",
        "8443",
        "@",
        "[",
        "]",
        "..",
        "?",
        "#",
        "\\",
        "\n",
        "%",
    ]
)
references = st.one_of(
    st.text(st.characters(codec=None), max_size=30), st.lists(pieces, max_size=10).map("".join)
)


@given(st.one_of(st.just(HERE), references), references)
@thorough(500)
def test_no_reference_raises_or_leads_away(url: str, reference: str) -> None:
    target = resolve_on_origin(url, reference)

    assert target is None or is_same_origin(url, target)
    assert redirect_target(url, reference, followed=0) in (None, target)
