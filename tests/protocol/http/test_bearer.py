"""The bearer token: what is let in, and what is told of the rest."""

from __future__ import annotations

import pytest

from anywire.errors import ConfigError
from anywire.protocol.http.bearer import Bearer
from anywire.protocol.http.guard import Guard
from anywire.protocol.http.server import check_bearer
from anywire.wire.codec import encode

TOKEN = "s3cret-t0ken="
OPEN, CLOSED = Guard.for_bind("127.0.0.1"), Guard.for_bind("0.0.0.0", bearer=Bearer.of(TOKEN))


@pytest.mark.parametrize("authorization", [f"Bearer {TOKEN}", f"bearer  {TOKEN}", f"BEARER {TOKEN}"])
def test_whoever_brings_the_token_is_let_in(authorization: str) -> None:
    """The scheme knows no case."""
    assert check_bearer(authorization, CLOSED) is None


@pytest.mark.parametrize(
    ("authorization", "challenge"),
    [
        (None, "Bearer"),
        ("", "Bearer"),
        (f"Basic {TOKEN}", "Bearer"),
        (TOKEN, "Bearer"),
        ("Bearer", "Bearer"),
        (f"Bearer{TOKEN}", "Bearer"),
        ("Bearer wrong", 'Bearer error="invalid_token"'),
        (f"Bearer {TOKEN}x", 'Bearer error="invalid_token"'),
        (f"Bearer {TOKEN[:-1]}", 'Bearer error="invalid_token"'),
        (f"Bearer {TOKEN.upper()}", 'Bearer error="invalid_token"'),
        (f"Bearer {TOKEN}, Bearer {TOKEN}", 'Bearer error="invalid_token"'),
        ("Bearer \udc80\xff", 'Bearer error="invalid_token"'),
    ],
)
def test_everybody_else_is_told_what_is_needed(authorization: str | None, challenge: str) -> None:
    """With 401, a challenge, and no word of the token."""
    refused = check_bearer(authorization, CLOSED)

    assert refused is not None
    assert (refused.status, refused.challenge) == (401, challenge)
    assert TOKEN.encode() not in encode(refused.error)


def test_without_a_token_nobody_is_asked() -> None:
    """As servers on loopback have it."""
    assert check_bearer(None, OPEN) is None
    assert check_bearer("Bearer anything", OPEN) is None


def test_the_token_is_not_kept() -> None:
    """What is printed of a guard shows a digest."""
    assert TOKEN not in repr(CLOSED)


@pytest.mark.parametrize("token", ["", "two words", "line\n", "naïve", "tab\t"])
def test_what_cannot_stand_in_a_header_is_no_token(token: str) -> None:
    """And is not shown either."""
    with pytest.raises(ConfigError) as refused:
        Bearer.of(token)

    assert not token or token not in str(refused.value)
