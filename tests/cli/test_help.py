"""Every option says what it is for, and shows how it is written."""

from __future__ import annotations

import argparse
import re
import shlex

import pytest

from anywire.cli.main import COMMANDS, main, whole_parser
from anywire.cli.parser import Parser

TOP, PARSERS = whole_parser()
each_parser = pytest.mark.parametrize("name", COMMANDS)


def parser_of(name: str) -> Parser:
    """The parser of a subcommand."""
    return PARSERS[list[str](COMMANDS).index(name)]


def told(parser: Parser) -> list[argparse.Action]:
    """What the parser takes, but for its own help."""
    return [action for action in parser.actions if action.dest not in ("help", "version")]


def examples(parser: Parser) -> list[str]:
    """The examples under a help text."""
    _, found, lines = (parser.epilog or "").partition("examples:\n")
    assert found
    return [line.strip() for line in lines.splitlines()]


@each_parser
def test_everything_has_a_help_text_with_an_example(name: str) -> None:
    """In the text itself or among the examples of the subcommand."""
    parser = parser_of(name)
    shown = " ".join(examples(parser))

    for action in told(parser):
        text = action.help or ""
        assert len(text) > 10, f"{action.dest} has no help"
        used = any(option in shown for option in action.option_strings)
        instance = re.search(r"such as|for example|: stdio or|bash, zsh or", text)
        assert used or instance, f"{action.dest} has no example"


@each_parser
def test_each_subcommand_shows_examples_of_itself(name: str) -> None:
    """Each example calls the subcommand."""
    lines = examples(parser_of(name))

    assert lines
    assert all(f"anywire {name} " in line for line in lines)


@each_parser
def test_examples_are_understood(name: str) -> None:
    """What is shown is what the parser takes."""
    for line in examples(parser_of(name)):
        words = re.sub(r"^.*?anywire ", "", line).partition("   ")[0].partition(" | ")[0].partition(" > ")[0]
        split = shlex.split(words.removesuffix(')"'))
        ours = split[1 : split.index("--")] if "--" in split else split[1:]

        assert parser_of(name).read(ours)


@each_parser
def test_help_fits_a_page_and_goes_to_stdout(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """`anywire NAME --help` and `anywire NAME … -h` tell the same."""
    for words in ([name, "--help"], [name, "-h", "--", "x"]):
        with pytest.raises(SystemExit) as caught:
            main(words)
        assert caught.value.code == 0

    out = capsys.readouterr().out
    assert out[: len(out) // 2] == out[len(out) // 2 :]
    assert f"usage: anywire {name} " in out
    assert len(out.splitlines()) // 2 < (68 if name == "bridge" else 56)  # it has two ends


def test_the_command_itself_shows_examples() -> None:
    """One for the most used subcommands."""
    assert all(
        f"anywire {name} " in (TOP.epilog or "") for name in ("list", "call", "doctor", "bridge", "serve")
    )
