"""The control channel of Claude Code: its program with a server in this process, its SDK with a host of ours.

The program asks a model that is ours (`scripts/fake_model.py`), which wants one tool after another. The SDK is
given a program that has no agent in it (`scripts/control_host.py`) and calls the tools by itself.
"""

from __future__ import annotations

import asyncio
import json
import shlex
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from anywire import Context, PeerError, Server
from anywire.transport.control.child import ChildChannel
from anywire.transport.control.router import ControlRouter
from anywire.transport.process import Command
from tests.interop.agent import json_lines, noted, surroundings
from tests.interop.listening import free_port, listening
from tests.interop.peers import SCRIPTS
from tests.interop.processes import run, watch

pytestmark = [pytest.mark.interop, pytest.mark.large]

WITHIN = 90.0

#: What the model wants, in this order; it ends its turn when it is not offered the next tool.
MOVES: list[tuple[str, dict[str, Any]]] = [
    ("weigh", {"parcel": "é🙂", "grams": 250}),
    ("where", {}),
    ("learn", {}),
    ("learnt", {}),
    ("fail", {}),
    ("wait", {}),
    ("weigh", {"parcel": "é🙂", "grams": 300}),
]
LAST_WORDS = "The tool has answered."

FLAGS = "--input-format stream-json --output-format stream-json --verbose --permission-prompt-tool stdio"
CONFIG = {"mcpServers": {"calc": {"type": "sdk", "name": "calc"}}}


class Tapped(ChildChannel):
    """Keeps what goes over it, in the order of time: a mark and a line.

    The program answers `roots/list` and does not declare that it does; here it is made to, since a server of
    ours asks only who does.
    """

    def __init__(self, command: Command) -> None:
        super().__init__(command)
        self.lines: list[tuple[str, dict[str, Any]]] = []

    def take_frame(self, frame: bytes) -> None:
        """Hear a line."""
        if b'"method":"initialize"' in frame:
            frame = frame.replace(b'"capabilities":{}', b'"capabilities":{"roots":{}}')
        self.lines.append(("<", json.loads(frame)))
        super().take_frame(frame)

    def write_line(self, line: bytes, urgent: bool = True) -> None:
        """Say a line."""
        self.lines.append((">", json.loads(line)))
        super().write_line(line, urgent)


@dataclass
class Seen:
    """What one conversation left behind."""

    lines: list[tuple[str, dict[str, Any]]] = field(default_factory=list[tuple[str, dict[str, Any]]])
    """All that went over the channel."""
    results: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    """How the turns ended."""
    asked: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    """The requests that reached the model, or the proxy."""
    allowed: list[str] = field(default_factory=list[str])
    """The tools for which the program asked permission."""
    told: list[str] = field(default_factory=list[str])
    """What happened in the tools."""

    def messages(self, mark: str) -> list[dict[str, Any]]:
        """The messages of MCP that the program sent (`<`) or was sent (`>`) by themselves."""
        requests = [line["request"] for side, line in self.lines if side == mark and "request" in line]
        return [request["message"] for request in requests if request["subtype"] == "mcp_message"]

    def tool_result(self, number: int) -> dict[str, Any]:
        """What the model was given for its move of that number, counted from 1."""
        for request in self.asked[::-1]:
            for message in request["body"]["messages"]:
                for block in message["content"] if not isinstance(message["content"], str) else ():
                    if block["type"] == "tool_result" and block["tool_use_id"] == f"toolu_{number}":
                        return block
        raise AssertionError(f"the model was given nothing for its move {number}")


def calc(seen: Seen, waiting: asyncio.Event) -> Server:
    """The server behind the router."""
    server = Server("calc", version="1")

    @server.tool
    def weigh(parcel: str, grams: int) -> str:
        """Weigh a parcel."""
        return f"{parcel} weighs {grams} g"

    @server.tool
    async def where(context: Context) -> str:
        """Ask for folders, with progress around it."""
        await context.progress(1, 2, "asking")
        try:
            roots = ",".join(root.uri for root in await context.roots())
        except PeerError as error:
            roots = f"refused with {error.code}"
        await context.progress(2, 2, "asked")
        return roots

    @server.tool
    async def learn() -> str:
        """Get one more tool."""

        @server.tool
        def learnt() -> str:
            """Be there now."""
            return "it is new"

        return "there is one more tool"

    @server.tool
    async def fail() -> str:
        """Fail."""
        raise ValueError("it is broken")

    @server.tool
    async def wait() -> str:
        """Wait to be cancelled."""
        waiting.set()
        try:
            await asyncio.Event().wait()
        finally:
            seen.told.append("cancelled")
        return "never"

    return server


