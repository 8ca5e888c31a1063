"""What a server that was started from the command has loaded."""

from __future__ import annotations

import sys

import pytest

from tests.interop.peers import SCRIPTS
from tests.interop.pipes import INITIALIZED, call, converse, initialize
from tests.interop.processes import anywire, run

pytestmark = pytest.mark.interop

HEAVY = frozenset(
    {
        "aiohttp",
        "click",
        "email",
        "http.client",
        "http.server",
        "httpx",
        "jsonschema",
        "jsonschema_rs",
        "pydantic",
        "rich",
        "ssl",
        "starlette",
        "urllib.request",
        "uvicorn",
    }
)


def loaded_by_the_loop() -> set[str]:
    """What the event loop of this interpreter loads by itself: it tries for TLS, used or not."""
    done = run([sys.executable, "-c", "import asyncio, sys; print(*sys.modules)"], within=20)
    return set(done.stdout.decode().split())


def test_a_stdio_server_has_loaded_nothing_that_it_does_not_need() -> None:
    """No HTTP, no TLS, no models, no terminal: what is not imported costs no time to start."""
    with converse(anywire("serve", f"{SCRIPTS / 'fixture_server.py'}:server"), "newline") as talk:
        talk.send(initialize(0))
        assert "result" in talk.receive_message()
        talk.send(INITIALIZED, call(1, "modules"))
        loaded = set(talk.receive_message()["result"]["content"][0]["text"].split("\n"))
        assert talk.finish() == []

    assert "anywire" in loaded
    assert sorted((HEAVY & loaded) - loaded_by_the_loop()) == []
