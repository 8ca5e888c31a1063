"""Claude Code's command-line program as a client of an anywire server, with a model that is ours.

The model calls one tool and is given its result. All that the program sends to the server is written down
on the way, and nothing that it sends leaves this machine: its model is on loopback, and so is the proxy
for everything else, which refuses.
"""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

import pytest

from tests.interop.agent import json_lines, noted, surroundings
from tests.interop.listening import anywire_listening, free_port, listening
from tests.interop.peers import SCRIPTS
from tests.interop.processes import anywire, run, watch

pytestmark = [pytest.mark.interop, pytest.mark.large]

Wire = Literal["stdio", "http", "sse"]

SERVER = f"{SCRIPTS / 'tally_server.py'}:server"
ARGUMENTS = {"parcel": "é🙂", "grams": 250}
RESULT = "é🙂 weighs 250 g"
OFFERED_AS = "mcp__tally__weigh"
IN_META = "io.modelcontextprotocol/protocolVersion"

WITHIN = 90.0


@dataclass(frozen=True)
class Turn:
    """What one run of the program left behind, each list in the order of time; of several connections, one after another."""

    events: list[dict[str, Any]]
    """What it printed."""
    sent: list[dict[str, Any]]
    """The messages that it sent to the server."""
    ran: list[dict[str, Any]]
    """The arguments of each call that the tool saw."""
    asked: list[dict[str, Any]]
    """The requests that reached the model, or the proxy."""

    def methods(self) -> list[str]:
        """What it asked the server for."""
        return [message["method"] for message in self.sent if "method" in message]

    def only(self, method: str) -> dict[str, Any]:
        """The parameters of a method that it asked for once."""
        (found,) = [message for message in self.sent if message.get("method") == method]
        return found["params"]


def take_turn(program: Path, wire: Wire, folder: Path) -> Turn:
    """Let the program ask its model, call the tool and ask again."""
    with served(wire, folder) as entry:
        return take_turn_with(program, folder, "tally", entry, "weigh")


def take_turn_with(program: Path, folder: Path, name: str, entry: Mapping[str, Any], tool: str) -> Turn:
    """The same with a server of that name, whose entry it is given, and a tool of that."""
    home, place, log = folder / "home", folder / "place", folder / "model"
    for each in (home, place):
        each.mkdir()
    port, offered = free_port(), f"mcp__{name}__{tool}"
    model = [sys.executable, SCRIPTS / "fake_model.py", str(port), log, offered, json.dumps(ARGUMENTS)]
    with listening(model, port):
        config = folder / "servers-of-the-host.json"
        config.write_text(json.dumps({"mcpServers": {name: entry}}), encoding="utf-8")
        # Nothing of this process's environment: it may hold keys and other endpoints.
        command = ["env", "-i", *(f"{key}={value}" for key, value in surroundings(home, port).items())]
        command += [str(program), "--print", "Weigh the parcel.", "--output-format", "stream-json"]
        command += ["--verbose", "--strict-mcp-config", "--mcp-config", str(config)]
        command += ["--setting-sources", "", "--allowedTools", offered]
        done = run(command, within=WITHIN, cwd=place)
    assert done.returncode == 0, done
    sent = [message for path in sorted(folder.glob("wire*")) for message in messages(path.read_bytes())]
    return Turn(json_lines(done.stdout), sent, noted(folder / "tally"), noted(log))


@contextlib.contextmanager
def served(wire: Wire, folder: Path) -> Generator[dict[str, Any]]:
    """The server behind a tap, as an entry of the program's configuration."""
    tap = [sys.executable, str(SCRIPTS / "tap.py"), str(folder / "wire")]
    tally = {"TALLY": str(folder / "tally")}
    if wire == "stdio":
        command, *arguments = [*tap, "--", *anywire("serve", SERVER)]
        yield {"type": "stdio", "command": command, "args": arguments, "env": tally}
        return
    with anywire_listening(anywire("serve", SERVER, f"--{wire}", "127.0.0.1:0"), env=tally) as url:
        address, port = urlsplit(url), free_port()
        with listening([*tap, str(port), str(address.port)], port):
            yield {"type": wire, "url": f"http://127.0.0.1:{port}{address.path}"}


