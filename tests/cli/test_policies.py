"""`anywire bridge --allow … --deny …` before a real server on stdio."""

from __future__ import annotations

import argparse
import json
from typing import Any

import pytest

from anywire.bridge.policy.pattern import Kind
from anywire.cli.policies import add_policy_options, policy_of
from tests.cli.commands import anywire, server
from tests.cli.test_http import INITIALIZE

TOOLBOX = ["--", *server("toolbox")]


META: dict[str, Any] = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


def said(era: str) -> str:
    """What a client of the era says that asks for a list and calls two tools."""
    meta: dict[str, Any] = {"_meta": META} if era == "modern" else {}
    asked: list[tuple[str, dict[str, Any]]] = [
        ("tools/list", {**meta}),
        ("tools/call", {"name": "crash", **meta}),
        ("tools/call", {"name": "show", "arguments": {"x": 1}, **meta}),
    ]
    lines = [INITIALIZE, '{"jsonrpc":"2.0","method":"notifications/initialized"}'] if era == "legacy" else []
    for id, (method, params) in enumerate(asked, 2):
        lines.append(json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
    return "".join(f"{line}\n" for line in lines)


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_what_is_denied_is_neither_listed_nor_called(era: str) -> None:
    """The client learns of nothing, whoever runs the bridge of everything."""
    done = anywire("bridge", "stdio", "--deny", "c*", "--allow", "[a-s]*", *TOOLBOX, stdin=said(era))
    replies = {reply["id"]: reply for reply in map(json.loads, done.out.splitlines()) if "id" in reply}

    assert [tool["name"] for tool in replies[2]["result"]["tools"]] == ["show", "fail", "picture", "steps"]
    assert ("error" in replies[3], "result" in replies[3]) == (era == "modern", era == "legacy")
    assert "Unknown tool: crash" in json.dumps(replies[3])
    assert '"x": 1' in replies[4]["result"]["content"][0]["text"]
    assert "anywire: hidden from clients: tool 'weather', 'wait', 'crash'\n" in done.err
    assert "a client asked for the tool 'crash', which is hidden from it: deny 'c*'\n" in done.err
    assert (done.code, "fell down" in done.err) == (0, False)


@pytest.mark.parametrize("face", ["stdio", "http://127.0.0.1:0/mcp"])
def test_a_pattern_that_is_none_is_refused(face: str) -> None:
    """Before anything is served."""
    done = anywire("bridge", face, "--deny", "file:///x", *TOOLBOX)

    assert done.code == 2
    assert "for a URI write resource:file:///x" in done.err
    assert "the toolbox is open" not in done.err


def options(*words: str) -> argparse.Namespace:
    """What the command line says."""
    parser = argparse.ArgumentParser()
    add_policy_options(parser)
    return parser.parse_args(words)


def test_without_patterns_there_is_no_policy() -> None:
    assert policy_of(options()) is None


def test_the_patterns_of_a_server_are_added_to_those_of_the_command_line() -> None:
    """And each may name a thing as it is called among those of several servers."""
    given = options("--allow", "notes__get_*", "--deny", "prompt:*")
    policy = policy_of(given, "notes", ["list"], ["get_secret"])

    assert policy is not None
    assert [policy.reason(Kind.TOOL, name) is None for name in ("get_x", "list", "get_secret", "put")] == [
        True,
        True,
        False,
        False,
    ]
    assert policy.reason(Kind.PROMPT, "any") is not None
