"""The door to stderr: sentences for people, lines of JSON for programs; and nobody who reads them."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import os
import re
import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import pytest

from anywire.bridge.noise import Noise
from anywire.bridge.report import Event, with_fields
from anywire.cli.log import Log
from anywire.cli.main import main
from anywire.cli.stderr import Stderr
from anywire.transport.memory import memory_pair
from anywire.transport.process import Command
from anywire.transport.stdio_client import StdioClientTransport
from anywire.wire.message import Fault, FaultKind

SECRET = "hunter2-hunter2"


def lines(capsys: pytest.CaptureFixture[str]) -> list[Any]:
    """What was told, line by line as JSON."""
    return [json.loads(line) for line in capsys.readouterr().err.strip("\n").split("\n")]


@contextmanager
def stderr_on(descriptor: int) -> Generator[None]:
    """Our stderr is that descriptor."""
    before = sys.stderr
    with open(descriptor, "w", encoding="utf-8", closefd=False) as stream:
        sys.stderr = stream
        try:
            yield
        finally:
            sys.stderr = before


def drained(reading: int) -> bytes:
    """What waits in a pipe."""
    found = b""
    try:
        while chunk := os.read(reading, 65536):
            found += chunk
    except BlockingIOError:
        pass
    return found


# For people.


def test_people_read_sentences_and_lines_as_they_came() -> None:
    """Where there is one server nobody need be told which; its bytes are not looked at."""
    reading, writing = os.pipe()
    with stderr_on(writing):
        log = Log()
        log.tell("listening", level="info")
        log.reporter("notes")("it was lost")
        log.line(b"\xffstarting", "notes")
    os.close(writing)

    assert drained(reading) == b"anywire: listening\nanywire: it was lost\n\xffstarting\n"
    os.close(reading)


def test_people_are_told_which_of_several_servers_is_meant(capsys: pytest.CaptureFixture[str]) -> None:
    """A sentence about the process itself is about none of them."""
    log = Log(several=True)
    log.tell("listening", level="info")
    log.reporter("notes")("it was lost")
    log.line(b"starting", "notes")
    log.line(b"from nowhere")

    assert capsys.readouterr().err == (
        "anywire: listening\nanywire: notes: it was lost\nnotes: starting\nfrom nowhere\n"
    )


# For programs.


def test_programs_read_an_object_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    """With the time in UTC, and always the server that is meant; a line break is within a string."""
    log = Log(as_json=True)
    log.tell("listening on x", level="info")
    log.reporter("notes")("lost\n\u2028é🙂\ud800")
    log.tell("it is slow", server="notes", session=3)
    log.line(b"\xff\x1b[31mred", "notes")

    told = lines(capsys)
    for each in told:
        assert re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", each.pop("time"))
    assert told == [
        {"level": "info", "message": "listening on x"},
        {"level": "warning", "server": "notes", "message": "lost\n\u2028é🙂\ufffd"},
        {"level": "warning", "server": "notes", "session": 3, "message": "it is slow"},
        {"level": "info", "server": "notes", "event": "stderr", "message": "\\xff\x1b[31mred"},
    ]


def test_an_event_has_its_members(capsys: pytest.CaptureFixture[str]) -> None:
    """Whoever passes it on as a sentence keeps them, and may add some."""
    log = Log(as_json=True)
    told = with_fields(Event("it wrote", "noise", {"line": 3}), session=2)
    log.reporter("notes")(told)
    log.tell(with_fields("plain", session=1))

    first, second = lines(capsys)
    assert (first["event"], first["line"], first["session"], first["message"]) == ("noise", 3, 2, "it wrote")
    assert (second["event"], second["session"], second["message"]) == ("report", 1, "plain")


@pytest.mark.parametrize(
    ("level", "told"),
    [
        (None, ["info", "warning", "error", "line", "logged warning"]),
        ("debug", ["info", "warning", "error", "line", "logged debug", "logged info", "logged warning"]),
        ("info", ["info", "warning", "error", "line", "logged info", "logged warning"]),
        ("warning", ["warning", "error", "logged warning"]),
        ("error", ["error"]),
    ],
)
@pytest.mark.parametrize("as_json", [False, True])
def test_the_level_is_the_least_that_is_told(
    capsys: pytest.CaptureFixture[str], level: Any, told: list[str], *, as_json: bool
) -> None:
    """Unless it is given, as much as there always was."""
    log, inner = Log(as_json=as_json, level=level), logging.getLogger("anywire.child")
    for each in ("info", "warning", "error"):
        log.tell(each, level=each)
    log.line(b"line")
    with log.listening():
        for number in (logging.DEBUG, logging.INFO, logging.WARNING):
            inner.log(number, "logged %s", logging.getLevelName(number).lower())

    err = capsys.readouterr().err.splitlines()
    found = [json.loads(line)["message"] for line in err] if as_json else err
    assert [each.removeprefix("anywire: ") for each in found] == told


def test_what_is_logged_says_by_whom(capsys: pytest.CaptureFixture[str]) -> None:
    """Those of other libraries leave by the same door, with their traceback in the same line."""
    root = logging.getLogger()
    handlers, root.handlers = root.handlers, []  # those of the test run
    try:
        with Log(as_json=True).listening():
            try:
                raise ValueError("no end")
            except ValueError:
                logging.getLogger("asyncio").exception("a task failed")
            logging.getLogger("anywire.http").critical("no more")
    finally:
        left, root.handlers = root.handlers, handlers
    logging.getLogger("anywire.http").debug("nobody hears this")

    first, second = lines(capsys)
    assert left == []
    assert (first["event"], first["logger"], first["level"]) == ("log", "asyncio", "error")
    assert first["message"].startswith("a task failed\nTraceback")
    assert (second["logger"], second["level"], second["message"]) == ("anywire.http", "error", "no more")


@pytest.mark.parametrize(("as_json", "times"), [(False, 0), (True, 1)])
def test_a_program_that_has_set_up_its_logging_is_not_told_twice(
    capsys: pytest.CaptureFixture[str], times: int, *, as_json: bool
) -> None:
    """Unless another form was asked for."""
    own = logging.NullHandler()
    logging.root.addHandler(own)
    try:
        with Log(as_json=as_json).listening(modest=True):
            logging.getLogger("anywire").warning("once")
    finally:
        logging.root.removeHandler(own)

    assert capsys.readouterr().err.count("once") == times


@pytest.mark.parametrize("as_json", [False, True])
def test_secrets_stay_out(capsys: pytest.CaptureFixture[str], *, as_json: bool) -> None:
    """Whoever wrote them down."""
    log = Log(as_json=as_json)
    log.hide([f"Bearer {SECRET}", "x"])
    log.tell(f"it answered 'Bearer {SECRET}'")
    log.line(f"starting with {SECRET}".encode())
    with log.listening():
        logging.getLogger("anywire").warning("sent %s", SECRET)

    err = capsys.readouterr().err
    assert SECRET not in err
    assert err.count("***") == 3


# The noise of a server.


def test_noise_is_an_event_with_the_line_and_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    """The first is told, the others are counted."""
    child = StdioClientTransport(Command(("serve",)))
    noise = Noise(child, "serve", Log(as_json=True).reporter("notes"))
    for number in (3, 7):
        noise.hear(
            Fault(FaultKind.PARSE_ERROR, "Parse error: no JSON", data=b"Listening \xff" * 99, number=number)
        )
    noise.end()

    first, second = lines(capsys)
    first.pop("time")
    assert first.pop("message").startswith(
        "serve wrote something on stdout that is no message (it belongs on"
    )
    assert first == {
        "level": "warning",
        "server": "notes",
        "event": "noise",
        "stream": "stdout",
        "line": 3,
        "first_bytes": (b"Listening \xff" * 99)[:120].decode("utf-8", "backslashreplace"),
        "reason": "Parse error: no JSON",
        "hint": "this belongs on stderr",
    }
    assert (second["event"], second["count"]) == ("noise_total", 2)


def test_noise_of_a_remote_server_belongs_nowhere_else(capsys: pytest.CaptureFixture[str]) -> None:
    """It has no stdout, and its lines have no numbers."""
    noise = Noise(memory_pair()[0], "http://x", Log(as_json=True).reporter())
    noise.hear(Fault(FaultKind.INVALID_REQUEST, "no message", data=b"[]"))

    (told,) = lines(capsys)
    assert told.keys() == {"time", "level", "event", "first_bytes", "reason", "message"}


# The end.


@pytest.mark.parametrize("form", [["--log-format", "json"], ["--log-format=json"]])
@pytest.mark.parametrize(
    ("words", "code", "name"),
    [
        (["bridge", "stdio"], 2, "usage"),
        (["bridge", "stdio", "--no-such-option"], 2, "usage"),
        (["bridge", "http://127.0.0.1:1/mcp", "--token-env", "NO_SUCH", "--", "x"], 2, "usage"),
        (["serve", "no_such_module:server"], 2, "usage"),
    ],
)
def test_a_failure_is_told_in_the_form_of_the_log(
    capsys: pytest.CaptureFixture[str], form: list[str], words: list[str], code: int, name: str
) -> None:
    """Also one of the options themselves."""
    at = words.index("--") if "--" in words else len(words)

    assert main([*words[:at], *form, *words[at:]]) == code

    *_, told = lines(capsys)
    assert (told["level"], told["event"], told["code"], told["exit"]) == ("error", "failed", name, code)
    assert told["message"]


# Nobody who reads.


def filled() -> tuple[int, int]:
    """A pipe that is full: where to read, and where to write."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    try:
        while True:
            os.write(writing, b"x" * 4096)
    except BlockingIOError:
        pass
    os.set_blocking(writing, True)
    os.set_blocking(reading, False)
    return reading, writing


