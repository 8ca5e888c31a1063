"""Which framing does the child speak?  It is found out, without saying anything twice that counts."""

from __future__ import annotations

import asyncio
import itertools
from pathlib import Path

import pytest

from anywire.errors import ProcessExited
from anywire.transport import process, stdio_client
from anywire.wire.framing import Framing
from anywire.wire.message import (
    ErrorResponse,
    Notification,
    Response,
    create_notification,
    create_request,
)
from tests.transport.children import eventually
from tests.transport.test_stdio_client import CALL, INITIALIZE, Wire, wire

PROBE = {"probe_seconds": 0.2}


@pytest.fixture(autouse=True)
def _forgetful(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test begins without verdicts, and is quick to take a child for idle."""
    monkeypatch.setattr(stdio_client, "_verdicts", {})
    monkeypatch.setattr(stdio_client, "_IDLE_SECONDS", 0.15)
    monkeypatch.setattr(stdio_client, "_LOOK_SECONDS", 0.03)
    monkeypatch.setattr(process, "EOF_SECONDS", 0.2)


def verdicts() -> list[Framing]:
    """What has been found out."""
    return list(stdio_client._verdicts.values())


def counting(path: Path) -> str:
    """Code that notes each start of the child."""
    return f"open({str(path)!r}, 'a').write('started\\n')\n"


def starts(path: Path) -> int:
    """How often it was started."""
    return path.read_text(encoding="utf-8").count("started")


async def test_server_that_speaks_in_lines_is_started_once(tmp_path: Path) -> None:
    """And remembered."""
    note = tmp_path / "note"
    async with wire(counting(note) + "serve()", None, **PROBE) as there:
        there.transport.post(INITIALIZE)
        await there.messages_come(1)

    assert starts(note) == 1
    assert verdicts() == [Framing.NEWLINE]


async def test_server_that_speaks_only_behind_headers_is_found_and_remembered(tmp_path: Path) -> None:
    """After one more start; the next time there is none."""
    note = tmp_path / "note"
    code = counting(note) + "serve_framed()"
    async with wire(code, None, **PROBE) as there:
        there.transport.post(INITIALIZE)
        await there.messages_come(1)
        there.transport.post(create_request(1, "ping"))
        await there.messages_come(2)
    assert starts(note) == 2
    assert verdicts() == [Framing.HEADERS]

    async with wire(code, None, probe_seconds=30.0) as there:
        there.transport.post(INITIALIZE)
        await there.messages_come(1)
    assert starts(note) == 3


async def test_reply_behind_headers_to_a_line_switches_the_reader(tmp_path: Path) -> None:
    """Such a server reads lines, so it gets lines."""
    note = tmp_path / "note"
    code = """
while True:
    request = read()
    say_framed({"jsonrpc": "2.0", "id": request["id"], "result": {}})
"""
    async with wire(counting(note) + code, None, **PROBE) as there:
        there.transport.post(INITIALIZE)
        await there.messages_come(1)
        there.transport.post(CALL)
        await there.messages_come(2)

    assert [message.id for message in there.messages if isinstance(message, Response)] == [b"0", b"1"]
    assert starts(note) == 1


@pytest.mark.parametrize(
    "noise", ["hello from the server\\n", '{"level": "info", "msg": "starting"}\\n', "\\n\\n", "no end"]
)
async def test_noise_before_headers_is_no_evidence(noise: str) -> None:
    """A banner, a log in JSON, blank lines, and a line that never ends."""
    code = f"sys.stdout.write('{noise}'); sys.stdout.flush()\nserve_framed()"
    async with wire(code, None, **PROBE) as there:
        there.transport.post(INITIALIZE)
        if noise == "no end":  # then the first header stands behind it, and the second is seen
            await eventually(lambda: there.transport._attempt.writing is Framing.HEADERS)
            await eventually(lambda: b"content-length" in there.transport._attempt.words.text.lower())
            return
        await there.messages_come(1)
        assert isinstance(there.messages[0], Response)


async def test_error_without_an_id_in_the_other_framing_says_that_lines_are_not_read(tmp_path: Path) -> None:
    """It is not the answer to what was asked, and there is no need to wait for the probe's time."""
    note = tmp_path / "note"
    code = (
        counting(note)
        + """
sys.stdin = os.fdopen(0, "rb", buffering=0)
first = os.read(0, 1)
if first != b"C":
    say_framed({"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "no header"}})
    while os.read(0, 65536): pass
    sys.exit(0)
rest = b""
while b"\\r\\n\\r\\n" not in rest: rest += os.read(0, 65536)
say_framed({"jsonrpc": "2.0", "id": 0, "result": {}})
while os.read(0, 65536): pass
"""
    )
    async with wire(code, None, probe_seconds=30.0) as there:
        there.transport.post(INITIALIZE)
        await there.messages_come(1)
        assert isinstance(there.messages[0], Response)

    assert starts(note) == 2
    assert verdicts() == [Framing.HEADERS]


async def test_error_of_a_server_that_understood_is_its_answer() -> None:
    """In the framing it was asked in, with an id or without."""
    code = 'read(); say({"jsonrpc": "2.0", "id": None, "error": {"code": -1, "message": "no"}}); read()'
    async with wire(code, None, **PROBE) as there:
        there.transport.post(INITIALIZE)
        await there.messages_come(1)
        assert isinstance(there.messages[0], ErrorResponse)


async def test_slow_starter_that_is_busy_is_not_started_again(tmp_path: Path) -> None:
    """Its processor time tells that it is not waiting for us."""
    note = tmp_path / "note"
    code = "until = time.monotonic() + 1.0\nwhile time.monotonic() < until: sum(range(10000))\nserve()"
    async with wire(counting(note) + code, None, **PROBE) as there:
        there.transport.post(INITIALIZE)
        await there.messages_come(1)

    assert starts(note) == 1


async def test_slow_starter_that_writes_to_stderr_is_not_started_again(tmp_path: Path) -> None:
    """It is at work, if not with the processor."""
    note = tmp_path / "note"
    code = "for n in range(10): sys.stderr.write('.'); sys.stderr.flush(); time.sleep(0.1)\nserve()"
    async with wire(counting(note) + code, None, **PROBE) as there:
        there.transport.post(INITIALIZE)
        await there.messages_come(1)

    assert starts(note) == 1


ON_BAD_LINES = {
    "skips them": "pass",
    "answers each": 'say({"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "Parse error"}})',
    "logs a notification": 'say({"jsonrpc": "2.0", "method": "notifications/message", "params": {}})',
    "leaves": "sys.exit(1)",
}


@pytest.mark.parametrize("on_bad_line", ON_BAD_LINES.values(), ids=ON_BAD_LINES)
async def test_slow_starter_that_is_idle_is_reached_in_the_end(on_bad_line: str) -> None:
    """It reads lines, whatever it does with the headers that it is offered meanwhile."""
    code = f"""
time.sleep(0.8)
while True:
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    if line.strip():
        try:
            request = json.loads(line)
        except ValueError:
            {on_bad_line}
        else:
            reply(request)
"""
    async with wire(code, None, **PROBE) as there:
        there.transport.post(INITIALIZE)
        await eventually(lambda: any(isinstance(message, Response) for message in there.messages), 20)
        assert not any(isinstance(message, ErrorResponse) for message in there.messages)
        there.transport.post(create_request(1, "ping"))
        count = len(there.messages)
        await there.messages_come(count + 1)
        assert isinstance(there.messages[-1], Response)

    assert verdicts() == [Framing.NEWLINE]
    assert there.closed == [None]


async def test_answer_that_comes_while_the_child_is_ended_says_what_it_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was slow, and had read the line; so it is asked again in lines."""
    monkeypatch.setattr(process, "EOF_SECONDS", 10.0)
    note = tmp_path / "note"
    code = counting(note) + "request = read(); time.sleep(0.8); reply(request); serve()"
    async with wire(code, None, **PROBE) as there:
        there.transport.post(INITIALIZE)
        await there.messages_come(1)

    assert starts(note) == 2
    assert there.transport._tried == [Framing.NEWLINE, Framing.NEWLINE]
    assert verdicts() == [Framing.NEWLINE]


async def test_what_must_not_be_done_twice_is_never_said_twice(tmp_path: Path) -> None:
    """A child that was asked to do something may be doing it, however silent it is."""
    note = tmp_path / "note"
    code = counting(note) + "request = read(); time.sleep(1.0); reply(request); read()"
    async with wire(code, None, **PROBE) as there:
        there.transport.post(CALL)
        await there.messages_come(1)

    assert starts(note) == 1


async def test_what_was_said_while_the_child_is_replaced_is_said_to_the_next_one() -> None:
    """In order, and nothing of it to the old one."""
    async with wire("serve_framed()", None, **PROBE) as there:
        there.transport.post(INITIALIZE)
        await eventually(lambda: there.transport._starting_again is not None)
        there.transport.post(create_request(7, "ping"))
        await there.messages_come(2)

    assert [message.id for message in there.messages if isinstance(message, Response)] == [b"0", b"7"]


async def test_child_that_leaves_in_both_framings_says_how() -> None:
    """The last of it counts."""
    async with wire("read(); sys.stderr.write('not today\\n'); sys.exit(9)", None, **PROBE) as there:
        there.transport.post(INITIALIZE)
        error = await there.end()
        assert isinstance(error, ProcessExited)
        assert (error.returncode, error.stderr_tail) == (9, "not today")


@pytest.mark.parametrize("moment", [0.0, 0.35, 0.5, 0.65])
async def test_closing_while_the_child_is_replaced_leaves_none(moment: float) -> None:
    """At whichever moment of it."""
    async with wire("time.sleep(30)", None, **PROBE) as there:
        there.transport.post(INITIALIZE)
        await asyncio.sleep(moment)
    assert there.closed == [None]


async def test_verdict_that_is_wrong_by_now_is_forgotten() -> None:
    """The program was exchanged; the next time both framings are tried."""
    code = "serve()"
    there = Wire(code, None, **PROBE)
    stdio_client._verdicts[(there.transport._command.argv, None)] = Framing.HEADERS
    async with wire("time.sleep(0.1)\n" + code, None) as other:
        assert other.transport._remembered is None
    stdio_client._verdicts.clear()
    async with wire(code, None, **PROBE) as first:
        key = (first.transport._command.argv, None)
    stdio_client._verdicts[key] = Framing.HEADERS
    async with wire(code, None, **PROBE) as again:
        assert again.transport._remembered is Framing.HEADERS

    assert verdicts() == []


def test_number_of_verdicts_is_bounded() -> None:
    """The oldest goes."""
    for number in itertools.count():
        there = Wire(f"# {number}", None)
        there.transport._conclude(Framing.NEWLINE)
        if number == 300:
            break

    assert len(verdicts()) == 256


async def test_given_framing_is_not_doubted() -> None:
    """No second start, no verdict."""
    async with wire("serve_framed()", Framing.HEADERS, probe_seconds=0.1) as there:
        there.transport.post(INITIALIZE)
        there.transport.post(create_notification("notifications/initialized"))
        await there.messages_come(1)

    assert verdicts() == []


async def test_notification_in_the_framing_it_was_asked_in_settles_it() -> None:
    """Who writes lines reads lines."""
    code = """
say({"jsonrpc": "2.0", "method": "notifications/message", "params": {}})
time.sleep(1.0)
serve()
"""
    async with wire(code, None, **PROBE) as there:
        there.transport.post(INITIALIZE)
        await there.messages_come(2)
        assert isinstance(there.messages[0], Notification)
        assert there.transport._tried == [Framing.NEWLINE]