async def converse(program: Path, folder: Path, port: int) -> Seen:
    """Take turns until the model has made its moves, and interrupt the one that waits."""
    seen, waiting, results = Seen(), asyncio.Event(), asyncio.Queue[dict[str, Any]]()
    environment = surroundings(folder / "home", port)
    # Nothing of this process's environment: it may hold keys and other endpoints.
    command = ["env", "-i", *(f"{name}={value}" for name, value in environment.items()), str(program)]
    command += [*FLAGS.split(), "--strict-mcp-config", "--mcp-config", json.dumps(CONFIG)]
    channel = Tapped(Command((*command, "--setting-sources", ""), cwd=str(folder / "work")))
    seen.lines = channel.lines

    def take(line: dict[str, Any]) -> None:
        if line["type"] == "result":
            results.put_nowait(line)

    def allow(asked: dict[str, Any]) -> object:
        seen.allowed.append(asked["tool_name"])
        return {"behavior": "allow", "updatedInput": asked["input"]}

    async def interrupt(router: ControlRouter) -> None:
        await waiting.wait()
        await router.request("interrupt")

    server = calc(seen, waiting)
    handlers = {"can_use_tool": allow}
    async with ControlRouter(channel, {"calc": server.accept}, handlers=handlers, on_line=take) as router:
        interrupting = asyncio.create_task(interrupt(router))
        await router.initialize()
        for _ in MOVES:
            prompt = {"role": "user", "content": "Go on."}
            router.write({"type": "user", "message": prompt, "parent_tool_use_id": None, "session_id": "s"})
            seen.results.append(await results.get())
            if seen.results[-1].get("result") == LAST_WORDS:
                break
        await interrupting
    await server.close()
    return seen


@pytest.fixture(scope="module")
def seen(claude_code: Path, tmp_path_factory: pytest.TempPathFactory) -> Seen:
    """One conversation, after which the program may not be left."""
    folder, port = tmp_path_factory.mktemp("control"), free_port()
    for name in ("home", "work"):
        (folder / name).mkdir()
    moves = [word for tool, arguments in MOVES for word in (f"mcp__calc__{tool}", json.dumps(arguments))]
    model = [sys.executable, SCRIPTS / "fake_model.py", str(port), folder / "model", *moves]

    async def bounded() -> Seen:
        async with asyncio.timeout(WITHIN):
            return await converse(claude_code, folder, port)

    with watch(), listening(model, port):
        seen = asyncio.run(bounded())
    seen.asked = noted(folder / "model")
    return seen


def text_of(block: dict[str, Any]) -> str:
    """The text of a tool's result, which the program writes in either way."""
    content = block["content"]
    return content if isinstance(content, str) else "".join(each["text"] for each in content)


def test_the_program_connects_before_it_answers_the_sdk(seen: Seen) -> None:
    """It sends `initialize` of MCP first, and then its answer to the `initialize` of the channel."""
    kinds = [(mark, line.get("request", line).get("subtype"), line["type"]) for mark, line in seen.lines[:4]]
    assert kinds[0] == (">", "initialize", "control_request")
    assert kinds[1] == ("<", "mcp_message", "control_request")
    assert kinds[2][2] == "control_response"
    (begun, *_) = [line for _, line in seen.lines if line.get("subtype") == "init"]
    assert [(server["name"], server["status"]) for server in begun["mcp_servers"]] == [("calc", "connected")]


def test_a_tool_is_called_with_the_arguments_of_the_model(seen: Seen) -> None:
    """Its result is what the model is given; the program has asked for permission before."""
    assert text_of(seen.tool_result(1)) == "é🙂 weighs 250 g"
    assert text_of(seen.tool_result(7)) == "é🙂 weighs 300 g"
    assert seen.allowed == [f"mcp__calc__{tool}" for tool, _ in MOVES]


