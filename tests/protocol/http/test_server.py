"""What a server makes of a request: for each status the requests that get it, and what is checked first."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anywire.protocol.http.guard import Guard
from anywire.protocol.http.server import (
    AnswerNow,
    Deliver,
    EndSession,
    Head,
    OpenSession,
    OpenStream,
    ReadBody,
    Reject,
    check_head,
    read_post,
    reject,
    too_large,
    too_many_sessions,
    unknown_session,
)
from anywire.protocol.revisions import MCP_PROTOCOL_VERSIONS
from anywire.wire.codec import decode, encode
from anywire.wire.limits import Limits
from anywire.wire.message import Batch, ErrorResponse, Message, Notification, Request, Response
from tests.wire.strategies import envelopes, mutations, thorough

GUARD = Guard.for_bind("127.0.0.1")
BOTH = "application/json, text/event-stream"
USUAL = {"host": "localhost:8000", "content-type": "application/json", "accept": BOTH, "mcp-session-id": "s"}
LATEST = {"mcp-protocol-version": "2025-11-25"}
WITHOUT = "(left out)"  # instead of a header's value


def head(method: str = "POST", headers: Mapping[str, str] | None = None) -> Head:
    """A request as clients send it, with some headers changed or left out."""
    merged = {**USUAL, **(headers or {})}
    return Head(method, {name: value for name, value in merged.items() if value != WITHOUT})


def check(method: str, headers: Mapping[str, str] | None = None) -> object:
    """What a server bound to loopback makes of the head."""
    return check_head(head(method, headers), GUARD)


def read(body: bytes, headers: Mapping[str, str] | None = None, limits: Limits | None = None) -> object:
    """What a server that has two methods makes of a body."""
    served = {"ping", "tools/call"}
    sent = head("POST", headers)
    checked = check_head(sent, GUARD)
    assert isinstance(checked, ReadBody)
    return read_post(checked, sent.session_id or "", decode(body, limits or Limits()), served.__contains__)


def refused(verdict: object, status: int) -> dict[str, Any]:
    """The body of a refusal with that status, which is a JSON-RPC error."""
    assert isinstance(verdict, Reject)
    assert verdict.status == status
    body: dict[str, Any] = json.loads(encode(verdict.error))
    assert body["jsonrpc"] == "2.0"
    assert body["error"]["message"]
    return body


def request(method: str, id: str = "1") -> bytes:
    """A request's body."""
    return b'{"jsonrpc":"2.0","id":%b,"method":"%b"}' % (id.encode(), method.encode())


# The head: what goes on.


def test_a_post_goes_on() -> None:
    assert check("POST") == ReadBody(json=True, stream=True, prime=False, batch=True, refusal=None)


@pytest.mark.parametrize(
    ("accept", "json", "stream"),
    [
        (BOTH, True, True),
        (WITHOUT, True, True),
        ("*/*", True, True),
        ("application/json", True, False),
        ("text/event-stream", False, True),
        ("text/event-stream;q=0, */*", True, False),
        ("application/*", True, False),
    ],
)
def test_a_post_says_which_replies_it_can_read(accept: str, json: bool, stream: bool) -> None:
    assert check("POST", {"accept": accept}) == ReadBody(json, stream, prime=False, batch=True, refusal=None)


@pytest.mark.parametrize(
    "content", ["application/json", "Application/JSON; charset=UTF-8", "application/json;"]
)
def test_a_post_carries_json(content: str) -> None:
    assert isinstance(check("POST", {"content-type": content}), ReadBody)


def test_a_get_opens_the_stream_of_its_session() -> None:
    assert check("GET", {"accept": "text/event-stream"}) == OpenStream("s", None, prime=False)


def test_a_get_may_go_on_behind_an_event() -> None:
    assert check("GET", {"last-event-id": "g_7"}) == OpenStream("s", "g_7", prime=False)


def test_a_get_needs_no_content_type() -> None:
    assert isinstance(check("GET", {"content-type": WITHOUT}), OpenStream)


