"""Runs of the official SDKs as clients that use each feature of `scripts/features_server.py` once."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest

from tests.interop.listening import anywire_listening
from tests.interop.peers import SCRIPTS
from tests.interop.processes import anywire, run

Sdk = Literal["python-1", "python-2", "typescript-1", "typescript-2"]
Transport = Literal["stdio", "http"]

SDKS: tuple[Sdk, ...] = ("python-1", "python-2", "typescript-1", "typescript-2")
TRANSPORTS: tuple[Transport, ...] = ("stdio", "http")
WITHIN = 60.0

PIXEL = "iVBORw0KGgogcGl4ZWw="
SOUND = "UklGRiBzb3VuZA=="
ICON = {"src": "https://example.com/icon.png", "mimeType": "image/png", "sizes": ["48x48"], "theme": "dark"}
NOW = "2026-01-02T03:04:05Z"
ROOTS = [{"uri": "file:///home/a%20b", "name": "a b"}, {"uri": "file:///tmp"}]

_NODE_PEERS, _PYTHONS = "node_peers", {"python-1": "sdk_1_python", "python-2": "sdk_2_python"}


@dataclass(frozen=True)
class Seen:
    """What a client of an SDK saw, step by step."""

    sdk: Sdk
    transport: Transport
    mode: str
    steps: dict[str, dict[str, Any]]
    stderr: str

    def __getitem__(self, step: str) -> Any:
        """What a step gave; one that failed fails the test with its own words."""
        outcome = self.steps[step]
        assert "gave" in outcome, f"{step}: {outcome['failed']}; stderr:\n{self.stderr[-3000:]}"
        return outcome["gave"]

    @property
    def stateless(self) -> bool:
        """Whether the conversation is of the stateless era, which the SDKs find out in that mode."""
        return self.mode == "auto"


def program(sdk: Sdk, what: str, request: pytest.FixtureRequest) -> list[str | Path]:
    """The command line of a script of ours on an SDK, up to its own arguments: `features_<what>`."""
    line = sdk[-1]
    if sdk in _PYTHONS:
        python: Path = request.getfixturevalue(_PYTHONS[sdk])
        return [python, "-W", "ignore", SCRIPTS / f"features_{what}.py"]
    folder: Path = request.getfixturevalue(_NODE_PEERS)
    return ["node", SCRIPTS / f"features_{what}.mjs", line, folder]


def use_features(sdk: Sdk, transport: Transport, mode: str, request: pytest.FixtureRequest) -> Seen:
    """Let an SDK's client use the features server, started anew, over a transport."""
    client = program(sdk, "client", request)
    server = anywire("serve", f"{SCRIPTS / 'features_server.py'}:server")
    if transport == "stdio":
        return _drive(sdk, transport, mode, [*client, mode, *server])
    with anywire_listening([*server, "--http", "127.0.0.1:0"]) as url:
        return _drive(sdk, transport, mode, [*client, mode, url])


def _drive(sdk: Sdk, transport: Transport, mode: str, command: list[str | Path]) -> Seen:
    done = run(command, within=WITHIN)
    assert done.returncode == 0, f"the client failed: {done}"
    lines = [json.loads(line) for line in done.stdout.decode().splitlines()]
    return Seen(sdk, transport, mode, {line.pop("step"): line for line in lines}, done.stderr)


def named(items: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """What is listed, by name."""
    return {item["name"]: item for item in items}


def having(expected: dict[str, Any]) -> Callable[[dict[str, Any]], bool]:
    """A check that a dictionary has at least these members."""
    return lambda given: {key: given.get(key) for key in expected} == expected