async def test_a_stderr_that_nobody_reads_stops_nothing() -> None:
    """What waits is bounded, goes out in order when somebody reads, and what was left out is counted."""
    reading, writing = filled()
    loop = asyncio.get_running_loop()
    try:
        with stderr_on(writing):
            log = Log()
            for number in range(20_000):
                log.tell(f"sentence {number}")
            drained(reading)
            told = b""
            async with asyncio.timeout(20):
                while b"left out" not in told:
                    await asyncio.sleep(0)
                    told += drained(reading)
            log.tell("the last")
            told += drained(reading)
            assert not loop.remove_writer(writing)  # nothing is waited for any more
    finally:
        os.close(reading)
        os.close(writing)

    *kept, note, last = told.decode().splitlines()
    assert kept == [f"anywire: sentence {number}" for number in range(len(kept))]
    assert note == f"anywire: {20_000 - len(kept)} lines were left out, as nobody read them"
    assert 1000 < len(kept) < 20_000
    assert last == "anywire: the last"


def test_the_last_words_wait_for_a_reader_within_bounds() -> None:
    """A process that ends does not stay because of them."""
    reading, writing = filled()
    try:
        with stderr_on(writing):
            stderr = Stderr()
            stderr.write(b"first\n")
            drained(reading)
            stderr.finish(20.0)
            assert drained(reading) == b"first\n"
            os.set_blocking(writing, False)
            try:
                while True:
                    os.write(writing, b"x" * 4096)
            except BlockingIOError:
                pass
            stderr.write(b"second\n")
            stderr.finish(0.01)
            drained(reading)
            stderr.write(b"third\n")
            assert drained(reading) == b"third\n"
    finally:
        os.close(reading)
        os.close(writing)


def test_a_stderr_that_is_closed_stops_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Closed from the start, closed at the other end, closed in between, or a program's own."""
    reading, writing = os.pipe()
    os.close(reading)
    with stderr_on(writing):
        Log().tell("nobody is there")
    os.close(writing)
    monkeypatch.setattr(sys, "stderr", None)
    Log().tell("nobody is there")
    closed = io.StringIO()
    closed.close()
    monkeypatch.setattr(sys, "stderr", closed)
    Log().tell("nobody is there")
    own = io.StringIO()
    monkeypatch.setattr(sys, "stderr", own)
    Log().tell("somebody is")

    assert own.getvalue() == "anywire: somebody is\n"
