"""What requests of the stateless era say of themselves, and what results say then."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anywire.protocol.modern import (
    LATEST_STATELESS_REVISION,
    STATELESS_REVISIONS,
    Envelope,
    EnvelopeFault,
    ResultFrame,
    claims_stateless,
    code_of,
    discover_result,
    envelope_of,
    read_envelope,
    tag_subscription,
    unsupported_version,
    write_envelope,
)
from anywire.protocol.types.initialize import Implementation
from anywire.protocol.types.logging import LOG_LEVELS

PREFIX = "io.modelcontextprotocol/"
VERSION = PREFIX + "protocolVersion"
CAPABILITIES = PREFIX + "clientCapabilities"
CLIENT = PREFIX + "clientInfo"
LEVEL = PREFIX + "logLevel"
SERVER = PREFIX + "serverInfo"
SUBSCRIPTION = PREFIX + "subscriptionId"

FRAME = ResultFrame(Implementation("s", "1"))
SIGNED = {SERVER: {"name": "s", "version": "1"}}

values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
names = st.text().filter(lambda name: not name.startswith(PREFIX) and name != "_meta")
objects = st.dictionaries(names, values, max_size=3)
spaces = st.sampled_from([None, 2])
levels = st.sampled_from(LOG_LEVELS)


def params(meta: object, **more: object) -> bytes:
    return msgspec.json.encode({"_meta": meta, **more})


def fault(raw: bytes | None) -> EnvelopeFault:
    read = read_envelope(raw)
    assert isinstance(read, EnvelopeFault), read
    return read


# Envelopes.


@given(
    members=objects,
    meta=st.none() | objects,
    client=st.fixed_dictionaries({"name": st.text(), "version": st.text()}),
    level=st.none() | levels,
    indent=spaces,
)
def test_what_was_written_is_read(
    members: dict[str, Any],
    meta: dict[str, Any] | None,
    client: dict[str, str],
    level: Any,
    indent: int | None,
) -> None:
    """Whatever the params were, and they stay what they were."""
    given = members if meta is None else {**members, "_meta": meta}
    raw = json.dumps(given, indent=indent).encode()
    written = write_envelope(raw, "2026-07-28", b'{"roots":{}}', json.dumps(client).encode(), level)

    assert claims_stateless(written)
    read = read_envelope(written)
    assert isinstance(read, Envelope)
    assert read.revision == "2026-07-28"
    assert read.client_info == Implementation(client["name"], client["version"])
    assert read.client_capabilities.roots is not msgspec.UNSET
    assert read.log_level == level
    back = json.loads(written)
    said = {key: value for key, value in back.pop("_meta").items() if not key.startswith(PREFIX)}
    assert back == members
    assert said == (meta or {})


def test_what_was_said_before_is_replaced() -> None:
    """No member stands twice: two readers could read two things."""
    before = params({VERSION: "old", LEVEL: "debug", "x": 1, CLIENT: None})
    written = write_envelope(before, "2026-07-28", b"{}", b'{"name":"c","version":"2"}', "error")
    pairs = json.loads(written, object_pairs_hook=list)
    ((_, meta),) = pairs
    assert sorted(name for name, _ in meta) == sorted([VERSION, CAPABILITIES, CLIENT, LEVEL, "x"])
    read = read_envelope(written)
    assert isinstance(read, Envelope)
    assert (read.client_info, read.log_level) == (Implementation("c", "2"), "error")


@pytest.mark.parametrize("raw", [None, b"{}", b"{ }", b'{"_meta":null}', b'{"_meta":5}', b'{"_meta": { } }'])
def test_params_without_metadata_get_some(raw: bytes | None) -> None:
    """And are one JSON object again."""
    written = write_envelope(raw, "2026-07-28", b"{}", b'{"name":"c","version":"2"}')
    assert set(json.loads(written)["_meta"]) == {VERSION, CAPABILITIES, CLIENT}


@pytest.mark.parametrize(
    ("raw", "missing"),
    [
        (None, VERSION),
        (b"{}", VERSION),
        (b"[]", VERSION),
        (b"5", VERSION),
        (b"{", VERSION),
        (params(None), VERSION),
        (params([]), VERSION),
        (params({}), VERSION),
        (params({CAPABILITIES: {}}), VERSION),
        (params({VERSION: 5, CAPABILITIES: {}}), VERSION),
        (params({VERSION: None, CAPABILITIES: {}}), VERSION),
        (params({VERSION: "2026-07-28"}), CAPABILITIES),
        (params({VERSION: "2026-07-28", CAPABILITIES: []}), CAPABILITIES),
        (params({VERSION: "v999", CAPABILITIES: 5}), CAPABILITIES),
    ],
)
def test_what_is_missing_is_named(raw: bytes | None, missing: str) -> None:
    """Before the revision is looked at."""
    read = fault(raw)
    assert (read.code, read.data) == (-32602, None)
    assert missing in read.message


@pytest.mark.parametrize("asked", ["v999.0.0", "2025-11-25", ""])
def test_a_revision_that_is_not_spoken_is_told_those_that_are(asked: str) -> None:
    """Of this era alone."""
    read = fault(params({VERSION: asked, CAPABILITIES: {}}))
    assert read == unsupported_version(asked)
    assert read.code == -32022
    assert read.data == {"supported": list(STATELESS_REVISIONS), "requested": asked}
    assert LATEST_STATELESS_REVISION == STATELESS_REVISIONS[0] == "2026-07-28"


def test_who_the_client_is_and_its_level_may_be_left_out() -> None:
    """A client without a name is nameless; one without a level wants no messages."""
    read = read_envelope(params({VERSION: "2026-07-28", CAPABILITIES: {}}))
    assert isinstance(read, Envelope)
    assert read.client_info == Implementation()
    assert read.log_level is None


@given(st.binary() | values.map(msgspec.json.encode))
def test_no_params_raise(raw: bytes) -> None:
    """An envelope or a fault."""
    assert isinstance(read_envelope(raw), Envelope | EnvelopeFault)


@pytest.mark.parametrize(
    ("raw", "claims"),
    [
        (None, False),
        (b"{}", False),
        (b'{"_meta":{"progressToken":1}}', False),
        (params({"x": VERSION}), False),
        (params({}, **{VERSION: "2026-07-28"}), False),
        (params({"deep": {VERSION: "2026-07-28"}}), False),
        (params({VERSION: "2026-07-28"}), True),
        (params({VERSION: "v999"}), True),
        (params({VERSION: None}), True),
        (params({VERSION: "2026-07-28"}).replace(b"/", rb"\/"), True),
        (b'{ "_meta" : { "%b" : "2026-07-28" } }' % VERSION.encode(), True),
    ],
)
def test_a_request_is_of_this_era_when_it_names_a_revision(raw: bytes | None, claims: bool) -> None:
    """In its metadata, however it is spelled; whichever it is.  What it says is the same in one step."""
    assert claims_stateless(raw) is claims
    assert envelope_of(raw) == (read_envelope(raw) if claims else None)


def test_what_is_longer_than_is_remembered_is_read_all_the_same() -> None:
    raw = params({VERSION: "2026-07-28", CAPABILITIES: {"experimental": {"x": {"y": "z" * 5_000}}}})

    for _ in range(2):
        assert isinstance(envelope_of(raw), Envelope)


# Results.


@given(result=objects, meta=st.none() | objects, ttl=st.none() | st.integers(0, 2**31), indent=spaces)
def test_every_result_says_what_it_is_and_who_gave_it(
    result: dict[str, Any], meta: dict[str, Any] | None, ttl: int | None, indent: int | None
) -> None:
    """And is otherwise what it was."""
    result = {key: value for key, value in result.items() if key not in ("resultType", "ttlMs", "cacheScope")}
    given = result if meta is None else {**result, "_meta": meta}
    framed = json.loads(FRAME.complete(json.dumps(given, indent=indent).encode(), ttl, "public"))

    fresh = {} if ttl is None else {"ttlMs": ttl, "cacheScope": "public"}
    assert framed == {**result, **fresh, "resultType": "complete", "_meta": {**(meta or {}), **SIGNED}}


@pytest.mark.parametrize(
    ("result", "framed"),
    [
        ({}, {"resultType": "complete", "_meta": SIGNED}),
        ({"a": '"resultType"'}, {"a": '"resultType"', "resultType": "complete", "_meta": SIGNED}),
        ({"a": {"resultType": "x"}}, {"a": {"resultType": "x"}, "resultType": "complete", "_meta": SIGNED}),
        ({"a": {"_meta": {}}}, {"a": {"_meta": {}}, "resultType": "complete", "_meta": SIGNED}),
        ({"resultType": "input_required"}, {"resultType": "input_required", "_meta": SIGNED}),
        (
            {"resultType": "task", "_meta": {"x": 1}},
            {"resultType": "task", "_meta": {"x": 1, **SIGNED}},
        ),
        (
            {"_meta": {SERVER: {"name": "other"}}},
            {"resultType": "complete", "_meta": {SERVER: {"name": "other"}}},
        ),
        ({"_meta": None}, {"resultType": "complete", "_meta": None}),
    ],
)
def test_what_a_result_says_of_itself_stays(result: dict[str, Any], framed: dict[str, Any]) -> None:
    """Only what it does not say is added, once."""
    raw = FRAME.complete(json.dumps(result).encode())
    assert json.loads(raw) == framed
    top = [name for name, _ in json.loads(raw, object_pairs_hook=list)]
    assert len(top) == len(set(top))


def test_a_result_that_asks_first_is_not_kept() -> None:
    """There is nothing yet to keep."""
    raw = FRAME.complete(b'{"resultType":"input_required"}', 1000, "public")
    assert set(json.loads(raw)) == {"resultType", "_meta"}


def test_a_server_tells_what_it_can_do() -> None:
    """With instructions where there are some."""
    told = json.loads(discover_result(b'{"tools":{}}', "Buy."))
    assert told["supportedVersions"] == list(STATELESS_REVISIONS)
    assert (told["capabilities"], told["instructions"]) == ({"tools": {}}, "Buy.")
    assert "instructions" not in json.loads(discover_result(b"{}", None))


def test_codes_of_the_handshake_era_are_not_used() -> None:
    """A missing resource is an invalid parameter; all others are what they were."""
    assert code_of(-32002) == -32602
    assert [code_of(code) for code in (-32601, -32603, 7, 0)] == [-32601, -32603, 7, 0]


@pytest.mark.parametrize("id", [b"1", b'"x"', b"9007199254740993", rb'"\u00e9"'])
def test_a_notification_says_whose_it_is(id: bytes) -> None:
    """By the id of the subscription, as it was written."""
    raw = tag_subscription({"uri": "a://b"}, id)
    assert raw == b'{"_meta":{"%b":%b},"uri":"a://b"}' % (SUBSCRIPTION.encode(), id)
