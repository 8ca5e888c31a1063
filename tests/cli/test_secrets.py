"""What is typed wrong may hold a secret: no error shows it."""

from __future__ import annotations

import json

import pytest

from anywire.cli.main import main
from tests.cli.commands import anywire

SECRET = "hunter2"


@pytest.mark.parametrize(
    "words",
    [
        ("list", f"htps://user:{SECRET}@host/mcp"),
        ("doctor", f"htps://user:{SECRET}@host/mcp"),
        ("bridge", "stdio", f"wss://user:{SECRET}@host/mcp"),
        ("bridge", f"http://user:{SECRET}@127.0.0.1:1/mcp"),
        ("bridge", f"https://user:{SECRET}@127.0.0.1:1/mcp", "--", "x"),
        ("bridge", "http://127.0.0.1:0/mcp", f"htp://user:{SECRET}@h/m"),
        ("bridge", f"http://user:{SECRET}@h/m", "--", "x"),
        ("list", "http://127.0.0.1:1/mcp", "extra", f"Bearer {SECRET}"),
        ("list", "http://127.0.0.1:1/mcp", f"X-Thing: {SECRET}"),
        ("list", "http://127.0.0.1:1/mcp", "Authorization:", SECRET),
        ("list", "http://127.0.0.1:1/mcp", "extra", f"https://user:{SECRET}@host/"),
        ("list", f"TOKEN={SECRET}"),
        ("list", f"Bearer {SECRET}", "--", "x"),
        ("serve", f"https://me:{SECRET}@host"),
        ("bridge", "stdio", "--env", f"={SECRET}", "--", "x"),
        (f"http://user:{SECRET}@host/mcp",),
        (f"--token={SECRET}", "list"),
        ("list", f"http://user:{SECRET}@[::1/mcp"),
    ],
)
def test_a_refusal_of_what_was_typed_shows_no_secret(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) in (2, 4)
    told = capsys.readouterr()
    assert SECRET not in told.err + told.out
    assert told.err.startswith("anywire: ")


@pytest.mark.parametrize("json_wanted", [False, True])
def test_a_command_that_fails_is_told_without_its_secrets(json_wanted: bool) -> None:
    """Neither the error nor the advice has them."""
    options = ["--json"] if json_wanted else []
    ended = anywire("list", *options, "--", "/bin/false", "--api-key", SECRET)
    assert ended.code != 0
    assert SECRET not in ended.err
    assert "/bin/false --api-key ***" in ended.err
    assert "try: anywire doctor -- /bin/false --api-key ***" in ended.err


def test_a_report_on_a_command_has_none_of_its_secrets() -> None:
    ended = anywire("doctor", "--json", "--", "/bin/false", f"--api-key={SECRET}")
    assert SECRET not in ended.out + ended.err
    assert json.loads(ended.out)["command"] == ["/bin/false", "--api-key=***"]
