"""`anywire bridge` with a control channel at either end."""

from __future__ import annotations

import asyncio
import json
import sys

import pytest

from anywire import connect
from anywire.transport.control.child import ChildChannel
from anywire.transport.control.sole import control_target
from anywire.transport.process import Command
from tests.cli.commands import anywire
from tests.cli.serving import listening
from tests.cli.test_http import WORKSHOP
from tests.interop.processes import anywire as command
from tests.interop.processes import watch
from tests.transport.child import PROGRAMS

PROGRAM = [sys.executable, "-W", "error", str(PROGRAMS / "control.py")]


async def test_a_host_reaches_any_server_under_the_name_that_the_face_gives_it() -> None:
    """A bridge is the program that has it."""
    bridge = ChildChannel(Command(tuple(command("bridge", "control:calc", "--", *PROGRAM, "stdio"))))
    async with asyncio.timeout(60), connect(control_target("calc", bridge)) as client:
        results = await asyncio.gather(*(client.call_tool("double", {"number": n}) for n in range(20)))
        assert [result.text for result in results] == [str(2 * n) for n in range(20)]


@pytest.mark.parametrize("framing", ["newline", "headers"])
def test_a_server_that_lives_in_a_program_is_offered_on_stdio(framing: str) -> None:
    """The bridge starts the program, which ends with it."""
    face = {"newline": "stdio", "headers": "stdio+headers"}[framing]
    bridge = command("bridge", face, "control:calc", "--", *PROGRAM, "router")
    with watch():
        done = anywire("call", "double", "number=21", "--framing", framing, "--", *bridge)
    assert (done.code, done.out) == (0, "42\n"), done.err


def test_a_server_that_lives_in_a_program_is_offered_over_http() -> None:
    """Each session has a program of its own, and requests without one share another."""
    with (
        watch(),
        listening("bridge", "http://127.0.0.1:0/mcp", "control:calc", "--", *PROGRAM, "router") as it,
    ):
        for era in ("legacy", "modern", "legacy", "modern"):
            assert anywire("call", "double", "number=21", "--era", era, it.url).out == "42\n"
        _, told = it.end()
    assert told.count("left in order\n") == 3


@pytest.mark.parametrize("face", ["stdio", "control:other"])
def test_a_server_in_no_program_is_refused(face: str) -> None:
    """Its name alone says nothing."""
    done = anywire("bridge", face, "control:calc")
    assert done.code == 2
    assert "control:calc needs the program that has the server" in done.err


def test_a_program_without_that_server_is_told_to_the_client() -> None:
    """With the names that it has."""
    done = anywire("ping", "--", *command("bridge", "stdio", "control:clac", "--", *PROGRAM, "router"))
    assert done.code != 0
    assert "the program has no server 'clac'; servers are: calc, other" in done.err


def test_a_server_over_http_is_offered_to_a_host() -> None:
    """A URL is a target like any other."""

    async def call(url: str) -> str:
        bridge = ChildChannel(Command(tuple(command("bridge", "control:shop", url))))
        async with asyncio.timeout(60), connect(control_target("shop", bridge)) as client:
            return (await client.call_tool("shout", {"text": "hello"})).text

    with watch(), listening("serve", WORKSHOP, "--http", "127.0.0.1:0") as serving:
        assert asyncio.run(call(serving.url)) == "HELLO"


def line(number: int, message: dict[str, object], name: str = "calc") -> str:
    """A line of a host, with a message for a server."""
    request = {"subtype": "mcp_message", "server_name": name, "message": {"jsonrpc": "2.0", **message}}
    return json.dumps({"type": "control_request", "request_id": f"h{number}", "request": request}) + "\n"


def test_calls_in_flight_are_answered_where_a_host_ends_and_never_answered_us() -> None:
    """Hosts need not know that a program introduces itself."""
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "h", "version": "1"}}
    said = line(1, {"id": 0, "method": "initialize", "params": hello})
    said += line(2, {"method": "notifications/initialized"})
    for number in range(3, 8):
        call = {"name": "double", "arguments": {"number": number}}
        said += line(number, {"id": number, "method": "tools/call", "params": call})
    said += line(9, {"id": 9, "method": "ping"}, name="other")
    refused = {"subtype": "error", "request_id": "sdk-1", "error": "what is that"}
    said = json.dumps({"type": "control_response", "response": refused}) + "\n" + said
    done = anywire("bridge", "control:calc", "--", *PROGRAM, "stdio", stdin=said)
    assert done.code == 0, done.err
    assert [done.out.count(f'"text":"{2 * number}"') for number in range(3, 8)] == [1] * 5
    assert "there is no server 'other' here; servers are: calc" in done.out