def test_a_delete_ends_its_session() -> None:
    assert check("DELETE", {"accept": WITHOUT, "content-type": WITHOUT}) == EndSession("s")


@pytest.mark.parametrize("method", ["POST", "GET"])
@pytest.mark.parametrize(
    ("version", "primed"),
    [
        (WITHOUT, False),
        ("2024-11-05", False),
        ("2025-03-26", False),
        ("2025-06-18", False),
        ("2025-11-25", True),
    ],
)
def test_streams_are_primed_for_those_who_know_it(method: str, version: str, primed: bool) -> None:
    """Older clients take an event without data for a message."""
    verdict = check(method, {"mcp-protocol-version": version})

    assert isinstance(verdict, ReadBody | OpenStream)
    assert verdict.prime is primed


@pytest.mark.parametrize("version", ["2026-07-28", "9999-01-01", "zzz", "2025-11-25, 2025-11-25"])
def test_nothing_is_primed_for_those_who_speak_something_else(version: str) -> None:
    """The version of a POST is looked at with its body, as `initialize` may name any."""
    verdict = check("POST", {"mcp-protocol-version": version})

    assert isinstance(verdict, ReadBody)
    assert not verdict.prime


# The head: refusals.


@pytest.mark.parametrize("method", ["PUT", "PATCH", "HEAD", "OPTIONS", "TRACE", "get", "", "\x00"])
def test_405_for_other_methods_names_the_methods_there_are(method: str) -> None:
    verdict = check(method)

    refused(verdict, 405)
    assert isinstance(verdict, Reject)
    assert verdict.allow == "GET, POST, DELETE"


@pytest.mark.parametrize("method", ["POST", "GET", "DELETE", "PUT"])
@pytest.mark.parametrize("host", ["evil.example", "evil.example:8000", WITHOUT])
def test_421_for_hosts_of_other_names(method: str, host: str) -> None:
    body = refused(check(method, {"host": host}), 421)

    assert "host" in body["error"]["message"]


@pytest.mark.parametrize("method", ["POST", "GET", "DELETE", "PUT"])
@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://[", "http://localhost@evil.example"]
)
def test_403_for_pages_of_elsewhere(method: str, origin: str) -> None:
    body = refused(check(method, {"origin": origin}), 403)

    assert "may not use this server" in body["error"]["message"]


@pytest.mark.parametrize("method", ["POST", "GET", "DELETE"])
def test_pages_of_this_machine_are_let_in(method: str) -> None:
    assert not isinstance(check(method, {"origin": "http://localhost:6274"}), Reject)


@pytest.mark.parametrize(
    "content",
    [
        *(WITHOUT, " ", "text/plain", "text/plain;application/json", "multipart/form-data", "text/json"),
        *("application/x-www-form-urlencoded", "application/jsonp", "application/json, text/plain", "json"),
    ],
)
def test_415_for_bodies_of_another_type(content: str) -> None:
    """A form of a web page, which needs nobody's leave to be sent, is among them."""
    body = refused(check("POST", {"content-type": content}), 415)

    assert "application/json" in body["error"]["message"]


@pytest.mark.parametrize(
    "accept", ["text/html", "application/json;q=0, text/event-stream;q=0", "*/*;q=0", "x"]
)
def test_406_for_clients_that_can_read_neither_reply(accept: str) -> None:
    body = refused(check("POST", {"accept": accept}), 406)

    assert accept in body["error"]["message"]


@pytest.mark.parametrize("accept", ["application/json", "text/html", "text/event-stream;q=0, */*"])
def test_406_for_clients_that_cannot_read_a_stream(accept: str) -> None:
    body = refused(check("GET", {"accept": accept}), 406)

    assert accept in body["error"]["message"]


@pytest.mark.parametrize("accept", [WITHOUT, "*/*", "text/*", BOTH])
def test_a_stream_may_be_accepted_in_other_words(accept: str) -> None:
    assert isinstance(check("GET", {"accept": accept}), OpenStream)


