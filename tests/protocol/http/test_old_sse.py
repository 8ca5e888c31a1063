"""HTTP+SSE: what its requests mean, and where it says to POST."""

from __future__ import annotations

import json
from urllib.parse import parse_qs, urljoin, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anywire.protocol.http.guard import Guard
from anywire.protocol.http.old_sse import (
    MESSAGES,
    BeginStream,
    TakeMessage,
    check_old_head,
    endpoint_of,
    read_old_post,
    resolve_endpoint,
)
from anywire.protocol.http.server import Head, Reject
from anywire.wire.codec import encode
from anywire.wire.limits import DEFAULT_LIMITS
from anywire.wire.message import Batch, Notification, Request
from tests.wire.strategies import mutations, thorough

GUARD = Guard.for_bind("127.0.0.1")
WITHOUT = "(left out)"


def check(method: str, query: str = "", *, is_messages: bool, **headers: str) -> object:
    """What a server bound to loopback makes of a request."""
    usual = {"host": "localhost:8000", "content-type": "application/json", "accept": "text/event-stream"}
    merged = {**usual, **{name.replace("_", "-"): value for name, value in headers.items()}}
    kept = {name: value for name, value in merged.items() if value != WITHOUT}
    return check_old_head(Head(method, kept), query, GUARD, is_messages=is_messages)


def refused(verdict: object) -> tuple[int, str | None]:
    """The status of a refusal and the methods it names."""
    assert isinstance(verdict, Reject)
    assert json.loads(encode(verdict.error))["error"]["message"]
    return verdict.status, verdict.allow


# Requests.


@pytest.mark.parametrize(
    "accept", ["text/event-stream", "*/*", WITHOUT, "text/event-stream, application/json"]
)
def test_a_get_begins_a_stream(accept: str) -> None:
    assert check("GET", is_messages=False, accept=accept) == BeginStream()


@pytest.mark.parametrize(
    "query", ["session_id=s", "x=1&session_id=s&y=2", "session_id=s&session_id=t", "session_id=%73"]
)
def test_a_post_is_for_the_session_in_its_address(query: str) -> None:
    assert check("POST", query, is_messages=True) == TakeMessage("s")


@pytest.mark.parametrize(
    "query", ["", "session_id=", "session_id", "sessionId=s", "&&", "%", "session_id=&=", "\xff"]
)
def test_404_for_a_post_of_no_session(query: str) -> None:
    assert refused(check("POST", query, is_messages=True)) == (404, None)


@pytest.mark.parametrize("method", ["POST", "DELETE", "PUT", "OPTIONS", "HEAD"])
def test_405_for_anything_but_a_get_of_the_stream(method: str) -> None:
    """A client of a newer revision tries a POST first; this tells it to go on with a GET."""
    assert refused(check(method, is_messages=False)) == (405, "GET")


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "OPTIONS", "HEAD"])
def test_405_for_anything_but_a_post_of_a_message(method: str) -> None:
    assert refused(check(method, "session_id=s", is_messages=True)) == (405, "POST")


@pytest.mark.parametrize("accept", ["application/json", "text/html", "*/*;q=0"])
def test_406_for_a_client_that_cannot_read_a_stream(accept: str) -> None:
    assert refused(check("GET", is_messages=False, accept=accept)) == (406, None)


@pytest.mark.parametrize("content", ["text/plain", WITHOUT, "application/x-www-form-urlencoded"])
def test_415_for_a_body_of_another_type(content: str) -> None:
    assert refused(check("POST", "session_id=s", is_messages=True, content_type=content)) == (415, None)


@pytest.mark.parametrize(("method", "is_messages"), [("GET", False), ("POST", True), ("PUT", False)])
def test_strangers_are_refused_first(method: str, is_messages: bool) -> None:
    wrong = {"accept": "text/html", "content_type": "text/plain"}
    page = {"origin": "https://evil.example", **wrong}

    assert refused(check(method, is_messages=is_messages, host="evil.example", **page)) == (421, None)
    assert refused(check(method, is_messages=is_messages, **page)) == (403, None)


# Bodies.


def test_a_message_is_a_message() -> None:
    body = b'{"jsonrpc":"2.0","id":1,"method":"initialize"}'

    assert read_old_post(body, DEFAULT_LIMITS) == Request(b"1", "initialize")


