"""What is left out of a recording, and that nothing else is changed."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anywire.record.secrets import STAND_IN, Secrets

SECRET = "hunter2-s3cret"
KNOWN = "Bearer kn0wn/thing"


def hidden(said: Any, *known: str) -> Any:
    """What stands in the recording of something."""
    return json.loads(Secrets(b"key", known).hide(json.dumps(said).encode()))


@pytest.mark.parametrize(
    "said",
    [
        {"params": {"arguments": {"password": SECRET}}},
        {"params": {"arguments": {"API-Key": SECRET, "apiKey": {"value": [SECRET, {"of": SECRET}]}}}},
        {"params": {"_meta": {"headers": {"Authorization": f"Bearer {SECRET}", "Mcp-Session-Id": SECRET}}}},
        {"result": {"resultType": "input_required", "requestState": SECRET}},
        {"result": {"content": [{"type": "text", "text": f"Authorization: Bearer {SECRET}\nnext"}]}},
        {"result": {"content": [{"type": "text", "text": json.dumps({"token": SECRET})}]}},
        {"result": {"content": [{"type": "text", "text": f"run --token {SECRET} or API_KEY={SECRET}"}]}},
        {"result": {"uri": f"https://user:{SECRET}@host.example/?access_token={SECRET}"}},
        {"error": {"code": 1, "message": f"wrong password: {SECRET}"}},
        {"params": {"t\u006fken": SECRET, "\u0070assword": SECRET}},
    ],
)
def test_a_secret_is_found_by_the_words_beside_it(said: Any) -> None:
    """In members and in texts, in any of the usual spellings."""
    assert SECRET not in json.dumps(hidden(said))


def test_what_was_given_is_left_out_wherever_it_stands() -> None:
    """A header, and what is behind its scheme; however JSON spells it; numbers, too."""
    said = {
        "id": 123456,
        "method": "tools/call",
        "params": {"echo": "say kn0wn/thing!", "n": 123456, "é": 'a"né\\w', "not": "\nabcdef"},
    }
    left = hidden(said, KNOWN, "123456", 'a"né\\w', "nabcdef", "tools/call")

    assert (left["id"], left["method"], left["params"]["not"]) == (123456, "tools/call", "\nabcdef")
    assert left["params"]["echo"].startswith("say ***")
    assert [STAND_IN.fullmatch(left["params"][name].encode()) is not None for name in ("n", "é")] == [
        True
    ] * 2


def test_what_was_found_once_is_left_out_from_then_on() -> None:
    """A tool may repeat what it was given, in the same message or in a later one; words may go on."""
    secrets = Secrets(b"key")
    told = secrets.hide(
        json.dumps(
            {"params": {"note": f"it is {SECRET}", "password": SECRET, "token": "production"}}
        ).encode()
    )
    later = secrets.hide(json.dumps({"result": {"text": f"{SECRET} in production"}}).encode())

    assert SECRET.encode() not in told + later
    assert later.endswith(b' in production"}}')


def test_what_is_no_secret_stays_byte_for_byte() -> None:
    """Words that only look like one, numbers, schemas, white space."""
    said = (
        b'{ "id":1.0, "params":{"_meta":{"progressToken":12345678}, "maxTokens":100,"key":"c minor",'
        b'"inputSchema":{"properties":{"password":{"type":"string"}}},"text":"1e3 tokens \\u00e9"}}'
    )
    assert Secrets(b"key").hide(said) == said


def test_the_same_secret_is_the_same_word_in_one_recording() -> None:
    """So rounds that are joined by a state can still be joined, and nobody can try words out."""
    one, other = Secrets(b"one"), Secrets(b"other")
    said = b'{"requestState":"abc"}'

    assert one.hide(said) == one.hide(said) != other.hide(said)
    assert one.hide(one.hide(said)) == one.hide(said)


WORDS = [*'ab"\\\n:=/{}é🙂 ', "token", "Bearer ", "password=", "://"]
TEXTS = st.lists(st.sampled_from(WORDS), max_size=8).map("".join)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


@given(VALUES, st.lists(TEXTS, max_size=2))
def test_what_is_left_is_json_of_the_same_shape(value: Any, known: list[str]) -> None:
    """Whatever was in it."""
    left = hidden({"params": value}, *known)["params"]

    assert shape(left) == shape(value)


def shape(value: Any) -> Any:
    """A value without its texts and numbers."""
    match value:
        case dict():
            members = cast("dict[str, Any]", value)
            return {name: shape(member) for name, member in members.items()}
        case list():
            return [shape(item) for item in cast("list[Any]", value)]
        case _:
            return value if value is None or isinstance(value, bool) else "a value"
