"""Servers that other people wrote and other people use, called through `connect()` and the command."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from anywire import Client, connect, connect_sync
from anywire.transport.stdio_client import StdioClientTransport
from tests.interop import peers
from tests.interop.processes import anywire, run

pytestmark = pytest.mark.interop

FASTMCP = """
from fastmcp import FastMCP

server = FastMCP("fast")

@server.tool
def add(a: int, b: int) -> int:
    return a + b

server.run(show_banner=True)
"""

#: Makes the command line of a server; gets the interpreter or the folder of node packages, and a folder.
Launch = Callable[[Path, Path], list[str]]


def node_server(name: str, *, folder: bool = False) -> Launch:
    """A server of node packages, which may be given a folder to work in."""

    def launch(modules: Path, work: Path) -> list[str]:
        script = modules / "node_modules" / "@modelcontextprotocol" / name / "dist" / "index.js"
        return [peers.find_node()[0], str(script), *([str(work)] if folder else [])]

    return launch


#: The fixture of what it runs on, its command line, a tool of it with arguments, and what comes back.
SERVERS: dict[str, tuple[str, Launch, str, Callable[[Path], dict[str, Any]], str]] = {
    "mcp-server-time": (
        "server_time_python",
        lambda python, _: [str(python), "-m", "mcp_server_time", "--local-timezone", "UTC"],
        "convert_time",
        lambda _: {"source_timezone": "UTC", "time": "12:30", "target_timezone": "Asia/Tokyo"},
        r'"time_difference": "\+9\.0h"',
    ),
    "mcp-server-git": (
        "server_git_python",
        lambda python, work: [str(python), "-m", "mcp_server_git", "--repository", str(work)],
        "git_status",
        lambda work: {"repo_path": str(work)},
        r"No commits yet[^$]*note\.txt",
    ),
    "fastmcp": (
        "fastmcp_python",
        lambda python, _: [str(python), "-c", FASTMCP],
        "add",
        lambda _: {"a": 2, "b": 3},
        r"^5$",
    ),
    "server-everything": (
        "node_peers",
        node_server("server-everything"),
        "echo",
        lambda _: {"message": "é🙂"},
        r"^Echo: é🙂$",
    ),
    "server-filesystem": (
        "node_peers",
        node_server("server-filesystem", folder=True),
        "read_text_file",
        lambda work: {"path": str(work / "note.txt")},
        r"^hello é🙂\n?$",
    ),
    "server-memory": (
        "node_peers",
        node_server("server-memory"),
        "create_entities",
        lambda _: {"entities": [{"name": "anywire", "entityType": "thing", "observations": ["é🙂"]}]},
        r'"observations": \[\s*"é🙂"',
    ),
}


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A repository with a file in it."""
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "note.txt").write_text("hello é🙂\n", encoding="utf-8")
    subprocess.run(["git", "init", "--quiet", str(folder)], check=True, timeout=30)
    return folder.resolve()


@pytest.fixture
def case(name: str, work: Path, request: pytest.FixtureRequest) -> tuple[list[str], str, dict[str, Any], str]:
    """The command line of a server, a tool, its arguments, and a pattern of what it gives."""
    place, launch, tool, arguments, expected = SERVERS[name]
    return launch(request.getfixturevalue(place), work), tool, arguments(work), expected


def environment(work: Path) -> dict[str, str]:
    """Where the memory is kept."""
    return {"MEMORY_FILE_PATH": str(work / "memory.json")}


def exit_code(client: Client) -> int | None:
    """How a client's child has left."""
    transport = client._transport
    assert isinstance(transport, StdioClientTransport)
    assert transport.child is not None
    return transport.child.returncode


each_server = pytest.mark.parametrize("name", SERVERS)
Case = tuple[list[str], str, dict[str, Any], str]


@each_server
async def test_server_is_listed_and_called(case: Case, work: Path) -> None:
    """Its tools have schemas, and a call gives what it should."""
    argv, tool, arguments, expected = case
    async with connect(argv, env=environment(work)) as client:
        assert client.server.server_info.name
        tools = {each.name: each for each in await client.tools()}
        assert tool in tools
        result = await client.call_tool(tool, arguments)
        assert not result.is_error, result.text
        assert re.search(expected, result.text), result.text
        await client.ping()
        wrong = await client.call_tool(tool, {"no such argument": []})
        assert wrong.is_error
    assert exit_code(client) == 0


@each_server
def test_server_is_called_without_async(case: Case, work: Path) -> None:
    """As from a script."""
    argv, tool, arguments, expected = case
    with connect_sync(argv, env=environment(work)) as client:
        assert re.search(expected, client.call_tool(tool, arguments).text)


@each_server
def test_server_is_called_by_the_command(case: Case, work: Path) -> None:
    """As from a shell."""
    argv, tool, arguments, expected = case
    given = [f"{name}:={json.dumps(value)}" for name, value in arguments.items()]
    variables = [word for item in environment(work).items() for word in ("--env", "=".join(item))]
    listed = run(anywire("list", "--json", *variables, "--", *argv), within=60)
    called = run(anywire("call", tool, *given, *variables, "--", *argv), within=60)

    assert listed.returncode == 0, listed
    assert tool in {each["name"] for each in json.loads(listed.stdout)["tools"]}
    assert called.returncode == 0, called
    assert re.search(expected, called.stdout.decode(), re.MULTILINE), called


def test_every_server_is_pinned_to_one_version() -> None:
    """A new release is taken in by a change of the pin."""
    for pin in (peers.SERVER_TIME, peers.SERVER_GIT, peers.FASTMCP):
        assert re.fullmatch(r"[a-z-]+==\d+\.\d+\.\d+", pin), pin