def test_a_notification_and_a_batch_are_taken_too() -> None:
    assert read_old_post(b'{"jsonrpc":"2.0","method":"x"}', DEFAULT_LIMITS) == Notification("x")
    assert isinstance(read_old_post(b'[{"jsonrpc":"2.0","method":"x"}]', DEFAULT_LIMITS), Batch)


@pytest.mark.parametrize(
    ("body", "code", "id"),
    [
        (b"nope", -32700, None),
        (b'{"id":7,"method":"x"}', -32600, 7),
        (b'{"id":7,"result":{}}', -32600, None),
        (b'{"jsonrpc":"2.0","id":7,"result":{', -32700, None),
    ],
)
def test_400_for_what_is_no_message(body: bytes, code: int, id: object) -> None:
    verdict = read_old_post(body, DEFAULT_LIMITS)

    assert refused(verdict) == (400, None)
    assert isinstance(verdict, Reject)
    told = json.loads(encode(verdict.error))
    assert (told["error"]["code"], told["id"]) == (code, id)


@given(st.one_of(mutations(), st.binary(max_size=30)), st.text(st.characters(max_codepoint=255), max_size=20))
@thorough(200)
def test_nothing_raises(body: bytes, query: str) -> None:
    assert read_old_post(body, DEFAULT_LIMITS) is not None
    assert isinstance(check("POST", query, is_messages=True), Reject | TakeMessage)


# Where to POST.


@pytest.mark.parametrize(
    ("url", "target"),
    [
        ("http://h:8000/sse", "http://h:8000/messages?session_id=s"),
        ("http://h:8000/", "http://h:8000/messages?session_id=s"),
        ("http://h:8000", "http://h:8000/messages?session_id=s"),
        ("https://h/a/b/sse", "https://h/a/b/messages?session_id=s"),
        ("https://h/a/b/sse/", "https://h/a/b/sse/messages?session_id=s"),
        ("https://h/a/b/sse?key=1", "https://h/a/b/messages?session_id=s"),
    ],
)
def test_the_address_that_a_server_gives_holds_under_any_prefix(url: str, target: str) -> None:
    """A proxy may have put it anywhere; the server need not know."""
    address = endpoint_of("s")

    assert resolve_endpoint(url, address.encode()) == urljoin(url, address) == target
    assert urlsplit(target).path.rpartition("/")[2] == MESSAGES
    assert parse_qs(urlsplit(target).query) == {"session_id": ["s"]}


@pytest.mark.parametrize(
    ("data", "target"),
    [
        (b"/messages?session_id=1", "https://h:8443/messages?session_id=1"),
        (b"messages?session_id=1", "https://h:8443/a/messages?session_id=1"),
        (b"./messages", "https://h:8443/a/messages"),
        (b"../messages", "https://h:8443/messages"),
        (b"?session_id=1", "https://h:8443/a/sse?session_id=1"),
        (b"https://h:8443/b", "https://h:8443/b"),
        (b"//h:8443/b", "https://h:8443/b"),
        (b" /messages \n", "https://h:8443/messages"),
        ("/é".encode(), "https://h:8443/é"),
        (b"/\xff", "https://h:8443/\ufffd"),
    ],
)
def test_an_address_may_be_relative_or_absolute(data: bytes, target: str) -> None:
    assert resolve_endpoint("https://h:8443/a/sse", data) == target


@pytest.mark.parametrize(
    "data",
    [
        *(
            b"",
            b"  ",
            b"http://h:8443/m",
            b"https://h/m",
            b"https://evil.example:8443/m",
            b"//evil.example/m",
        ),
        *(b"https://h:8443@evil.example/m", b"https://evil@h:8443/m", b"https://[", b"https://h:x/m"),
        *(b"javascript:alert(1)", b"file:///etc/passwd", b"data:,x"),
    ],
)
def test_an_address_elsewhere_is_none(data: bytes) -> None:
    """The headers of a POST may hold credentials, which are for the stream's origin alone."""
    assert resolve_endpoint("https://h:8443/a/sse", data) is None


def test_a_password_in_the_address_of_the_stream_is_for_its_posts_too() -> None:
    url = "https://user:secret@h/sse"

    assert resolve_endpoint(url, b"/m") == "https://user:secret@h/m"
    assert resolve_endpoint(url, b"https://h/m") == "https://user:secret@h/m"
    assert resolve_endpoint(url, b"https://other@h/m") is None


@given(st.binary(max_size=40))
@thorough(200)
def test_no_address_raises(data: bytes) -> None:
    assert isinstance(resolve_endpoint("https://h/sse", data), str | None)
