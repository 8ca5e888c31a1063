"""What a client carries for its server between two rounds, and what comes back in its place."""

from __future__ import annotations

import base64
import hashlib
import hmac
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anywire.protocol.round_state import RoundState, StateRefused, digest_of, open_state, seal_state

KEY = b"k" * 32
STATE = RoundState("call", 1_000.0, "ada", value={"n": [1, None, "é"]})
SEALED = seal_state(STATE, KEY)

plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def opened(text: str, **changes: Any) -> RoundState:
    given: dict[str, Any] = {"key": KEY, "request": "call", "principal": "ada", "now": 999.0, **changes}
    return open_state(text, given.pop("key"), **given)


def refusal(text: str, **changes: Any) -> str:
    with pytest.raises(StateRefused) as refused:
        opened(text, **changes)
    return str(refused.value)


@given(value=plain, handle=st.text(), principal=st.text(), key=st.binary(min_size=1))
def test_what_was_sealed_is_opened(value: Any, handle: str, principal: str, key: bytes) -> None:
    """Whatever a program keeps in it."""
    state = RoundState("call", 1_000.0, principal, handle, value)
    assert opened(seal_state(state, key), key=key, principal=principal) == state


@pytest.mark.parametrize("position", range(len(SEALED)))
def test_no_character_can_be_changed(position: int) -> None:
    """Nor taken out, nor doubled; also not to another spelling of the same bytes."""
    before, here, after = SEALED[:position], SEALED[position], SEALED[position + 1 :]
    for other in ("A", "B", "b", "_", "-", "=", "+", "é", " ", "", here * 2):
        if other != here:
            assert "none of this server's" in refusal(before + other + after)


@pytest.mark.parametrize("bit", range(8))
def test_no_bit_can_be_changed(bit: int) -> None:
    """Of the seal or of what it is on."""
    sealed = bytearray(base64.urlsafe_b64decode(SEALED))
    for index in range(len(sealed)):
        sealed[index] ^= 1 << bit
        changed = base64.urlsafe_b64encode(sealed).decode()
        assert refusal(changed) == "the requestState is none of this server's, or has been changed"
        sealed[index] ^= 1 << bit


@given(st.text() | st.binary().map(lambda raw: base64.urlsafe_b64encode(raw).decode()))
def test_garbage_is_refused_and_nothing_else(text: str) -> None:
    """It never raises another error."""
    assert "none of this server's" in refusal(text)


def test_a_state_has_an_end() -> None:
    """Which does not belong to it."""
    assert opened(SEALED, now=999.999) == STATE
    for now in (1_000.0, 2_000.0):
        assert refusal(SEALED, now=now) == "the requestState has expired; make the call anew"


@pytest.mark.parametrize("foreign", [{"request": "other"}, {"principal": "bob"}, {"principal": ""}])
def test_a_state_belongs_to_one_request_of_one_principal(foreign: dict[str, str]) -> None:
    """Nobody else can go on with it."""
    assert refusal(SEALED, **foreign) == "the requestState belongs to another request"


@pytest.mark.parametrize("key", [b"", b"K" * 32, KEY + b"k"])
def test_a_state_belongs_to_one_key(key: bytes) -> None:
    """Nobody else can make one."""
    assert "has been changed" in refusal(SEALED, key=key)


@pytest.mark.parametrize("body", [b"", b"[]", b'{"request":5}', b"\xff"])
def test_a_state_of_another_version_is_refused(body: bytes) -> None:
    """Sealed with the same key, and not understood."""
    tag = hmac.new(KEY, body, hashlib.sha256).digest()
    text = base64.urlsafe_b64encode(tag + body).decode()
    assert refusal(text) == "the requestState is of another version of this server"


# What a request is.


def digest(method: str = "tools/call", **members: object) -> str:
    return digest_of(method, msgspec.json.encode(members))


def test_a_request_is_what_it_asks() -> None:
    """Not what it says of itself, nor what changes between rounds, nor the order of its members."""
    asked = digest(name="a", arguments={"x": 1, "y": 2})
    again = digest(
        arguments={"y": 2, "x": 1}, requestState="s", inputResponses={}, name="a", _meta={"progressToken": 1}
    )
    assert again == asked
    others = [
        digest("prompts/get", name="a", arguments={"x": 1, "y": 2}),
        digest(name="b", arguments={"x": 1, "y": 2}),
        digest(name="a", arguments={"x": 1, "y": 3}),
        digest(name="a"),
        digest_of("tools/call", None),
    ]
    assert len({asked, *others}) == 1 + len(others)


@given(plain)
def test_every_request_has_a_digest(value: object) -> None:
    """And it is the same each time."""
    raw = msgspec.json.encode(value)
    assert digest_of("m", raw) == digest_of("m", raw)


@pytest.mark.parametrize("params", [b"", b"5", b"{", b"\xff", rb'{"a":"\ud800"}', b'{"a":1%b}' % (b"0" * 40)])
def test_params_of_any_kind_have_a_digest(params: bytes) -> None:
    """Whoever reads them refuses them."""
    assert digest_of("m", params)