@pytest.mark.parametrize("method", ["GET", "DELETE"])
@pytest.mark.parametrize("session_id", [WITHOUT, ""])
def test_400_for_what_needs_a_session_and_names_none(method: str, session_id: str) -> None:
    body = refused(check(method, {"mcp-session-id": session_id}), 400)

    assert "initialize" in body["error"]["message"]


BAD_VERSIONS = ["2026-07-28", "1999-01-01", "2025-11-25, 2025-11-25", "latest", "2025-06-18 "]


@pytest.mark.parametrize("method", ["GET", "DELETE"])
@pytest.mark.parametrize("version", BAD_VERSIONS)
def test_400_for_versions_that_are_not_spoken(method: str, version: str) -> None:
    body = refused(check(method, {"mcp-protocol-version": version}), 400)

    assert repr(version) in body["error"]["message"]
    assert all(spoken in body["error"]["message"] for spoken in MCP_PROTOCOL_VERSIONS)


@pytest.mark.parametrize("method", ["GET", "DELETE"])
@pytest.mark.parametrize("version", [WITHOUT, *MCP_PROTOCOL_VERSIONS])
def test_versions_that_are_spoken_go_on(method: str, version: str) -> None:
    assert isinstance(check(method, {"mcp-protocol-version": version}), OpenStream | EndSession)


# The head: the order.

WRONG = {
    421: {"host": "evil.example"},
    403: {"origin": "https://evil.example"},
    415: {"content-type": "text/plain"},
    406: {"accept": "text/html"},
    400: {"mcp-protocol-version": "x", "mcp-session-id": WITHOUT},
}


@pytest.mark.parametrize(
    ("method", "order"),
    [
        ("PUT", [421, 403, 405]),
        ("POST", [421, 403, 415, 406]),
        ("GET", [421, 403, 406, 400]),
        ("DELETE", [421, 403, 400]),
    ],
)
def test_of_several_wrongs_the_first_is_told(method: str, order: list[int]) -> None:
    """Strangers learn nothing of the server; everybody else learns first what is simplest to mend."""
    for at, status in enumerate(order):
        headers = {name: value for wrong in order[at:] for name, value in WRONG.get(wrong, {}).items()}
        refused(check(method, headers), status)


def test_a_wrong_version_is_told_before_a_missing_session() -> None:
    wrong = {"mcp-protocol-version": "x", "mcp-session-id": WITHOUT}

    assert "version" in refused(check("GET", wrong), 400)["error"]["message"]
    assert "version" in refused(check("DELETE", wrong), 400)["error"]["message"]
    assert "version" in refused(read(request("ping"), wrong), 400)["error"]["message"]


# The body: what goes on.


def test_a_request_is_delivered_and_wants_its_reply() -> None:
    assert read(request("tools/call")) == Deliver(Request(b"1", "tools/call"), replies=True)


@pytest.mark.parametrize("version", [WITHOUT, *MCP_PROTOCOL_VERSIONS])
def test_a_request_of_any_revision_is_delivered(version: str) -> None:
    assert isinstance(read(request("ping"), {"mcp-protocol-version": version}), Deliver)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            b'{"jsonrpc":"2.0","method":"notifications/initialized"}',
            Notification("notifications/initialized"),
        ),
        (b'{"jsonrpc":"2.0","method":"unheard/of"}', Notification("unheard/of")),
        (b'{"jsonrpc":"2.0","id":1,"result":{}}', Response(b"1", b"{}")),
        (
            b'{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":""}}',
            ErrorResponse(b"1", b'{"code":1,"message":""}'),
        ),
        (b'{"jsonrpc":"2.0","id":null,"error":{}}', ErrorResponse(b"null", b"{}")),
    ],
)
def test_notifications_and_responses_are_delivered_and_want_no_reply(body: bytes, message: Message) -> None:
    """They are answered with 202 and nothing else."""
    verdict = read(body, LATEST)

    assert verdict == Deliver(message, replies=False)