def messages(written: bytes) -> list[dict[str, Any]]:
    """The JSON-RPC messages in a stream of lines, or in the bodies of the requests on a connection."""
    if not written.startswith((b"POST ", b"GET ", b"DELETE ")):
        return json_lines(written)
    found: list[dict[str, Any]] = []
    while written:
        head, _, rest = written.partition(b"\r\n\r\n")
        fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])
        assert b"transfer-encoding" not in fields, head
        size = int(fields.get(b"content-length", 0))
        found += [json.loads(rest[:size])] if size else []
        written = rest[size:]
    return found


@pytest.fixture(scope="module", params=["stdio", "http", "sse"])
def wire(request: pytest.FixtureRequest) -> Wire:
    """What the program reaches the server over."""
    return request.param


@pytest.fixture(scope="module")
def turn(wire: Wire, claude_code: Path, tmp_path_factory: pytest.TempPathFactory) -> Turn:
    """One turn on each wire, after which neither the program nor its server may be left."""
    with watch():
        return take_turn(claude_code, wire, tmp_path_factory.mktemp(wire))


def test_the_tool_runs_once_with_the_arguments_of_the_model(turn: Turn) -> None:
    """Not twice, as after a connection that was taken for lost."""
    assert turn.only("tools/call")["name"] == "weigh"
    assert turn.only("tools/call")["arguments"] == ARGUMENTS
    assert turn.ran == [ARGUMENTS]


def test_the_model_is_offered_the_tool_and_given_its_result(turn: Turn) -> None:
    """It is asked twice: the description and the schema are in the first request, the text in the second."""
    first, second = [request["body"] for request in turn.asked]

    (offered,) = [tool for tool in first["tools"] if tool["name"] == OFFERED_AS]
    assert offered["description"] == "Weigh a parcel."
    assert {name: value["type"] for name, value in offered["input_schema"]["properties"].items()} == {
        "parcel": "string",
        "grams": "integer",
    }
    contents = [message["content"] for message in second["messages"] if message["role"] == "user"]
    # What is no list of blocks is a text.
    blocks: list[dict[str, Any]] = [block for each in contents if not isinstance(each, str) for block in each]
    (result,) = [block for block in blocks if block["type"] == "tool_result"]
    assert result["tool_use_id"] == "toolu_1"
    assert not result.get("is_error")
    assert result["content"] in (RESULT, [{"type": "text", "text": RESULT}])


def test_the_turn_ends_well(turn: Turn) -> None:
    """The program has the server as connected, and the model's last word as the result."""
    begun, ended = turn.events[0], turn.events[-1]

    assert [(server["name"], server["status"]) for server in begun["mcp_servers"]] == [("tally", "connected")]
    assert (ended["type"], ended["is_error"]) == ("result", False)
    assert ended["result"] == "The tool has answered."


def test_each_wire_has_its_era(wire: Wire, turn: Turn) -> None:
    """On stdio and Streamable HTTP the program speaks the stateless era and never falls back.

    On HTTP+SSE, which is older than that era, it begins with the handshake and does not ask for another.
    """
    if wire == "sse":
        assert turn.methods() == ["initialize", "notifications/initialized", "tools/list", "tools/call"]
        assert turn.only("initialize")["protocolVersion"] == "2025-11-25"
        assert turn.only("initialize")["clientInfo"]["name"] == "claude-code"
        return
    methods = turn.methods()
    assert methods[0] == "server/discover"
    # On stdio it asks once more, with an id of its ordinary kind.
    assert set(methods) == {"server/discover", "subscriptions/listen", "tools/list", "tools/call"}
    assert {message["params"]["_meta"][IN_META] for message in turn.sent} == {"2026-07-28"}


def test_nothing_is_asked_of_anybody_else(turn: Turn) -> None:
    """No telemetry, no update: the proxy would have seen a CONNECT."""
    assert {(request["method"], request["path"].partition("?")[0]) for request in turn.asked} == {
        ("POST", "/v1/messages")
    }
