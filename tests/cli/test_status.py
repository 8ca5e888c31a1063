"""What is told on stderr while a command works."""

from __future__ import annotations

import io
import logging
import sys

import pytest

from anywire.cli.status import Status


class Screen(io.StringIO):
    """A terminal."""

    def isatty(self) -> bool:
        return True


def screen_of(monkeypatch: pytest.MonkeyPatch) -> Screen:
    """Make stderr a terminal of 24 columns."""
    stream = Screen()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("COLUMNS", "24")
    return stream


def test_progress_is_a_line_each_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    """A log keeps every report."""
    with Status() as status:
        status.progress(1, 3, "one\nand a bit")
        status.progress(0.5, None, None)
        status.progress(3, 3.0, None)

    assert capsys.readouterr().err == (
        "anywire: progress 1/3: one and a bit\nanywire: progress 0.5\nanywire: progress 3/3\n"
    )


def test_progress_takes_the_place_of_the_last_at_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """One line is rewritten, cut at the width, and gone in the end."""
    screen = screen_of(monkeypatch)
    with Status() as status:
        status.progress(1, 3, "the first of a few steps")
        status.progress(2, 3, None)

    assert screen.getvalue() == (
        "\r\x1b[Kprogress 1/3: the first"  # 23 columns
        "\r\x1b[Kprogress 2/3"
        "\r\x1b[K"
    )


def test_what_stays_is_not_written_into_a_passing_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """The passing line is taken away first."""
    screen = screen_of(monkeypatch)
    with Status() as status:
        status.progress(1, None, None)
        status.say("hello")

    assert screen.getvalue() == "\r\x1b[Kprogress 1\r\x1b[Kanywire: hello\n"


def test_log_messages_of_the_server_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    """Level, logger and text; data of any shape; nothing that steers a terminal."""
    with Status() as status:
        status.log({"level": "error", "logger": "db", "data": "no \x1b[31mdisk"})
        status.log({"level": "info", "data": {"a": [1, None]}})
        status.log({})

    assert capsys.readouterr().err == (
        'anywire: server error (db): no \\x1b[31mdisk\nanywire: server info: {"a":[1,null]}\nanywire: server log: null\n'
    )


@pytest.mark.parametrize(("verbose", "told"), [(False, ""), (True, "its own words\n")])
def test_stderr_of_the_server_is_passed_on_when_asked(
    verbose: bool, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """As it came, without a prefix."""
    with Status(verbose=verbose) as status:
        status.server_stderr(b"its own words")

    assert capsys.readouterr().err == told


def test_warnings_of_anywire_are_told_while_it_works(capsys: pytest.CaptureFixture[str]) -> None:
    """What the library logs has a way out, and only for so long."""
    log = logging.getLogger("anywire.client")
    before = logging.getLogger("anywire").handlers[:]
    with Status():
        log.warning("the server wrote %s", "noise")
        log.info("nobody asked")

    assert capsys.readouterr().err == "anywire: the server wrote noise\n"
    assert logging.getLogger("anywire").handlers == before


def test_a_closed_stderr_is_no_trouble(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever starts the command may have closed it."""
    monkeypatch.setattr(sys, "stderr", None)

    with Status() as status:
        status.say("hello")
        status.progress(1, 2, None)
