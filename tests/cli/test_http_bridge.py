"""`anywire bridge` with HTTP at either end."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.commands import ROOT, WITHIN, anywire, server
from tests.cli.serving import LEAVES_WITHIN, listening
from tests.cli.test_http import INITIALIZE, WORKSHOP, asked
from tests.interop.processes import anywire as command
from tests.interop.processes import command_line, descendants, spawn, wait_until, watch

pytestmark = pytest.mark.chaos

TOOLBOX = ["--", *server("toolbox")]


def children() -> list[int]:
    """The servers that the bridge runs, by the table of processes."""
    lines = {pid: command_line(pid) for pid, state in descendants().items() if state != "Z"}
    return [pid for pid, line in lines.items() if "servers.toolbox" in line and "anywire" not in line]


@contextmanager
def calling(tool: str, url: str, expected: str) -> Generator[subprocess.Popen[bytes]]:
    """A call that never ends, begun in a session of its own."""
    process = subprocess.Popen(
        [sys.executable, "-m", "anywire", "call", tool, "--era", "legacy", url],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=ROOT,
    )
    try:
        assert process.stderr is not None
        assert expected in process.stderr.readline().decode()
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize(
    "face", ["http://127.0.0.1:0/mcp", "http://127.0.0.1:0", "sse+http://127.0.0.1:0/sse"]
)
def test_a_server_on_stdio_is_offered_over_http(face: str) -> None:
    """The client commands see the server as it is."""
    with watch(), listening("bridge", face, *TOOLBOX) as bridge:
        listed = anywire("list", "--json", "--era", "legacy", bridge.url)
        called = anywire("call", "steps", "--era", "legacy", bridge.url)
        code, told = bridge.end()

    assert [tool["name"] for tool in json.loads(listed.out)["tools"]][:2] == ["show", "fail"]
    assert (called.code, called.out) == (0, "done\n")
    assert "progress 1/2: first" in called.err
    assert "server warning (box): a screw is loose" in called.err
    assert code == 143
    assert told.count("the toolbox is open\n") == 2  # what a server says on stderr is passed on


def test_each_session_has_a_server_of_its_own_which_ends_with_it() -> None:
    """One that is asked for nothing is not there."""
    with watch(), listening("bridge", "http://127.0.0.1:0/mcp", *TOOLBOX) as bridge:
        url = bridge.url
        assert children() == []
        with calling("wait", url, "waiting") as first:
            (one,) = children()
            with calling("wait", url, "waiting") as second:
                assert len(children()) == 2
                second.send_signal(signal.SIGTERM)
                assert second.wait(timeout=WITHIN) == 143
                assert wait_until(lambda: children() == [one], within=WITHIN)
            first.send_signal(signal.SIGTERM)
            assert first.wait(timeout=WITHIN) == 143
        assert wait_until(lambda: children() == [], within=WITHIN)
        assert bridge.end()[0] == 143


def test_requests_that_belong_to_no_session_share_a_server() -> None:
    """It is one that shakes hands, and stateless clients come one after the other."""
    with watch(), listening("bridge", "http://127.0.0.1:0/mcp", *TOOLBOX) as bridge:
        for _ in range(3):
            called = anywire("call", "steps", "--era", "modern", bridge.url)
            assert (called.code, called.out) == (0, "done\n")
            assert "progress 1/2: first" in called.err
        _, told = bridge.end()

    assert told.count("the toolbox is open\n") == 1


def test_a_server_that_crashes_costs_its_own_session_only() -> None:
    """Its last words and its command line are for the bridge's own log; whoever called hears how it ended."""
    words = [*TOOLBOX, "--api-key", "hunter2"]
    with watch(), listening("bridge", "http://127.0.0.1:0/mcp", *words) as bridge:
        crashed = anywire("call", "crash", bridge.url)
        after = anywire("ping", bridge.url)
        _, told = bridge.end()

    assert crashed.code == 5
    assert "the server behind the bridge exited with code" in crashed.err
    for secret in ("toolbox", "hunter2", "fell down"):
        assert secret not in crashed.err
    assert "the toolbox fell down" in told
    assert "--api-key ***" in told
    assert "hunter2" not in told
    assert after.code == 0


def test_the_sessions_of_a_bridge_are_as_few_and_idle_as_short_as_its_options_say() -> None:
    """Each costs a process, and nobody may end it."""
    words = ("bridge", "http://127.0.0.1:0/mcp", "--max-sessions", "2", "--idle", "1s", *TOOLBOX)
    with watch(), listening(*words) as bridge:
        for _ in range(4):
            anywire("list", "--json", bridge.url)  # ends its session
        for _ in range(4):
            assert asked(bridge.url)[0] == 200  # and these leave theirs behind
        assert wait_until(lambda: len(children()) <= 2, within=WITHIN)
        assert wait_until(lambda: not children(), within=WITHIN)


@pytest.mark.parametrize("words", [("--max-sessions", "0"), ("--max-sessions", "x"), ("--idle", "0")])
def test_a_number_that_is_none_is_refused(words: tuple[str, ...]) -> None:
    done = anywire("bridge", "http://127.0.0.1:0/mcp", *words, *TOOLBOX)
    assert done.code == 2


@pytest.mark.parametrize("words", [("--max-sessions", "3"), ("--idle", "5m")])
def test_options_for_sessions_belong_to_http(words: tuple[str, ...]) -> None:
    done = anywire("bridge", "stdio", *words, *TOOLBOX)
    assert done.code == 2
    assert f"{words[0]} is for a face over HTTP" in done.err


