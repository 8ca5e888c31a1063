"""Rows in columns, for people at a terminal and for what stands behind a pipe."""

from __future__ import annotations

import builtins
import io
import re
import sys
from typing import Any

import pytest

from anywire.cli.output import Output
from anywire.cli.table import write_table

HEAD = ("name", "parameters", "description")
ROWS = [
    ("add", "a b", "Add two numbers."),
    ("search_everything", "query [limit]", "Search\nall [bold]of[/bold] it.\x1b[31m"),
    ("now", "", ""),
]


class Screen(io.StringIO):
    """A terminal."""

    def isatty(self) -> bool:
        return True


def drawn(stream: io.StringIO) -> str:
    """The table that is written on a stream."""
    write_table(Output(stream), HEAD, ROWS)
    return stream.getvalue()


def without_rich(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make importing rich fail, as where it is not installed."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "rich"]:
        monkeypatch.delitem(sys.modules, name)
    real = builtins.__import__

    def refuse(name: str, *rest: Any) -> Any:
        if name.partition(".")[0] == "rich":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", refuse)


def test_columns_are_aligned_and_lines_are_whole_behind_a_pipe() -> None:
    """A program gets every word, on one line a row, and no control characters."""
    assert drawn(io.StringIO()) == (
        "name               parameters     description\n"
        "add                a b            Add two numbers.\n"
        "search_everything  query [limit]  Search all [bold]of[/bold] it.\\x1b[31m\n"
        "now\n"
    )


def test_lines_are_cut_at_a_terminal_without_rich(monkeypatch: pytest.MonkeyPatch) -> None:
    """No line wraps."""
    monkeypatch.setenv("COLUMNS", "46")
    without_rich(monkeypatch)

    assert drawn(Screen()) == (
        "name               parameters     description\n"
        "add                a b            Add two num…\n"
        "search_everything  query [limit]  Search all …\n"
        "now\n"
    )


def test_a_terminal_gets_it_from_rich(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same words, with emphasis, within the width; nothing of the server's is taken for mark-up."""
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)

    told = drawn(Screen())
    plain = re.sub(r"\x1b\[[\d;]*m", "", told)

    assert told != plain
    assert all(len(line.rstrip()) <= 60 for line in plain.splitlines())
    assert [line.rstrip() for line in plain.splitlines()] == [
        "name               parameters     description",
        "add                a b            Add two numbers.",
        "search_everything  query [limit]  Search all [bold]of[/bold]",
        "                                  it.\\x1b[31m",
        "now",
    ]


def test_one_wide_cell_does_not_push_all_others_aside() -> None:
    """A column is as wide as most of its cells need."""
    stream = io.StringIO()

    write_table(Output(stream), ("name", "what"), [("a", "b"), ("x" * 60, "y")])

    assert stream.getvalue().splitlines() == [
        "name".ljust(48) + "  what",
        "a".ljust(48) + "  b",
        "x" * 60 + "  y",
    ]
