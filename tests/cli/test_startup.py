"""What a command loads before it works: as little as possible."""

from __future__ import annotations

import subprocess
import sys

import pytest

from anywire.cli.main import COMMANDS
from tests.cli.commands import ROOT, WITHIN, anywire, server

HEAVY = frozenset(
    {
        "aiohttp",
        "difflib",
        "email",
        "html",
        "http.client",
        "http.server",
        "importlib.metadata",
        "logging.config",
        "logging.handlers",
        "pydantic",
        "rich",
        "shtab",
        "ssl",
        "sqlite3",
        "unittest",
        "urllib.request",
        "uvicorn",
        "xml",
    }
)
TELL = "import sys, atexit; atexit.register(lambda: print('LOADED', *sys.modules, file=sys.stderr))"


def loaded(*words: str) -> set[str]:
    """The modules that the command has loaded in the end."""
    code = f"{TELL}; from anywire.cli.main import main; raise SystemExit(main({list(words)!r}))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, cwd=ROOT, timeout=WITHIN, check=False
    )
    told = done.stderr.decode().partition("LOADED ")[2]
    assert told, done.stderr
    return set(told.split())


def loaded_by_the_loop() -> set[str]:
    """What the event loop of this interpreter loads by itself: it tries for TLS, used or not."""
    done = subprocess.run(
        [sys.executable, "-c", "import asyncio, sys; print(*sys.modules)"],
        capture_output=True,
        timeout=WITHIN,
        check=True,
    )
    return set(done.stdout.decode().split())


def test_the_version_is_told_without_an_event_loop() -> None:
    """Nothing but the parser of words."""
    modules = loaded("--version")

    assert HEAVY & modules == set()
    assert {"asyncio", "msgspec", "logging"} & modules == set()
    assert not any(f"anywire.cli.{name}" in modules for name in COMMANDS)


@pytest.mark.parametrize(
    "words", [("ping",), ("list",), ("listen", "--resource", "notes://end")], ids="/".join
)
def test_a_command_loads_only_what_it_needs(words: tuple[str, ...]) -> None:
    """No table for a pipe, no HTTP, no TLS beyond what asyncio itself loads, no other subcommand."""
    modules = loaded(*words, "--", *server("gallery"))
    everything = {name for name in modules if name.startswith("anywire.")}
    ours = {name.rpartition(".")[2] for name in modules if name.startswith("anywire.cli.")}

    assert (HEAVY & modules) - loaded_by_the_loop() == set()
    assert ours & set(COMMANDS) == {words[0]}
    assert not any("http" in name or "sse" in name for name in everything)
    assert not any(
        name.startswith(("anywire.server", "anywire.doctor", "anywire.testing")) for name in modules
    )


def test_help_loads_no_event_loop() -> None:
    """All parsers, nothing of what they would run."""
    modules = loaded("--help")

    assert HEAVY & modules == set()
    assert "asyncio" not in modules


def test_it_can_be_run_as_a_module() -> None:
    """`python -m anywire`."""
    assert anywire("--version").out.startswith("anywire ")
