"""POSTs of the stateless era: which are of it, which are refused and why, in which order."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from anywire.protocol.http.guard import Guard
from anywire.protocol.http.mirrored import Mirror
from anywire.protocol.http.server import Head, Reject
from anywire.protocol.http.stateless import (
    StatelessFace,
    check_call,
    check_method,
    is_stateless,
    refuse_handshake,
    status_of,
)
from anywire.wire.codec import decode
from anywire.wire.message import Message, Response, create_error_response

PREFIX = "io.modelcontextprotocol/"
VERSION = "2026-07-28"
MIRRORS = {"tool": [Mirror("mcp-param-region", ("region",)), Mirror("mcp-param-count", ("deep", "count"))]}
FACE = StatelessFace({"tools/call", "tools/list"}.__contains__, lambda name: MIRRORS.get(name, []))
ALONE = StatelessFace(FACE.serves, FACE.mirrors, alone=True)


def envelope(version: object = VERSION, **more: object) -> dict[str, object]:
    return {PREFIX + "protocolVersion": version, PREFIX + "clientCapabilities": {}, **more}


def request(method: str = "tools/call", /, meta: object = None, **members: Any) -> Message:
    params = {"_meta": envelope() if meta is None else meta, **members}
    if method == "tools/call":
        params.setdefault("name", "tool")
    raw = msgspec.json.encode({"jsonrpc": "2.0", "id": "x", "method": method, "params": params})
    return message_of(raw)


def headers(method: str = "tools/call", **changes: str | None) -> dict[str, str]:
    given: dict[str, str | None] = {
        "mcp-protocol-version": VERSION,
        "mcp-method": method,
        "mcp-name": "tool" if method == "tools/call" else None,
    }
    given |= {name.replace("_", "-"): value for name, value in changes.items()}
    return {name: value for name, value in given.items() if value is not None}


def refused(message: Message, given: dict[str, str], face: StatelessFace = FACE) -> tuple[int, int, str]:
    """The HTTP status, the code and the words."""
    verdict = check_call(given, message, face)
    assert isinstance(verdict, Reject)
    assert verdict.error.id == b'"x"'
    detail = verdict.error.detail()
    return verdict.status, detail.code, detail.message


def message_of(raw: bytes) -> Any:
    return decode(raw)


# Which era.


@pytest.mark.parametrize(
    ("version", "raw", "stateless"),
    [
        (VERSION, b'{"jsonrpc":"2.0","id":1,"method":"m"}', True),
        (VERSION, b'{"jsonrpc":"2.0","method":"m"}', True),
        (VERSION, b'{"jsonrpc":"2.0","id":1,"result":{}}', True),
        (VERSION, b"[]", False),
        (VERSION, b'[{"jsonrpc":"2.0","id":1,"method":"m"}]', False),
        (VERSION, b"{", False),
        (None, b'{"jsonrpc":"2.0","id":1,"method":"m"}', False),
        ("2025-11-25", b'{"jsonrpc":"2.0","id":1,"method":"m"}', False),
        ("v999", b'{"jsonrpc":"2.0","id":1,"method":"initialize"}', False),
    ],
)
def test_a_post_is_of_this_era_by_its_header(version: str | None, raw: bytes, stateless: bool) -> None:
    """What is no single message is of none."""
    assert is_stateless(version, message_of(raw)) is stateless


@pytest.mark.parametrize("version", [None, VERSION, "2025-11-25", "v999"])
@pytest.mark.parametrize("said", [VERSION, "v999", "2025-11-25"])
def test_a_post_is_of_this_era_by_its_body(version: str | None, said: str) -> None:
    """Whatever the header says."""
    assert is_stateless(version, request(meta=envelope(said)))


# What is served.


@pytest.mark.parametrize(
    ("message", "given"),
    [
        (request("tools/list"), headers("tools/list")),
        (request(), headers()),
        (
            request(),
            headers(mcp_name="  tool\t", mcp_method=" tools/call ", mcp_protocol_version=f" {VERSION} "),
        ),
        (request(name="é"), headers(mcp_name="=?base64?w6k=?=")),
        (request(arguments={"region": "eu"}), headers(mcp_param_region="eu")),
        (request(arguments={"region": "Hello"}), headers(mcp_param_region="=?base64?SGVsbG8=?=")),
        (request(arguments={"region": "=?base64?SGVs"}), headers(mcp_param_region="=?base64?SGVs")),
        (request(arguments={"region": ""}), headers(mcp_param_region="")),
        (request(arguments={"deep": {"count": 3}}), headers(mcp_param_count="3")),
        (request(arguments={"deep": {"count": 3}}), headers(mcp_param_count="3.0")),
        (request(arguments={"region": None}), headers()),
        (request(arguments={"other": 5}), headers(mcp_param_other="anything")),
        (message_of(b'{"jsonrpc":"2.0","method":"notifications/x"}'), {}),
    ],
)
def test_a_request_whose_headers_say_what_it_says_is_served(message: Message, given: dict[str, str]) -> None:
    """Blanks around values and other spellings of them do not matter."""
    assert check_call(given, message, FACE) is None


# What is refused.


@pytest.mark.parametrize(
    "given",
    [
        headers(mcp_protocol_version=None),
        headers(mcp_protocol_version="2025-11-25"),
        headers(mcp_method=None),
        headers(mcp_method="tools/list"),
        headers(mcp_method="TOOLS/CALL"),
        headers(mcp_name=None),
        headers(mcp_name="Tool"),
        headers(mcp_name="=?base64?dG9vbA?="),
        headers(mcp_name="=?base64?dG9!!bA==?="),
        headers(mcp_name="too\x7fl"),
    ],
)
def test_headers_that_say_something_else_are_refused(given: dict[str, str]) -> None:
    """Also those that cannot be read."""
    status, code, words = refused(request(), given)
    assert (status, code) == (400, -32020)
    assert words.startswith("Header mismatch: ")


@pytest.mark.parametrize(
    ("arguments", "given"),
    [
        ({"region": "eu"}, headers()),
        ({"region": "eu"}, headers(mcp_param_region="EU")),
        ({"region": "Hello"}, headers(mcp_param_region="=?base64?SGVsbG8?=")),
        ({"region": "Hello"}, headers(mcp_param_region="=?base64?SGVs!!!bG8=?=")),
        ({}, headers(mcp_param_region="eu")),
        ({"region": None}, headers(mcp_param_region="eu")),
        ({"deep": {"count": 3}}, headers(mcp_param_count="4")),
        ({"deep": {"count": 3}}, headers(mcp_param_count="three")),
        ({"deep": {"count": 30}}, headers(mcp_param_count="3_0")),
        ({"deep": {"count": 3}}, headers(mcp_param_count="=?base64?2aM=?=")),
        ({"deep": {"count": 3}}, headers(mcp_param_count="")),
        ({"deep": {"count": 10**400}}, headers(mcp_param_count="1e400")),
        ({"deep": {"count": True}}, headers(mcp_param_count="True")),
    ],
)
def test_a_header_that_repeats_an_argument_repeats_it(arguments: object, given: dict[str, str]) -> None:
    """It is there when the argument is, and says the same."""
    assert refused(request(arguments=arguments), given)[:2] == (400, -32020)


def test_a_response_has_no_place_here() -> None:
    """Nobody asked for one."""
    verdict = check_call(headers(), message_of(b'{"jsonrpc":"2.0","id":1,"result":{}}'), FACE)
    assert verdict is not None
    assert (verdict.status, verdict.error.detail().code) == (400, -32600)


@pytest.mark.parametrize("params", [5, [], {}, {"name": 5}])
def test_odd_params_of_a_call_are_no_fault_of_this_layer(params: Any) -> None:
    """The envelope comes first, then the headers; the handler refuses the rest."""
    raw = msgspec.json.encode({"jsonrpc": "2.0", "id": "x", "method": "tools/call", "params": params})
    assert refused(message_of(raw), headers())[:2] == (400, -32602)


def test_a_name_that_is_none_has_no_header() -> None:
    """The handler refuses it."""
    assert check_call(headers(mcp_name=None), request(name=5), FACE) is None


# One fault before another.

BOGUS = envelope("v999")
FAULTS: list[tuple[str, Message, dict[str, str], tuple[int, int]]] = [
    ("envelope before headers", request(meta={}), {}, (400, -32602)),
    ("envelope before method", request("no/such", meta={}), headers("no/such"), (400, -32602)),
    ("capabilities before version", request(meta={PREFIX + "protocolVersion": "v999"}), {}, (400, -32602)),
    ("headers before version", request(meta=BOGUS), headers(), (400, -32020)),
    ("method header before version", request(meta=BOGUS), headers(mcp_protocol_version="v999", mcp_method="x"), (400, -32020)),
    ("version before method", request("no/such", meta=BOGUS), headers("no/such", mcp_protocol_version="v999"), (400, -32022)),
    ("headers before method", request("no/such"), headers("other"), (400, -32020)),
    ("both bogus alike", request(meta=BOGUS), headers(mcp_protocol_version="v999"), (400, -32022)),
    ("method", request("no/such"), headers("no/such"), (404, -32601)),
]  # fmt: skip


@pytest.mark.parametrize(
    ("message", "given", "expected"), [fault[1:] for fault in FAULTS], ids=[fault[0] for fault in FAULTS]
)
def test_the_first_fault_is_told(message: Message, given: dict[str, str], expected: tuple[int, int]) -> None:
    """The envelope, the headers, the revision, the method."""
    assert refused(message, given)[:2] == expected


def test_a_revision_that_is_not_spoken_is_told_those_that_are() -> None:
    """As data."""
    verdict = check_call(headers(mcp_protocol_version="v999"), request(meta=BOGUS), FACE)
    assert verdict is not None
    assert b'"data":{"supported":["2026-07-28"],"requested":"v999"}' in verdict.error.error


@pytest.mark.parametrize(
    ("raw", "id"),
    [(b'{"jsonrpc":"2.0","id":"x","method":"initialize"}', b'"x"'), (b"[]", None), (b"{", None)],
)
def test_a_handshake_is_told_which_revisions_are_spoken(raw: bytes, id: bytes | None) -> None:
    """Where there are no handshakes."""
    verdict = refuse_handshake(message_of(raw))
    assert (verdict.status, verdict.error.detail().code) == (400, -32022)
    assert verdict.error.id == id or id is None


# Methods of HTTP, statuses.

LOCAL = {"host": "localhost:80"}


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
@pytest.mark.parametrize(
    ("face", "version", "status"),
    [
        (ALONE, None, 405),
        (ALONE, "2025-11-25", 405),
        (ALONE, VERSION, 405),
        (FACE, VERSION, 405),
        (FACE, None, None),
        (FACE, "2025-11-25", None),
    ],
)
def test_only_posts_are_served(
    method: str, face: StatelessFace, version: str | None, status: int | None
) -> None:
    """To clients of this era, and to all where there is no other."""
    head = Head(method, LOCAL if version is None else {**LOCAL, "mcp-protocol-version": version})
    verdict = check_method(head, Guard.for_bind("127.0.0.1"), face)
    if status is None:
        assert verdict is None
    else:
        assert verdict is not None
        assert (verdict.status, verdict.allow) == (status, "POST")


def test_strangers_are_turned_away_first() -> None:
    """Whatever they want."""
    verdict = check_method(Head("GET", {"host": "evil.example"}), Guard.for_bind("127.0.0.1"), ALONE)
    assert verdict is not None
    assert verdict.status == 421


@pytest.mark.parametrize(
    ("code", "status"), [(-32601, 404), (-32020, 400), (-32021, 400), (-32022, 400), (-32602, 200), (7, 200)]
)
def test_some_errors_have_a_status(code: int, status: int) -> None:
    """The others are answers like any."""
    assert status_of(create_error_response(None, code, "")) == status
    assert status_of(Response(b"1", b"{}")) == 200
