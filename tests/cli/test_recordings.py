"""`show`, `replay` and `diff`: what is made of a recording."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from anywire.cli.main import main
from tests.cli.commands import ROOT, WITHIN, anywire
from tests.record.recordings import asks, gives, line, recording, says

TALK: list[Any] = [
    ("·", {"event": "opened"}),
    ("→", asks(0, "initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo={"name": "x"})),
    (
        "←",
        gives(
            0,
            protocolVersion="2025-11-25",
            capabilities={"tools": {}},
            serverInfo={"name": "s", "version": "1"},
        ),
    ),
    ("→", {"jsonrpc": "2.0", "method": "notifications/initialized"}),
    ("→", asks(1, "tools/call", name="add", arguments={"a": 1})),
    ("←", asks(5, "tools/list"), 2),
    ("←", gives(1, content=[{"type": "text", "text": "one\u001b[31m"}])),
    ("→", asks(2, "tools/call", name="gone", arguments={"text": "x" * 200})),
    ("·", {"event": "closed"}),
]


@pytest.fixture
def wire(tmp_path: Path) -> Path:
    """A recording of two conversations."""
    path = tmp_path / "wire.ndjson"
    path.write_bytes(recording(*TALK))
    return path


def shown(capsys: pytest.CaptureFixture[str], *words: str | Path) -> tuple[int, list[str], str]:
    """What a command prints."""
    code = main([str(word) for word in words])
    told = capsys.readouterr()
    return code, told.out.splitlines(), told.err


def test_show_prints_a_line_for_each_thing(capsys: pytest.CaptureFixture[str], wire: Path) -> None:
    """With its time, what it answers, how long that took; whatever would steer a terminal is shown."""
    code, out, err = shown(capsys, "show", wire)

    assert (code, err) == (0, "")
    assert out[0].startswith("session 1: srv, 2026-")
    assert out[1:6] == [
        "    0.000  · opened",
        '    0.100  → initialize (0), 145 B  {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x"}}',
        '    0.200  ← initialize (0): result after 100 ms, 148 B  {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}…',
        "    0.300  → notifications/initialized, 57 B",
        '    0.400  → tools/call add (1), 101 B  {"name": "add", "arguments": {"a": 1}}',
    ]
    assert out[6].startswith("session 2: srv, ")
    assert out[7] == "[2]    0.500  ← tools/list (5), 65 B"
    assert "tools/call add (1): result after 200 ms" in out[8]
    assert r"\u001b" in out[8]
    assert len(out[9]) == 120
    assert out[10:] == [
        "[1]    0.800  · closed",
        "           ! tools/call gone (2) of the client was never answered (line 9)",
        "           ! tools/list (5) of the server was never answered (line 7)",
    ]


def test_show_chooses_by_session_server_and_method(capsys: pytest.CaptureFixture[str], wire: Path) -> None:
    """What belongs to a request comes with it."""
    _, second, _ = shown(capsys, "show", "--session", "2", wire)
    nobody = shown(capsys, "show", "--server", "other", wire)
    _, calls, _ = shown(capsys, "show", "--method", "tools/call", "--session", "1", "--full", wire)

    assert len(second) == 3
    assert nobody == (2, [], f"anywire: {wire} has no such conversation in it\n")
    assert [line.split()[1] for line in calls[1:]] == ["→", "←", "→"]
    assert "x" * 200 in calls[3]


def test_show_has_a_line_of_json_for_each_thing(capsys: pytest.CaptureFixture[str], wire: Path) -> None:
    """With the line of the request that a reply is of."""
    _, out, _ = shown(capsys, "show", "--json", wire)

    things = [json.loads(line) for line in out]
    reply = next(thing for thing in things if thing["kind"] == "result" and thing["id"] == 1)
    assert reply["of"] == {"line": 6, "id": 1, "method": "tools/call"}
    assert reply["milliseconds"] == 200.0
    assert things[-2]["unanswered"] == [{"line": 9, "id": 2, "method": "tools/call"}]
    assert things[-1] == {"kind": "unanswered", "unanswered": [{"line": 7, "id": 5, "method": "tools/list"}]}


def test_show_reads_what_it_can(capsys: pytest.CaptureFixture[str], wire: Path) -> None:
    """Of a file that is cut, and of one that others wrote in; what is none at all is refused."""
    whole = wire.read_bytes()
    wire.write_bytes(whole[: whole.index(b"tools/call")])
    _, cut, _ = shown(capsys, "show", wire)
    wire.write_bytes(whole.replace(b"\n", b'\n{"level":"info"}\nhello \xff\n'))
    _, mixed, _ = shown(capsys, "show", wire)
    wire.write_bytes(b'{"level":"info"}\n' * 1_000)
    foreign = shown(capsys, "show", wire)

    assert "! line 6 is cut: it has no end" in cut[-1]
    assert (
        "! line 2 cannot be read: it is JSON, and neither a message nor an event of a recording" in mixed[0]
    )
    assert "more lines cannot be read" in mixed[-1]
    assert any("tools/call add (1): result after 200 ms" in line for line in mixed)
    assert foreign == (2, [], f"anywire: {wire} is no recording: none of its lines is what --record writes\n")


def test_what_was_written_before_a_file_was_full_is_shown_with_it(
    capsys: pytest.CaptureFixture[str], wire: Path
) -> None:
    """A request and its answer may stand in two files."""
    lines = wire.read_bytes().splitlines(keepends=True)
    before = wire.with_name(f"{wire.name}.1")
    before.write_bytes(b"".join(lines[:6]))
    head = json.dumps({"event": "recording", "format": 1, "continues": True}).encode()
    wire.write_bytes(head + b"\n" + b"".join(lines[6:]))

    _, out, _ = shown(capsys, "show", "--session", "1", wire)

    assert any("tools/call add (1): result after 200 ms" in line for line in out)


def test_show_follows_a_recording_and_what_takes_its_place(wire: Path) -> None:
    """Until it is interrupted."""
    command = [sys.executable, "-m", "anywire", "show", "-f", "--json", str(wire)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT) as process:
        assert process.stdout is not None
        kinds = [json.loads(process.stdout.readline())["kind"] for _ in range(9)]
        with wire.open("ab") as file:
            file.write(line("→", asks(9, "ping"), 10)[:20])
            file.flush()
            file.write(line("→", asks(9, "ping"), 10)[20:])
        added = json.loads(process.stdout.readline())
        new = wire.with_name("new")
        new.write_bytes(recording(("→", asks(1, "prompts/list"))))
        new.replace(wire)
        other = json.loads(process.stdout.readline())
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=WITHIN)

    assert (kinds[0], kinds[-1], added["method"], other["method"]) == (
        "opened",
        "closed",
        "ping",
        "prompts/list",
    )
    assert (process.returncode, err) == (130, b"")


def test_replay_is_the_server_of_a_recording(wire: Path) -> None:
    """Strictly: what was not asked is refused with what is expected, and the exit code is 1."""
    right, wrong = ({**TALK[4][1]["params"], "arguments": {"a": n}} for n in (1, 2))
    opening = [TALK[1][1], TALK[3][1]]

    def ask(*requests: Any) -> str:
        return "".join(f"{json.dumps(each)}\n" for each in (*opening, *requests))

    good = anywire("replay", "--session", "1", wire, stdin=ask(asks("a", "tools/call", **right)))
    bad = anywire("replay", "--session", "1", wire, stdin=ask(asks("a", "tools/call", **wrong)))
    loose = anywire("replay", "--lenient", wire, stdin=ask(asks("a", "tools/call", **wrong)))

    assert (good.code, good.err) == (0, "")
    assert [json.loads(line)["id"] for line in good.out.splitlines()] == [0, "a"]
    assert (bad.code, bad.err) == (
        1,
        "anywire: the recording has another tools/call add here (line 6): params.arguments.a: 1 and 2\n",
    )
    assert json.loads(bad.out.splitlines()[-1])["error"]["code"] == -32602
    assert (loose.code, loose.out.splitlines()[1:]) == (0, good.out.splitlines()[1:])


def test_replay_takes_its_time_where_that_is_wanted(tmp_path: Path) -> None:
    """At the end of input, too: what was asked is answered."""
    path = tmp_path / "wire.ndjson"
    path.write_bytes(
        recording(("→", asks(1, "ping")), ("←", says("notifications/message", data=1)), ("←", gives(1)))
    )

    done = anywire("replay", "--timing", path, stdin=f"{json.dumps(asks(9, 'ping'))}\n")

    assert done.code == 0
    assert [json.loads(line).get("id") for line in done.out.splitlines()] == [None, 9]


def test_replay_and_diff_refuse_what_is_of_no_use(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A recording in which nothing was asked; a conversation that is not there; a command."""
    path = tmp_path / "wire.ndjson"
    path.write_bytes(recording(("·", {"event": "opened"})))
    other = tmp_path / "other.ndjson"
    other.write_bytes(recording(("←", says("notifications/message", data=1))))

    assert main(["replay", str(path)]) == 2
    assert main(["replay", str(other)]) == 2
    assert main(["diff", "--session", "4", str(other), str(other)]) == 2
    assert main(["show", str(other), "--", "ls"]) == 2
    assert capsys.readouterr().err.splitlines() == [
        f"anywire: {path} has no such conversation in it",
        f"anywire: {other} has no request that a client could make",
        f"anywire: {other} has no such conversation in it",
        "anywire: show reads a recording; it takes no command behind '--'",
    ]


