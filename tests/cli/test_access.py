"""Who may use an HTTP address of the command: `--token-env`, `--allow-unauthenticated`, `--forward-header`."""

from __future__ import annotations

import asyncio
import os

import pytest

from anywire.cli.main import main
from tests.cli.commands import anywire
from tests.cli.servers.http.healthy import HealthyHttp
from tests.cli.serving import listening
from tests.cli.test_http import WORKSHOP, asked

TOKEN = "s3cret-t0ken"
NAME = "ANYWIRE_TEST_TOKEN"
BROUGHT = ("--header", f"Authorization: Bearer ${{{NAME}}}")
ENVIRONMENT = {**os.environ, NAME: TOKEN}
TO_URL = "http://127.0.0.1:1/mcp"


@pytest.mark.parametrize(
    "words",
    [
        ("serve", WORKSHOP, "--http", "0.0.0.0:0"),
        ("serve", WORKSHOP, "--sse", "0.0.0.0:0"),
        ("serve", WORKSHOP, "--http", "0:0"),
        ("bridge", "http://0.0.0.0:0/mcp", "--", "no-such-program"),
        ("bridge", "sse+http://[::]:0", TO_URL),
    ],
)
def test_an_address_for_other_machines_is_not_open_by_accident(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    """The refusal names both ways out."""
    assert main(words) == 2
    told = capsys.readouterr().err
    assert "can be reached from other machines" in told
    assert "--token-env" in told
    assert "--allow-unauthenticated" in told


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("serve", WORKSHOP, "--token-env", NAME), "--token-env is for an HTTP address"),
        (("bridge", "stdio", "--token-env", NAME, TO_URL), "--token-env is for an HTTP address"),
        (("serve", WORKSHOP, "--allow-unauthenticated"), "--allow-unauthenticated is for an HTTP address"),
        (("serve", WORKSHOP, "--http", "127.0.0.1:0", "--token-env", "s3cret-t0ken"), "there is none"),
        (
            ("serve", WORKSHOP, "--http", "127.0.0.1:0", "--token-env", "EMPTY"),
            "--token-env EMPTY: a token is",
        ),
        (
            ("serve", WORKSHOP, "--http", "0.0.0.0:0", "--token-env", NAME, "--allow-unauthenticated"),
            "give one",
        ),
        (("bridge", "stdio", "--forward-header", "X-A", TO_URL), "--forward-header is for a face over HTTP"),
        (
            ("bridge", "http://127.0.0.1:0", "--forward-header", "X-A", "--", "x"),
            "--forward-header is for a face over HTTP",
        ),
        (
            ("bridge", "http://127.0.0.1:0", "--forward-header", "Mcp-Session-Id", TO_URL),
            "--forward-header Mcp-Session-Id: that belongs to one connection",
        ),
        (("bridge", "http://127.0.0.1:0", "--forward-header", "a b", TO_URL), "takes the name of a header"),
        (("bridge", "http://127.0.0.1:0", "--forward-header", "*", TO_URL), "takes the name of a header"),
        (
            (
                *("bridge", "http://127.0.0.1:0", "--token-env", NAME),
                *("--forward-header", "authorization", TO_URL),
            ),
            "would send the token of --token-env",
        ),
        (
            ("bridge", "http://127.0.0.1:0", "--forward-header", "Authorization", f"http://me:{TOKEN}@h/mcp"),
            "cannot be joined with the user that the URL names",
        ),
        (
            ("bridge", "http://127.0.0.1:0", "--header", "x-a: b", "--forward-header", "X-A", TO_URL),
            "X-A is given, and forwarded as well",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(
    words: tuple[str, ...],
    reason: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Before anything is opened."""
    monkeypatch.setenv(NAME, TOKEN)
    monkeypatch.setenv("EMPTY", "")

    assert main(words) == 2
    told = capsys.readouterr().err
    assert reason in told
    assert TOKEN not in told


@pytest.mark.parametrize("where", ["--http", "--sse"])
def test_a_server_with_a_token_serves_whoever_brings_it(where: str) -> None:
    """An address for other machines is then nothing to be warned of."""
    words = ("serve", WORKSHOP, where, "0.0.0.0:0", "--token-env", NAME)
    with listening(*words, env=ENVIRONMENT) as serving:
        url = serving.url.replace("0.0.0.0", "127.0.0.1")
        without = asked(url)
        wrong = asked(url, Authorization="Bearer wrong")
        scheme = "sse+" if where == "--sse" else ""
        listed = anywire("list", *BROUGHT, scheme + url, env={NAME: TOKEN})
        _, told = serving.end()

    assert (without[0], wrong[0], listed.code) == (401, 401, 0)
    assert told.count("\n") == 1
    assert TOKEN not in told + listed.out + listed.err


async def test_a_bridge_with_a_token_takes_named_headers_along() -> None:
    """The token is its own and stays; what was not named stays as well."""
    behind = HealthyHttp()
    async with behind.running() as target:
        words = ("--token-env", NAME, "--forward-header", "X-User", "--forward-header", "cookie")
        with listening("bridge", "http://127.0.0.1:0/mcp", *words, target, env=ENVIRONMENT) as bridge:
            user = ("--header", "X-User: ada", "--header", "Cookie: a=b", "--header", "X-Other: c")
            without = await asyncio.to_thread(asked, bridge.url)
            done = await asyncio.to_thread(anywire, "list", *BROUGHT, *user, bridge.url, env={NAME: TOKEN})
            told = bridge.end()[1]

    assert without[0] == 401
    assert done.code == 0, done.err
    taken = [{name: each.headers.get(name) for name in ("x-user", "cookie")} for each in behind.asked]
    assert taken
    assert all(each == {"x-user": "ada", "cookie": "a=b"} for each in taken)
    assert not any({"authorization", "x-other"} & set(each.headers) for each in behind.asked)
    assert TOKEN not in told