def test_a_command_that_cannot_be_started_is_told_to_who_asks() -> None:
    """The bridge itself goes on."""
    with listening("bridge", "http://127.0.0.1:0/mcp", "--", "anywire-no-such-program") as bridge:
        done = anywire("ping", bridge.url)
        assert bridge.process.poll() is None

    assert done.code in (4, 5)
    assert "the server behind the bridge could not be started; see the bridge's log" in done.err
    assert "anywire-no-such-program" not in done.err
    assert "no program 'anywire-no-such-program' was found" in bridge.err


@pytest.mark.parametrize("old", [False, True], ids=["http", "sse"])
def test_a_server_over_http_is_offered_on_stdio(old: bool) -> None:
    """A host that starts commands reaches it through one."""
    with listening("serve", WORKSHOP, "--sse" if old else "--http", "127.0.0.1:0") as serving:
        url = f"sse+{serving.url}" if old else serving.url
        done = anywire("call", "shout", "text=hello", "--", *command("bridge", "stdio", url))
        words = ["--framing", "headers", "--", *command("bridge", "stdio+headers", url)]
        framed = anywire("call", "shout", "text=framed", *words)

    assert (done.code, done.out, done.err) == (0, "HELLO\n", "")
    assert (framed.code, framed.out, framed.err) == (0, "FRAMED\n", "")


def test_nobody_at_the_url_is_told_to_the_host() -> None:
    """As the answer to what it asked."""
    done = anywire("ping", "--", *command("bridge", "stdio", "http://127.0.0.1:1/mcp"))

    assert done.code == 5
    assert "POST http://127.0.0.1:1/mcp: " in done.err


# The end.


@pytest.mark.parametrize(
    ("option", "number", "code"), [("--http", signal.SIGTERM, 143), ("--sse", signal.SIGINT, 130)]
)
def test_a_signal_ends_a_server_with_open_streams_and_calls(
    option: str, number: signal.Signals, code: int
) -> None:
    """At once, without a word."""
    with (
        watch(),
        listening("serve", WORKSHOP, option, "127.0.0.1:0") as serving,
        calling("wait", serving.url, "waiting"),
    ):
        ended, told = serving.end(number)

    assert (ended, told.count("\n")) == (code, 1)


def test_a_signal_ends_a_server_whose_tool_hears_nothing() -> None:
    """A thread that blocks is left behind."""
    with watch(), listening("serve", WORKSHOP, "--http", "127.0.0.1:0") as serving:
        url = serving.url
        process = subprocess.Popen(
            [sys.executable, "-m", "anywire", "call", "block", url], stderr=subprocess.DEVNULL, cwd=ROOT
        )
        try:
            threads = Path(f"/proc/{serving.process.pid}/task")
            before = len(list(threads.iterdir()))
            assert wait_until(lambda: len(list(threads.iterdir())) > before, within=WITHIN)
            assert serving.end()[0] == 143
        finally:
            process.kill()
            process.wait(timeout=WITHIN)


@pytest.mark.parametrize(
    ("face", "number", "code"),
    [("http://127.0.0.1:0/mcp", signal.SIGINT, 130), ("sse+http://127.0.0.1:0", signal.SIGTERM, 143)],
)
def test_a_signal_ends_a_bridge_and_all_its_servers(face: str, number: signal.Signals, code: int) -> None:
    """Two calls are in flight, and neither server reads the end of its input."""
    with (
        watch(),
        listening("bridge", face, *TOOLBOX) as bridge,
        calling("wait", bridge.url, "waiting"),
        calling("wait", bridge.url, "waiting"),
    ):
        assert len(children()) == 2
        ended, _ = bridge.end(number)
        assert children() == []

    assert ended == code


@pytest.mark.parametrize("face", ["http://127.0.0.1:0/mcp", "stdio"])
def test_a_server_that_ignores_every_signal_does_not_keep_a_bridge(face: str) -> None:
    """It is killed."""
    deaf = ["--", *server("ignores_term")]
    with watch():
        if face == "stdio":
            process = subprocess.Popen(
                [sys.executable, "-m", "anywire", "bridge", "stdio", *deaf],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                cwd=ROOT,
            )
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
            process.stdin.flush()
            assert process.stdout.readline()
            process.terminate()
            assert process.wait(timeout=LEAVES_WITHIN) == 143
            process.stdin.close()
            process.stdout.close()
        else:
            with listening("bridge", face, *deaf) as bridge:
                assert anywire("ping", bridge.url).code == 0
                assert bridge.end()[0] == 143


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_a_bridge_to_a_url_with_a_call_in_flight(number: signal.Signals, code: int) -> None:
    """The host that started it need not wait."""
    call = {"name": "wait", "arguments": {}, "_meta": {"progressToken": 1}}
    said = [
        INITIALIZE,
        '{"jsonrpc":"2.0","method":"notifications/initialized"}',
        json.dumps({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call}),
    ]
    with (
        listening("serve", WORKSHOP, "--http", "127.0.0.1:0") as serving,
        spawn(command("bridge", "stdio", serving.url)) as bridge,
    ):
        assert bridge.stdin is not None
        assert bridge.stdout is not None
        bridge.stdin.write(f"{said[0]}\n".encode())
        assert b'"id":1' in bridge.stdout.readline()
        bridge.stdin.write("".join(f"{line}\n" for line in said[1:]).encode())
        assert b"notifications/progress" in bridge.stdout.readline()
        bridge.send_signal(number)
        assert bridge.wait(timeout=LEAVES_WITHIN) == code
