"""What a server repeats of the secrets that it was given is shown nowhere."""

from __future__ import annotations

import base64
import sys

import pytest

from anywire.transport.redact import secrets_in_url, secrets_in_words, told_without
from tests.cli.commands import anywire

LEAK = (
    "import os, sys; print('started with', os.environ['API_KEY'], sys.argv, flush=True); "
    "sys.exit(f'cannot log in with {os.environ[\"API_KEY\"]} and {sys.argv}')"
)
GIVEN = ("ENVSECRETzz", "ARGSECRETyy")


@pytest.mark.parametrize("words", [("doctor",), ("doctor", "--json"), ("list",), ("ping", "--json")])
def test_a_server_that_prints_its_secrets_shows_none(words: tuple[str, ...]) -> None:
    """Neither on stdout nor in its last words, whoever asks."""
    environment, argument = GIVEN
    ended = anywire(
        *words, "--env", f"API_KEY={environment}", "--", sys.executable, "-c", LEAK, f"--token={argument}"
    )

    assert ended.code != 0
    assert not [secret for secret in GIVEN if secret in ended.out + ended.err]
    assert "cannot log in with ***" in " ".join((ended.out + ended.err).split())


def test_the_secrets_of_a_command_line_are_what_is_not_shown_of_it() -> None:
    """Behind an option, in an option, in a header, in a URL."""
    words = ("--token", "s-one", "--key=s-two", "Authorization: s-three", "http://me:s-four@host/")

    assert {"s-one", "s-two", "s-three", "s-four"} <= secrets_in_words(words)
    assert secrets_in_words(("--port", "80", "run", "http://host/")) == set()


def test_the_secrets_of_a_url_are_known_as_they_are_sent() -> None:
    """The user goes out in Basic, the query as it is."""
    secrets = secrets_in_url("http://me:pass%20word@host/mcp?api_key=qwertz")

    assert {"pass word", "qwertz", base64.b64encode(b"me:pass word").decode()} <= secrets


def test_a_secret_that_was_cut_is_not_shown_either() -> None:
    """A text that is told is no longer than it must be."""
    assert told_without("b'token=abcdefgh' …", {"abcdefghijkl"}) == "b'token=***' …"
    assert told_without("abcdefg and more", {"abcdefghijkl"}) == "abcdefg and more"