def test_diff_tells_where_two_recordings_differ(capsys: pytest.CaptureFixture[str], wire: Path) -> None:
    """The exit code says whether."""
    other = wire.with_name("other.ndjson")
    other.write_bytes(wire.read_bytes().replace(b'"one', b'"two'))

    assert shown(capsys, "diff", wire, wire) == (0, [], "")
    code, out, _ = shown(capsys, "diff", wire, other)
    assert code == 1
    assert out == [
        rf'session 1: tools/call: result.content[0].text: "one\u001b[31m" and "two\u001b[31m" ({wire}:8, {other}:8)'
    ]
    assert json.loads(shown(capsys, "diff", "--json", wire, other)[1][0])["first"] == 8


def test_what_a_recording_says_is_a_line_and_steers_no_terminal(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Whoever made it: no line feeds, no escapes, nothing that turns the direction of a text."""
    path = tmp_path / "wire.ndjson"
    evil = "x\n[2] fine\u001b[31m\u202e\u009b"
    path.write_bytes(
        recording(("→", asks(1, evil, name=evil)), ("·", {"event": "closed", "reason": evil})),
    )
    _, lines, _ = shown(capsys, "show", path)
    other = anywire("replay", path, stdin=f"{json.dumps(asks(1, 'ping/pong'))}\n")

    assert len(lines) == 4
    for text in (*lines, other.err.rstrip("\n")):
        assert text.isprintable(), text


def test_a_folder_is_no_recording(capsys: pytest.CaptureFixture[str]) -> None:
    """Which is said in a sentence."""
    assert shown(capsys, "show", ".") == (2, [], "anywire: .: Is a directory\n")
