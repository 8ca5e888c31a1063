"""`anywire bridge --config`: the servers of a file, together and one by one, while the file changes."""

from __future__ import annotations

import json
import os
import sys
import urllib.request
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from anywire import SyncClient, connect_sync
from tests.cli.commands import ROOT, WITHIN, anywire, server
from tests.cli.serving import Listening, listening
from tests.interop.processes import anywire as command
from tests.interop.processes import wait_until, watch

pytestmark = pytest.mark.chaos

FACE = "http://127.0.0.1:0/mcp"


def entry(*words: str) -> dict[str, Any]:
    """A server of a file that is started so."""
    return {"command": words[0], "args": list(words[1:]), "cwd": str(ROOT)}


def write(path: Path, servers: Mapping[str, object]) -> None:
    """Write the file at once, as editors do."""
    new = path.with_suffix(".new")
    new.write_text(json.dumps({"mcpServers": servers}), "utf-8")
    new.replace(path)


def page(bridge: Listening, name: str) -> Any:
    """What a page of the bridge says."""
    address = bridge.url.removesuffix("/mcp") + name
    with urllib.request.urlopen(address, timeout=WITHIN) as response:
        return json.loads(response.read())


def status(bridge: Listening) -> dict[str, dict[str, Any]]:
    """What `/status` says of each server."""
    return {each["name"]: each for each in page(bridge, "/status")["servers"]}


def servers_of(client: SyncClient) -> set[str]:
    """The servers that have tools."""
    return {tool.name.split("__")[0] for tool in client.tools()}


@pytest.fixture
def servers() -> dict[str, object]:
    """A good server, one that cannot be started, one that prints."""
    return {
        "good": entry(*server("toolbox")),
        "broken": entry("/no/such/program"),
        "noisy": entry(*server("noise")),
        "asleep": {**entry(*server("toolbox")), "disabled": True},
        "strange": {"args": ["without a command"]},
    }


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_one_bad_server_does_not_stop_the_rest(era: Any, tmp_path: Path, servers: dict[str, object]) -> None:
    """The status and the log name what is wrong with each; mended in the file, it works."""
    path = tmp_path / "servers.json"
    write(path, servers)
    with watch(), listening("bridge", FACE, "--config", str(path)) as bridge:
        with connect_sync(bridge.url, era=era) as client:
            assert servers_of(client) == {"good", "noisy"}
            assert client.call_tool("good__steps").text
            seen = status(bridge)
            write(path, {**servers, "broken": servers["good"]})
            assert wait_until(lambda: "broken" in servers_of(client), within=WITHIN)
            assert client.call_tool("broken__steps").text
        code, told = bridge.end()

    assert seen["good"]["state"] == seen["noisy"]["state"] == "running"
    assert seen["broken"]["state"] == "failing"
    assert "/no/such/program" in seen["broken"]["last_error"]["text"]
    assert seen["noisy"]["noise_lines"] >= 1
    assert (seen["asleep"]["state"], seen["strange"]["state"]) == ("disabled", "refused")
    assert "broken: /no/such/program" in told
    assert "noisy: " in told
    assert "it belongs on stderr" in told
    assert "strange: it cannot be used" in told
    assert "servers.json was read again: broken changed" in told
    assert code == 143


def test_each_server_is_offered_by_itself_as_well(tmp_path: Path, servers: dict[str, object]) -> None:
    """Under its own names; a server that is taken out of the file is offered no more."""
    path = tmp_path / "servers.json"
    write(path, servers)
    with watch(), listening("bridge", FACE, "--config", str(path)) as bridge:
        alone = bridge.url.removesuffix("/mcp") + "/servers/good/mcp"
        with connect_sync(alone) as client, connect_sync(bridge.url) as all_of_them:
            assert "steps" in {tool.name for tool in client.tools()}
            assert servers_of(all_of_them) == {"good", "noisy"}
            write(path, {"noisy": servers["noisy"]})
            assert wait_until(lambda: servers_of(all_of_them) == {"noisy"}, within=WITHIN)
            assert set(status(bridge)) == {"noisy"}
        gone = anywire("list", "--era", "legacy", alone)
        bridge.end()

    assert gone.code == 4
    assert "404" in gone.err