@pytest.mark.parametrize("session_id", ["s", WITHOUT])
@pytest.mark.parametrize("version", [WITHOUT, *MCP_PROTOCOL_VERSIONS, *BAD_VERSIONS])
def test_initialize_opens_a_session_whatever_its_headers_say(version: str, session_id: str) -> None:
    """The version is what it is about, and a client that starts over may still send its old session."""
    verdict = read(request("initialize"), {"mcp-protocol-version": version, "mcp-session-id": session_id})

    assert verdict == OpenSession(Request(b"1", "initialize"))


def test_initialize_as_a_notification_opens_nothing() -> None:
    body = b'{"jsonrpc":"2.0","method":"initialize"}'

    assert isinstance(read(body), Deliver)
    refused(read(body, {"mcp-session-id": WITHOUT}), 400)


@pytest.mark.parametrize("id", ["1", '"a"', "1.0", "9007199254740993"])
@pytest.mark.parametrize("session_id", ["s", WITHOUT])
@pytest.mark.parametrize("version", [WITHOUT, "2025-11-25", "2026-07-28", "x"])
def test_a_method_that_there_is_not_is_told_before_anything_else(
    version: str, session_id: str, id: str
) -> None:
    """So a newer client that probes with `server/discover` learns what it has met."""
    verdict = read(
        request("server/discover", id), {"mcp-protocol-version": version, "mcp-session-id": session_id}
    )

    assert isinstance(verdict, AnswerNow)
    assert verdict.error.id == id.encode()
    assert verdict.error.detail().code == -32601
    assert "server/discover" in verdict.error.detail().message


def test_a_method_is_found_by_its_exact_name() -> None:
    assert isinstance(read(request("Ping")), AnswerNow)
    assert isinstance(read(b'{"jsonrpc":"2.0","id":1,"method":"\\u0070ing"}'), Deliver)


# The body: batches.

BATCH = b'[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"x"}]'


@pytest.mark.parametrize("version", [WITHOUT, "2025-03-26"])
def test_a_batch_is_part_of_one_revision(version: str) -> None:
    """It is the one that is taken for granted where none is named."""
    verdict = read(BATCH, {"mcp-protocol-version": version})

    assert isinstance(verdict, Deliver)
    assert isinstance(verdict.message, Batch)
    assert verdict.replies


@pytest.mark.parametrize("version", ["2025-11-25", "2025-06-18", "2024-11-05"])
def test_400_for_batches_of_other_revisions(version: str) -> None:
    body = refused(read(BATCH, {"mcp-protocol-version": version}), 400)

    assert "2025-03-26" in body["error"]["message"]


def test_a_batch_needs_a_session() -> None:
    """Even one with an `initialize` in it, which must stand alone."""
    batch = b"[" + request("initialize") + b"]"

    refused(read(batch, {"mcp-session-id": WITHOUT}), 400)
    assert isinstance(read(batch), Deliver)


@pytest.mark.parametrize(
    ("batch", "replies"),
    [
        (b'[{"jsonrpc":"2.0","method":"x"},{"jsonrpc":"2.0","method":"y"}]', False),
        (b'[{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","id":2,"error":{}}]', False),
        (b'[{"jsonrpc":"2.0","method":"x"},{"jsonrpc":"2.0","id":1,"method":"nothing/like/it"}]', True),
        (b"[1]", True),
        (b'[{"id":1,"method":"x"}]', True),
        (b'[{"id":1,"result":{}}]', False),
    ],
)
def test_a_batch_wants_replies_if_something_in_it_does(batch: bytes, replies: bool) -> None:
    """What is no message wants one too, unless it was to be a reply."""
    verdict = read(batch)

    assert isinstance(verdict, Deliver)
    assert verdict.replies is replies


def test_400_for_batches_that_are_none() -> None:
    refused(read(b"[]"), 400)
    refused(read(b"[" + b"1," * 20 + b"1]", limits=Limits(batch_messages=20)), 400)


# The body: refusals.


