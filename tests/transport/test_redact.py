"""What is shown of a command line and of a URL: everything but its secrets."""

from __future__ import annotations

import pytest

from anywire.errors import ConfigError, ProcessExited
from anywire.transport.command import Command, why_not_started
from anywire.transport.redact import show_command_line, show_url, without_tokens, without_values

SECRET = "hunter2"


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["srv", "--api-key", SECRET, "-v"], "srv --api-key *** -v"),
        (["srv", "--api-key=" + SECRET], "srv --api-key=***"),
        (["srv", "--TOKEN", "-" + SECRET], "srv --TOKEN ***"),
        (["srv", "--passwd", SECRET, "--auth", SECRET], "srv --passwd *** --auth ***"),
        (["srv", "--no-auth", "--port", "80"], "srv --no-auth --port 80"),
        (["env", "DB_PASSWORD=" + SECRET, "srv"], "env DB_PASSWORD=*** srv"),
        (["docker", "--env=API_KEY=" + SECRET], "docker --env=API_KEY=***"),
        (["srv", "--header", "Authorization: Bearer " + SECRET], "srv --header Authorization: ***"),
        (["srv", "-H", "X-Api-Key:" + SECRET], "srv -H X-Api-Key: ***"),
        (["srv", "Bearer " + SECRET], "srv Bearer ***"),
        (["srv", f"https://me:{SECRET}@host/mcp?k={SECRET}#x"], "srv https://***@host/mcp?***"),
        (["srv", f"--db=postgres://me:{SECRET}@host:5432/x"], "srv --db=postgres://***@host:5432/x"),
        (["srv", f"--db=postgres://me:hun/ter2{SECRET}@host/x"], "srv --db=postgres://***"),
        (["srv", f"me:{SECRET}@host"], "srv ***@host"),
        (["srv", f'{{"apiKey": "{SECRET}", "n": 1}}'], 'srv {"apiKey": "***", "n": 1}'),
        (["srv", "-k", SECRET, "-k", "-v", "--pat", SECRET], "srv -k *** -k -v --pat ***"),
        (["curl", "-k", "https://host/x"], "curl -k https://host/x"),
        (
            ["env", "GITHUB_PAT=" + SECRET, "DB_PASS=" + SECRET, "PATH=/a", "x"],
            "env GITHUB_PAT=*** DB_PASS=*** PATH=/a x",
        ),
        (["srv", "--path", "a", "--bypass", "b", "--pattern", "c"], "srv --path a --bypass b --pattern c"),
        (["srv", "ghp_" + "a1" * 18, "--with=sk-" + "a1" * 16], "srv *** --with=***"),
        (["sh", "-c", "x " + "ghp_" + "a1" * 18 + "; y"], "sh -c x ***; y"),
        (["npx", "-y", "@scope/server", "a b", "--keep"], "npx -y @scope/server 'a b' --keep"),
        (["x", "https://unpkg.com/@scope/x"], "x https://unpkg.com/@scope/x"),
    ],
)
def test_a_command_line_is_shown_without_its_secrets(words: list[str], shown: str) -> None:
    assert show_command_line(words) == shown
    assert str(Command(tuple(words))) == shown


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        (f"htps://me:{SECRET}@host/mcp", "htps://***@host/mcp"),
        (f"wss://host/mcp?key={SECRET}", "wss://host/mcp?***"),
        (f"http://me:{SECRET}@[::1/mcp", "http://***@[::1/mcp"),
        (f"http://me:hun?ter@{SECRET}/", "http://***"),
        ("http://[::1]:80/a@b", "http://[::1]:80/a@b"),
        ("stdoi", "stdoi"),
        ("https://host/sk-" + "a1" * 16 + "/mcp", "https://host/***/mcp"),
    ],
)
def test_a_url_is_shown_without_its_secrets_however_it_is_mistyped(url: str, shown: str) -> None:
    assert show_url(url) == shown


def test_a_command_that_cannot_be_started_or_has_ended_keeps_its_secrets() -> None:
    command = Command(("/no/such/program", "--api-key", SECRET))
    assert SECRET not in why_not_started(command, FileNotFoundError(2, "No such file"))
    assert SECRET not in str(ProcessExited(str(command), 3))


def test_a_target_of_a_wrong_type_is_not_shown() -> None:
    from anywire import connect

    with pytest.raises(ConfigError) as refused:
        connect(["srv", "--api-key", SECRET, 5])  # type: ignore[list-item]
    assert SECRET not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "values", "shown"),
    [
        (b"no s3cret here", ["Bearer s3cret"], b"no *** here"),
        (b"twice Bearer s3cret, s3cret", ["Bearer s3cret"], b"twice ***, ***"),
        ("zoë-zoë is here".encode(), ["zoë-zoë"], b"*** is here"),
        (b"you have s3cret-1 and s3cret-2", ["a=s3cret-1; b=s3cret-2"], b"you have *** and ***"),
        (b"s3cret-and-more", ["s3cret", "s3cret-and-more"], b"***"),
        (b"1 is no secret", ["1", ""], b"1 is no secret"),
    ],
)
def test_a_text_of_somebody_else_does_not_repeat_a_header(
    text: bytes, values: list[str], shown: bytes
) -> None:
    """Nor what stands behind the scheme in it; what is very short would be found anywhere."""
    assert without_values(text, values) == shown


@pytest.mark.parametrize(
    "token",
    [
        "ghp_" + "aB3" * 12,
        "gho_" + "aB3" * 12,
        "github_pat_" + "11AB_c" * 10,
        "glpat-" + "aB3-_" * 4,
        "sk-" + "aB3" * 16,
        "sk-ant-api03-" + "aB3_" * 20,
        "sk_live_" + "aB3" * 8,
        "xoxb-" + "123456789012-" * 2 + "aB3",
        "xapp-1-" + "A01-" * 4,
        "AKIA" + "IOSFODNN7EXAMPL3",
        "AIza" + "aB3-_" * 7,
        "npm_" + "aB3" * 12,
        "hf_" + "aB3" * 12,
        "pypi-" + "AgEI" * 12,
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U",
    ],
)
def test_a_token_of_a_known_shape_is_not_shown_wherever_it_stands(token: str) -> None:
    """In a sentence, in quotes, behind a sign, in a line of a shell."""
    for text in ("the key {} is wrong", "{}", "'{}'", "k={};x", "(curl -u me:{} host)", "a/{}/b"):
        assert without_tokens(text.format(token)) == text.format("***")
    assert token not in show_command_line(["srv", f"say {token} twice", token])


@pytest.mark.parametrize(
    "text",
    [
        "sk-learn-feature-store-server",
        "task-1234567890123456789012",
        "ghp_short",
        "xghp_" + "a" * 40,
        "AKIAshort eyJhbGci",
        "/usr/lib/python3.11/site-packages/npm_config_registry",
    ],
)
def test_names_are_not_taken_for_tokens(text: str) -> None:
    """What is shown is there to be read."""
    assert without_tokens(text) == text


@pytest.mark.parametrize(
    "part", ["eyJ", "-eyJ", "sk-", "-sk-", "ghp_", "xoxb-", "AKIA", "pypi-", "eyJ" + "a" * 14 + "."]
)
def test_what_only_begins_like_a_token_takes_no_time(part: str) -> None:
    """The text may be somebody else's, and long; what is looked at twice would not end here."""
    assert len(without_tokens(part * 300_000)) <= len(part) * 300_000
