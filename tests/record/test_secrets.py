"""What is left out of a recording, and that nothing else is changed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anywire.record.secrets import STAND_IN, Secrets

SECRET = "hunter2-s3cret"
KNOWN = "Bearer kn0wn/thing"
VECTORS = Path(__file__).resolve().parents[1] / "vectors"


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
    assert left["params"]["n"] == 0
    assert STAND_IN.fullmatch(left["params"]["é"].encode())


def test_what_was_found_once_is_left_out_from_then_on() -> None:
    """A tool may repeat what it was given, in the same message or in a later one."""
    secrets = Secrets(b"key")
    told = secrets.hide(
        json.dumps(
            {"params": {"note": f"it is {SECRET}", "password": SECRET, "token": "production"}}
        ).encode()
    )
    later = secrets.hide(json.dumps({"result": {"text": f"{SECRET} in production"}}).encode())

    assert SECRET.encode() not in told + later
    assert STAND_IN.sub(b"***", later).endswith(b'"*** in ***"}}')


def test_what_is_no_secret_stays_byte_for_byte() -> None:
    """Words that only look like one, numbers, schemas, white space, null."""
    said = (
        b'{ "id":1.0, "params":{"_meta":{"progressToken":12345678}, "maxTokens":100,"key":"c minor",'
        b'"inputSchema":{"properties":{"password":{"type":"string"}}},"text":"1e3 tokens \\u00e9",'
        b'"password_min_length":8,"session_idle_seconds":600,"token_usage":{"input":12},"password":null,'
        b'"hasToken":true,"tokenizer":"cl100k"}}'
    )
    assert Secrets(b"key").hide(said) == said


def text_vectors() -> list[tuple[str, str]]:
    """Texts, and what is left of them."""
    text = (VECTORS / "secrets.txt").read_text(encoding="utf-8").replace("⇥", "\t")
    pairs = [each.split("\n") for each in text.split("\n\n") if not each.startswith("#")]
    return [(one.replace("⏎", "\n"), other.replace("⏎", "\n")) for one, other, *_ in pairs]


@pytest.mark.parametrize(("text", "left"), text_vectors())
def test_what_is_left_of_a_text(text: str, left: str) -> None:
    """Alone, as in noise, and in a message, where it may stand in JSON in JSON."""
    for depth in range(4):
        said: Any = text
        for _ in range(depth):
            said = json.dumps({"in": said})
        told = Secrets(b"key").hide_text(said)
        for _ in range(depth):
            told = json.loads(told)["in"]
        assert STAND_IN.sub(b"***", told.encode()).decode() == left
    assert "s3cret" not in json.dumps(hidden({"params": [text]}))


@pytest.mark.parametrize(
    "secret",
    [
        *(
            "hunter2",
            "81726354",
            "pässwörd",
            'a"b\\c/d',
            "пароль",
            "x" * 60_000 + "7",
            "\x01\x02\x03\x04",
            "🔑🔑🔑🔑",
        ),
        "tab\tand\nline",
    ],
)
@pytest.mark.parametrize("ascii", [True, False])
def test_what_was_found_is_known_however_it_is_spelled_and_however_long_it_is(
    secret: str, ascii: bool
) -> None:
    """In a text, in JSON in a text, as a number; found by the name of a member."""
    secrets = Secrets(b"key")
    secrets.hide(json.dumps({"params": {"password": secret}}).encode())
    inner = json.dumps({"in": json.dumps({"of": f"got {secret}."}, ensure_ascii=ascii)}, ensure_ascii=ascii)
    said = json.dumps({"result": {"a": f"it is {secret}!", "b": inner}}, ensure_ascii=ascii).encode()

    left = json.loads(secrets.hide(said))["result"]

    assert secret not in left["a"] + json.loads(json.loads(left["b"])["in"])["of"]


def test_what_was_found_in_a_text_is_known_from_then_on_but_for_prose() -> None:
    """A server may write its noise before it answers."""
    secrets = Secrets(b"key")
    secrets.hide_text("MY_API_KEY=s3cret-1; password: hunter2 (old)\ntoken: see above")

    left = secrets.hide_text("s3cret-1; hunter2, see above")

    assert STAND_IN.sub(b"***", left.encode()) == b"*** ***, see above"


def test_types_and_words_of_the_protocol_stay() -> None:
    """Whatever is known: clients check them; so do ids in a batch."""
    said: dict[str, Any] = {
        "id": 123456,
        "result": {
            "type": "object",
            "protocolVersion": "2025-11-25",
            "resultType": "complete",
            "pin": 123456,
        },
        "params": {
            "requestId": "secret-id",
            "_meta": {"progressToken": "secret-id"},
            "token": 5,
            "password": True,
        },
    }
    known = ("123456", "object", "complete", "2025-11-25", "secret-id")

    left = hidden(said, *known)

    assert hidden([said], *known) == [left]
    assert left["result"] == {**said["result"], "pin": 0}
    assert left["params"] == {**said["params"], "token": 0}
    assert left["id"] == 123456


def test_only_what_is_a_schema_is_taken_for_one() -> None:
    """And what is an example of a secret in one is left out."""
    secret = {
        "type": "string",
        "title": "a",
        "default": SECRET,
        "examples": [SECRET],
        "anyOf": [{"const": SECRET}],
    }
    said = {
        "params": {"properties": {"password": {"value": SECRET}}, "definitions": {"token": SECRET}},
        "result": {"inputSchema": {"properties": {"token": secret, "n": {"default": 5}}}},
    }
    left = hidden(said)

    assert SECRET not in json.dumps(left)
    assert left["result"]["inputSchema"]["properties"]["token"]["type"] == "string"
    assert left["result"]["inputSchema"]["properties"]["n"] == {"default": 5}


@pytest.mark.parametrize(
    "text",
    [
        *(
            "token",
            "token=",
            "password: ",
            "\\",
            '\\"',
            '"',
            "token {",
            "bearer ",
            "a://",
            "key token \t",
            "[",
        ),
        *(
            "-----BEGIN PRIVATE KEY-----",
            "https://a:b@",
            '"token":{"',
            "password: '",
            "token:[\\\\",
            "password: |\n a",
            "token" + " " * 50,
        ),
    ],
)
def test_a_text_is_read_in_linear_time(text: str) -> None:
    """A hundred times the text takes about a hundred times as long, not ten thousand: it ends here."""
    Secrets(b"key").hide_text(text * 20_000)


def test_the_same_secret_is_the_same_word_in_one_recording() -> None:
    """So rounds that are joined by a state can still be joined, and nobody can try words out."""
    one, other = Secrets(b"one"), Secrets(b"other")
    said = b'{"requestState":"abc"}'

    assert one.hide(said) == one.hide(said) != other.hide(said)
    assert one.hide(one.hide(said)) == one.hide(said)


WORDS = [
    *'ab"\\\n:=/{}é🙂 ',
    "token",
    "Bearer ",
    "password=",
    "://",
    "[",
    "'",
    '\\"',
    "-----BEGIN PRIVATE KEY-----",
    "|",
]
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
