"""A server as a process of its own: whatever its stdio is and however its client leaves."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tty
from pathlib import Path
from typing import Any

import pytest

from tests.transport.child import read_line, run

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="stdio is that of POSIX systems")

A_BUSY_MACHINE = 5
FRAMINGS = ("newline", "headers")


def request(id: object, method: str, params: object = None) -> bytes:
    message: dict[str, Any] = {"jsonrpc": "2.0", "id": id, "method": method}
    return json.dumps(message if params is None else message | {"params": params}).encode()


def call(id: object, tool: str, **arguments: object) -> bytes:
    return request(id, "tools/call", {"name": tool, "arguments": arguments})


def frame(framing: str, body: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body) if framing == "headers" else body + b"\n"


def bodies(framing: str, data: bytes) -> list[dict[str, Any]]:
    """The messages in a stream, every byte of which must belong to one."""
    if framing == "newline":
        assert data == b"" or data.endswith(b"\n")
        return [json.loads(line) for line in data.splitlines()]
    found: list[dict[str, Any]] = []
    while data:
        head, _, rest = data.partition(b"\r\n\r\n")
        name, length = head.split(b": ")
        assert name == b"Content-Length"
        found.append(json.loads(rest[: int(length)]))
        data = rest[int(length) :]
    return found


def words(reply: dict[str, Any]) -> str:
    return reply["result"]["content"][0]["text"]


@pytest.mark.parametrize("framing", FRAMINGS)
@pytest.mark.parametrize("tool", ["echo", "echo_in_thread"])
def test_forty_requests_and_the_end_give_forty_replies(framing: str, tool: str) -> None:
    """Everything asked is answered before the process leaves, in the framing it was asked in."""
    with run("server.py") as child:
        child.write(b"".join(frame(framing, call(id, tool, word=str(id))) for id in range(40)))
        child.end_input()

        replies = bodies(framing, child.read_all())
        assert sorted((reply["id"], words(reply)) for reply in replies) == [(id, str(id)) for id in range(40)]
        assert child.wait() == 0
        assert child.read_stderr().startswith(b"left with ")


@pytest.mark.parametrize("framing", FRAMINGS)
def test_prints_of_tools_and_their_children_stay_off_the_wire(framing: str) -> None:
    """They are all on stderr."""
    with run("server.py") as child:
        child.write(frame(framing, call(1, "prints", word="printed")))
        child.end_input()

        assert [words(reply) for reply in bodies(framing, child.read_all())] == ["printed"]
        assert child.wait() == 0
        said = child.read_stderr().splitlines()
        assert {b"printed", b"written to 1", b"from a child"} <= set(said)


@pytest.mark.parametrize(
    ("tool", "reason"),
    [
        ("stuck", "the call of tool 'stuck' was cancelled by the server"),
        ("waits", "the call of tool 'waits' was cancelled by the server"),
        ("stubborn", "the server ended before this call did"),
    ],
)
def test_a_call_that_does_not_end_is_answered_and_the_process_leaves(tool: str, reason: str) -> None:
    """In a thread, in a task, or deaf: exit code 0 all the same."""
    with run("server.py", "quick") as child:
        child.write(frame("newline", call(1, tool)))
        assert child.read_stderr_line() == b"waiting\n"
        child.end_input()

        (reply,) = bodies("newline", child.read_all())
        assert reply == {"jsonrpc": "2.0", "id": 1, "error": {"code": -32603, "message": reason}}
        assert child.wait() == 0


def test_with_the_usual_limits_a_stuck_server_has_left_in_time() -> None:
    """Before its launcher loses patience: most wait for five seconds or more."""
    with run("server.py") as child:
        child.write(frame("newline", call(1, "stuck")))
        assert child.read_stderr_line() == b"waiting\n"
        child.end_input()

        assert child.wait(5 + A_BUSY_MACHINE) == 0


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_ends_the_server_after_its_replies(number: signal.Signals, code: int) -> None:
    """Running calls are answered; the exit code tells the signal."""
    with run("server.py") as child:
        child.write(frame("newline", call(1, "waits")))
        assert child.read_stderr_line() == b"waiting\n"
        child.process.send_signal(number)

        (reply,) = bodies("newline", child.read_all())
        assert reply["error"]["message"] == "the call of tool 'waits' was cancelled by the server"
        assert child.wait() == code


def test_a_tool_may_end_the_process() -> None:
    """After its answer, with the code that it gave."""
    with run("server.py") as child:
        child.write(frame("newline", call(1, "exits", code=7)))

        (reply,) = bodies("newline", child.read_all())
        assert reply["error"]["message"] == "tool 'exits' ended the server"
        assert child.wait() == 7


def test_stdin_may_be_a_file(tmp_path: Path) -> None:
    """A script of requests, and a file for the replies."""
    source, target = tmp_path / "in", tmp_path / "out"
    source.write_bytes(b"".join(frame("newline", call(id, "echo", word="w")) for id in range(500)))
    with (
        source.open("rb") as stdin,
        target.open("wb") as stdout,
        run("server.py", stdin=stdin, stdout=stdout) as child,
    ):
        assert child.wait() == 0

    assert sorted(reply["id"] for reply in bodies("newline", target.read_bytes())) == list(range(500))


@pytest.mark.parametrize("how", ["closed", "null"])
def test_a_server_without_input_leaves_at_once(how: str) -> None:
    """There is nothing to serve."""
    with run("server.py", stdin=subprocess.DEVNULL, close=(0,) if how == "closed" else ()) as child:
        assert child.read_all() == b""
        assert child.wait() == 0


@pytest.mark.parametrize("when", ["before", "idle"])
def test_a_client_that_stops_reading_ends_the_server_and_losses_are_reported_once(when: str) -> None:
    """Before anything was asked or when all is said; its stdin stays open all the time."""
    with run("server.py") as child:
        assert child.process.stdout is not None
        if when == "idle":
            child.write(frame("newline", request(1, "ping")))
            assert child.read_line() == b'{"jsonrpc":"2.0","id":1,"result":{}}\n'
        child.process.stdout.close()
        child.process.stdout = None
        if when == "before":
            child.write(b"".join(frame("newline", call(id, "large", size=10_000)) for id in range(50)))

        assert child.wait() == 0
        said = child.read_stderr().splitlines()
        lost = [line for line in said if b"stdio: replies cannot be written" in line]
        assert len(lost) == (1 if when == "before" else 0)
        assert len(said) == len(lost) + 1


@pytest.mark.parametrize("closed", [(1,), (2,), (1, 2)])
def test_a_server_without_output_or_stderr_serves_its_input_to_the_end(closed: tuple[int, ...]) -> None:
    """Replies go where the output leads, and nothing fails."""
    with run("server.py", close=closed) as child:
        child.write(frame("newline", call(1, "prints", word="printed")))
        child.end_input()

        out = child.read_all()
        assert child.wait() == 0
        assert [words(reply) for reply in bodies("newline", out)] == ([] if 1 in closed else ["printed"])


def test_stdio_may_be_a_terminal() -> None:
    """Somebody types requests and reads the replies; hanging up is the end."""
    user, program = os.openpty()
    tty.setraw(program)
    with run("server.py", stdin=program, stdout=program) as child:
        os.close(program)
        os.write(user, frame("newline", call(1, "echo", word="typed")))
        reply = read_line(user)
        os.close(user)

        assert words(json.loads(reply)) == "typed"
        assert child.wait() == 0


def test_a_client_that_dies_in_a_call_ends_the_server() -> None:
    """Both ends of its pipes close at once; the handler is told to stop."""
    with run("server.py", "quick") as child:
        child.write(frame("newline", call(1, "waits")))
        assert child.read_stderr_line() == b"waiting\n"
        assert child.process.stdout is not None
        child.end_input()
        child.process.stdout.close()
        child.process.stdout = None

        assert child.wait() == 0
        assert b"stopped " in child.read_stderr()


@pytest.mark.parametrize("framing", FRAMINGS)
def test_a_large_reply_arrives_whole_although_the_input_has_ended(framing: str) -> None:
    """The end of input does not cut it."""
    with run("server.py") as child:
        child.write(frame(framing, call(1, "large", size=3_000_000)))
        child.end_input()

        (reply,) = bodies(framing, child.read_all())
        assert words(reply) == "x" * 3_000_000
        assert child.wait() == 0