def test_a_host_on_stdio_has_one_entry_for_all(tmp_path: Path, servers: dict[str, object]) -> None:
    """And is not troubled by a file that is broken meanwhile."""
    path = tmp_path / "servers.json"
    write(path, servers)
    with watch():
        listed = anywire("list", "--json", "--", *command("bridge", "stdio", "--config", str(path)))

    assert {tool["name"].split("__")[0] for tool in json.loads(listed.out)["tools"]} == {"good", "noisy"}


def test_a_file_that_cannot_be_read_any_more_changes_nothing(
    tmp_path: Path, servers: dict[str, object]
) -> None:
    """It is said, and what was read before stays."""
    path = tmp_path / "servers.json"
    write(path, servers)
    with watch(), listening("bridge", FACE, "--config", str(path)) as bridge:
        with connect_sync(bridge.url) as client:
            before = servers_of(client)
            path.write_text('{"mcpServers": {', "utf-8")
            assert wait_until(lambda: "what was read before stays" in bridge.err, within=WITHIN)
            assert servers_of(client) == before
        bridge.end()


@pytest.mark.parametrize("alone", [True, False])
def test_a_server_that_is_changed_ends_what_it_is_doing(alone: bool, tmp_path: Path) -> None:
    """Then its successor takes over, for the same client."""
    path = tmp_path / "servers.json"
    ours = entry(sys.executable, "examples/server.py")
    write(path, {"ours": ours})
    with watch(), listening("bridge", FACE, "--config", str(path)) as bridge:
        url = bridge.url.removesuffix("/mcp") + "/servers/ours/mcp" if alone else bridge.url
        tool = "countdown" if alone else "ours__countdown"
        with connect_sync(url) as client, ThreadPoolExecutor() as threads:
            assert client.tools()
            counting = threads.submit(client.call_tool, tool, {"start": 25})
            assert wait_until(lambda: status(bridge)["ours"]["in_flight"] == 1, within=WITHIN)
            write(path, {"ours": {**ours, "env": {"A": "1"}}})
            assert wait_until(lambda: "ours changed" in bridge.err, within=WITHIN)
            assert not counting.done()
            counted = counting.result(WITHIN)
            assert not counted.is_error
            assert not client.call_tool(tool, {"start": 1}).is_error
        bridge.end()


def test_a_bridge_does_not_start_itself_without_end(tmp_path: Path) -> None:
    """Where the file has the bridge with that file for a server, that server is refused."""
    path = tmp_path / "servers.json"
    write(
        path,
        {"good": entry(*server("toolbox")), "itself": entry(*command("bridge", "stdio", "--config", path))},
    )
    with watch(), listening("bridge", FACE, "--config", str(path)) as bridge:
        with connect_sync(bridge.url) as client:
            assert servers_of(client) == {"good"}
        bridge.end()

    assert "it would start itself without end" in bridge.err


def test_who_has_no_token_learns_of_no_server(tmp_path: Path, servers: dict[str, object]) -> None:
    """Neither of those that there are nor of those that there are not."""
    path = tmp_path / "servers.json"
    write(path, servers)
    env = {**os.environ, "TOKEN": "hush-hush"}
    with watch(), listening("bridge", FACE, "--config", str(path), "--token-env", "TOKEN", env=env) as bridge:
        told = {
            name: anywire("list", bridge.url.removesuffix("/mcp") + f"/servers/{name}/mcp").code
            for name in ("good", "none")
        }
        bridge.end()

    assert told == {"good": 3, "none": 3}


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("stdio", "--config", "/no/such/file"), "there is no file /no/such/file"),
        (("stdio", "--config", "x", "http://127.0.0.1:1/mcp"), "a URL does, too"),
        (("stdio", "--config", "x", "--env", "A=1"), "--env does, too"),
        (("sse+http://127.0.0.1:0/sse", "--config", "x"), "old clients can have one server"),
        (("http://127.0.0.1:0/status", "--config", "x"), "/status is where something else is"),
        (("http://127.0.0.1:0/servers/a/mcp", "--config", "x"), "/servers/a/mcp is where something else is"),
        (("http://127.0.0.1:0/mcp", "--config", "x", "--forward-header", "X-Who"), "for one server"),
    ],
)
def test_what_cannot_be_is_refused(words: tuple[str, ...], sentence: str) -> None:
    """With a sentence, and exit code 2."""
    refused = anywire("bridge", *words)

    assert refused.code == 2
    assert sentence in refused.err
