"""`--server NAME`: a server of a file in the place of a target."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.cli.commands import ROOT, Finished, anywire, server
from tests.cli.serving import listening


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file with a server that tells a variable of its environment, one that has none, and a URL."""
    command, *arguments = server("toolbox")
    servers: dict[str, Any] = {
        "box": {"command": command, "args": arguments, "cwd": str(ROOT), "env": {"SECRET_TOKEN": "hush"}},
        "unset": {"command": command, "args": ["${NO_SUCH_VARIABLE}"]},
        "far": {"url": "http://127.0.0.1:1/mcp", "headers": {"X-Key": "a"}},
        "asleep": {"command": command, "args": arguments, "cwd": str(ROOT), "disabled": True},
        "some": {"command": command, "args": arguments, "cwd": str(ROOT), "allow": ["steps"]},
    }
    path = tmp_path / "servers.json"
    path.write_text(json.dumps({"mcpServers": servers}), "utf-8")
    return path


def run(file: Path, *words: str) -> Finished:
    """Run the command with that file."""
    return anywire(*words, "--config", file)


def test_the_server_is_listed_called_and_examined_by_its_name(file: Path) -> None:
    """In the place of a command behind `--`; the words of a call are all its own."""
    listed = run(file, "list", "--server", "box", "--json")
    called = run(file, "call", "show", "text=a:b", "--server", "box")
    examined = run(file, "doctor", "--server", "box", "--json")

    assert "steps" in {tool["name"] for tool in json.loads(listed.out)["tools"]}
    assert called.code == 0
    assert "a:b" in called.out
    assert json.loads(examined.out)["reached"] is True


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (("list", "--server", "bux"), 2, "has no server 'bux'; did you mean box?"),
        (("list", "--server", "unset"), 2, "NO_SUCH_VARIABLE"),
        (("list",), 2, "say which of them with --server NAME"),
        (("list", "x:y", "--server", "box"), 2, "there is another target"),
        (("list", "--server", "far"), 4, "127.0.0.1:1"),
        (("list", "--server", "asleep"), 2, "is disabled"),
        (("call", "show", "text=x", "--server", "some"), 5, "show"),
    ],
)
def test_what_cannot_be_called_is_told(words: tuple[str, ...], code: int, sentence: str, file: Path) -> None:
    """In a sentence."""
    told = run(file, *words)

    assert told.code == code
    assert sentence in told.err


def test_what_the_file_says_of_it_counts(file: Path) -> None:
    """What of it is offered, and the headers of its requests."""
    listed = run(file, "list", "--server", "some", "--json")
    with listening(
        "serve",
        "examples/server.py:server",
        "--http",
        "127.0.0.1:0",
        "--token-env",
        "T",
        env={**os.environ, "T": "hush-hush"},
    ) as far:
        servers = {"far": {"url": far.url, "headers": {"Authorization": "Bearer ${T}"}}}
        file.write_text(json.dumps({"mcpServers": servers}), "utf-8")
        let_in = anywire("ping", "--server", "far", "--config", file, env={"T": "hush-hush"})
        far.end()

    assert [tool["name"] for tool in json.loads(listed.out)["tools"]] == ["steps"]
    assert let_in.code == 0, let_in.err