def test_a_question_from_inside_a_tool_is_answered(seen: Seen) -> None:
    """The program knows no folders over this channel: it says so in a message of its own, as JSON-RPC has it."""
    (question,) = [message for message in seen.messages(">") if message["method"] == "roots/list"]
    (reply,) = [message for message in seen.messages("<") if "method" not in message]
    assert reply["id"] == question["id"]
    assert reply["error"]["code"] == -32601
    assert text_of(seen.tool_result(2)) == "refused with -32601"


def test_progress_is_taken(seen: Seen) -> None:
    """Before and after the question, for the token of the call; each is acknowledged."""
    told = [message["params"] for message in seen.messages(">") if "progress" in message["method"]]
    (call,) = [each for each in seen.messages("<") if each.get("params", {}).get("name") == "where"]
    token = call["params"]["_meta"]["progressToken"]
    assert [(each["progressToken"], each["progress"]) for each in told] == [(token, 1), (token, 2)]
    ours = {line["request_id"] for mark, line in seen.lines if mark == ">" and "request" in line}
    answers = [line["response"] for mark, line in seen.lines if mark == "<" and "response" in line]
    assert ours == {answer["request_id"] for answer in answers}
    assert {answer["subtype"] for answer in answers} == {"success"}


def test_a_changed_list_is_read_again(seen: Seen) -> None:
    """And the model is offered the new tool."""
    methods = [message.get("method") for message in seen.messages("<")]
    assert methods.count("tools/list") == 2
    assert text_of(seen.tool_result(4)) == "it is new"


def test_a_failing_tool_is_an_error_to_the_model(seen: Seen) -> None:
    """With the words of the exception."""
    result = seen.tool_result(5)
    assert result["is_error"]
    assert "it is broken" in text_of(result)


def test_an_interrupt_cancels_the_tool_and_ends_the_turn(seen: Seen) -> None:
    """The handler is cancelled, the call is answered, and the conversation goes on."""
    assert seen.told == ["cancelled"]
    (cancelled,) = [each for each in seen.messages("<") if each.get("method") == "notifications/cancelled"]
    answers = [line["response"] for mark, line in seen.lines if mark == ">" and "response" in line]
    replies = [
        answer["response"]["mcp_response"] for answer in answers if "mcp_response" in answer["response"]
    ]
    (error,) = [reply["error"] for reply in replies if "error" in reply]
    assert error["code"] == -32800
    assert any(reply.get("id") == cancelled["params"]["requestId"] and "error" in reply for reply in replies)
    assert "error_during_execution" in [result["subtype"] for result in seen.results]
    assert seen.results[-1]["result"] == LAST_WORDS


def test_nothing_is_asked_of_anybody_else(seen: Seen) -> None:
    """No telemetry, no update: the proxy would have seen a CONNECT."""
    assert {(request["method"], request["path"].partition("?")[0]) for request in seen.asked} == {
        ("POST", "/v1/messages")
    }


# The SDK's side.


def script(folder: Path, *words: str | Path) -> Path:
    """A program that runs a command line: the SDK takes a path."""
    path = folder / "agent"
    path.write_text(f"#!/bin/sh\nexec {shlex.join(map(str, words))}\n", encoding="utf-8")
    path.chmod(0o700)
    return path


@pytest.mark.parametrize(("era", "revision"), [("legacy", "2025-11-25"), ("modern", "2026-07-28")])
def test_the_sdk_serves_a_host_of_ours(
    claude_sdk_python: Path, tmp_path: Path, era: str, revision: str
) -> None:
    """Its server is listed, called, interrupted, and may fail; the SDK believes that it speaks to its program."""
    agent = script(tmp_path, sys.executable, SCRIPTS / "control_host.py")
    program = [claude_sdk_python, SCRIPTS / "control_sdk.py", agent]
    done = run(program, within=WITHIN, env={"ERA": era})
    assert done.returncode == 0, done
    *messages, last = json_lines(done.stdout)
    assert [message["kind"] for message in messages] == ["AssistantMessage", "ResultMessage"]
    assert json.loads(messages[-1]["result"]) == {
        "server": "calc",
        "revision": revision,
        "weigh": {"text": "é🙂 weighs 250 g", "is_error": False},
        "fail": {"text": "it is broken", "is_error": True},
        "wait": "cancelled",
    }
    assert last["ran"] == ["weigh", "fail", "wait", "wait has ended"]