@pytest.mark.parametrize(
    ("body", "code", "id"),
    [
        (b"", -32700, None),
        (b"nope", -32700, None),
        (b"\xff", -32700, None),
        (b'{"jsonrpc":"2.0","id":7,"method":"ping"', -32700, 7),
        (b'{"jsonrpc":"2.0","id":"a","method":"ping","params":{]}', -32700, "a"),
        (b"7", -32600, None),
        (b"null", -32600, None),
        (b"{}", -32600, None),
        (b'{"id":7,"method":"ping"}', -32600, 7),
        (b'{"jsonrpc":"2.0","id":7,"method":""}', -32600, 7),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":7,"id":8,"method":"ping"}', -32600, None),
    ],
)
def test_400_for_what_is_no_message_names_its_id_if_it_can(body: bytes, code: int, id: object) -> None:
    told = refused(read(body), 400)

    assert told["error"]["code"] == code
    assert told["id"] == id


@pytest.mark.parametrize(
    ("body", "code"),
    [(b'{"id":7,"result":{}}', -32600), (b'{"jsonrpc":"2.0","id":7,"result":{', -32700)],
)
def test_400_for_a_reply_that_cannot_be_read_answers_nothing(body: bytes, code: int) -> None:
    """The id in it is one of the server's own."""
    told = refused(read(body), 400)

    assert told["error"]["code"] == code
    assert told["id"] is None


def test_400_for_what_nests_too_deeply() -> None:
    refused(read(b"[" * 1000 + b"]" * 1000), 400)


@pytest.mark.parametrize("body", [b"nope", b"{}", b'{"id":7,"method":"ping"}'])
def test_what_is_no_message_is_told_before_version_and_session(body: bytes) -> None:
    told = refused(read(body, {"mcp-protocol-version": "x", "mcp-session-id": WITHOUT}), 400)

    assert told["error"]["message"].startswith(("Parse error", "Invalid Request"))


@pytest.mark.parametrize(
    "body",
    [
        request("ping"),
        b'{"jsonrpc":"2.0","method":"notifications/initialized"}',
        b'{"jsonrpc":"2.0","id":1,"result":{}}',
    ],
)
def test_400_for_messages_without_a_session(body: bytes) -> None:
    told = refused(read(body, {"mcp-session-id": WITHOUT}), 400)

    assert "initialize" in told["error"]["message"]


@pytest.mark.parametrize("version", BAD_VERSIONS)
def test_400_for_messages_of_a_version_that_is_not_spoken(version: str) -> None:
    told = refused(read(request("ping"), {"mcp-protocol-version": version}), 400)

    assert repr(version) in told["error"]["message"]


# What is decided where sessions and bodies are held.


@pytest.mark.parametrize(
    ("verdict", "status", "word"),
    [
        (unknown_session(), 404, "initialize"),
        (too_large(4096), 413, "4096"),
        (too_many_sessions(), 503, "later"),
        (reject(405, "no", allow="GET"), 405, "no"),
    ],
)
def test_each_refusal_says_what_to_do(verdict: Reject, status: int, word: str) -> None:
    assert word in refused(verdict, status)["error"]["message"]


# Anything.

header_values = st.one_of(
    st.sampled_from(
        [*BAD_VERSIONS, *MCP_PROTOCOL_VERSIONS, BOTH, "application/json", "localhost", "*/*", "s", ""]
    ),
    st.text(st.characters(max_codepoint=255), max_size=20),
)
header_names = st.sampled_from(
    [*USUAL, "origin", "mcp-protocol-version", "last-event-id", "content-length", "x-unknown"]
)
bodies = st.one_of(envelopes(), mutations(), st.binary(max_size=30))


@given(
    st.sampled_from(["GET", "POST", "DELETE", "OPTIONS"]),
    st.dictionaries(header_names, header_values, max_size=6),
    bodies,
)
@thorough(200)
def test_no_request_raises(method: str, headers: dict[str, str], body: bytes) -> None:
    """And every refusal can be written as JSON."""
    verdict = check_head(Head(method, {**USUAL, **headers}), GUARD)
    posted = None
    if isinstance(verdict, ReadBody):
        posted = read_post(verdict, headers.get("mcp-session-id", ""), decode(body, Limits()), bool)

    for each in (verdict, posted):
        if isinstance(each, Reject):
            assert 400 <= each.status < 500
            assert json.loads(encode(each.error))["error"]["message"]
