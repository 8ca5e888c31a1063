"""The code of the documentation runs, and prints what the documentation says it prints."""

from __future__ import annotations

import json
import shutil
import sys
from contextlib import closing
from functools import partial
from importlib.util import find_spec
from itertools import zip_longest
from pathlib import Path

import pytest

from tests.docs.pages import KINDS, ROOT, Block, blocks, commands, matches, name, needs, pages
from tests.docs.workshop import Outcome, Workshop

each_page = pytest.mark.parametrize("page", pages(), ids=name)

RUN = frozenset({"python", "console", "pycon"})

runs_code = pytest.mark.skipif(
    sys.platform == "win32" or shutil.which("bash") is None, reason="the commands are for a POSIX shell"
)


def of_page(page: Path) -> list[Block]:
    """The blocks of a page."""
    return blocks(page.read_text(encoding="utf-8"))


def check_script(page: Path, block: Block, after: Block | None, workshop: Workshop) -> None:
    """A script ends in order and prints the text that follows it."""
    outcome = workshop.script(block.text)
    where = f"{name(page)}, line {block.line}"
    assert outcome.returncode == 0, f"{where} ended with {outcome.returncode}:\n{outcome.output}"
    if after is not None and after.kind == "text" and after.follows:
        assert matches(after.text, outcome.output), differs(where, after.text, outcome)


def check_console(page: Path, block: Block, workshop: Workshop) -> None:
    """Each command prints what stands below it."""
    for command in commands(block):
        if command.command.endswith(" &"):
            line, expected = command.command.removesuffix(" &"), command.output
            outcome = workshop.command_that_runs_on(line, partial(matches, expected))
        else:
            outcome = workshop.command(command.command)
        where = f"{name(page)}, line {command.line}: {command.command}"
        assert matches(command.output, outcome.output), differs(where, command.output, outcome)


def differs(where: str, expected: str, outcome: Outcome) -> str:
    """What to say of an output that is not the expected one."""
    return f"{where}\n--- expected\n{expected}--- got (exit code {outcome.returncode})\n{outcome.output}"


@runs_code
@pytest.mark.parametrize(
    "page", [page for page in pages() if any(block.kind in RUN for block in of_page(page))], ids=name
)
def test_the_code_of_a_page_does_what_the_page_says(page: Path, tmp_path: Path) -> None:
    """From top to bottom, in one folder: files are written, scripts and commands run."""
    missing = [package for package in needs(page.read_text(encoding="utf-8")) if find_spec(package) is None]
    if missing:
        pytest.skip(f"{', '.join(missing)} not installed")
    with closing(Workshop(tmp_path)) as workshop:
        run_page(page, workshop)


def run_page(page: Path, workshop: Workshop) -> None:
    """Run all blocks of a page."""
    found = of_page(page)
    sessions: list[str] = []
    for block, after in zip_longest(found, found[1:]):
        if block.kind == "python" and "file" in block.options:
            workshop.write(block.options["file"], block.text)
        elif block.kind == "python" and "append" in block.options:
            workshop.append(block.options["append"], block.text)
        elif block.kind == "python" and not block.options:
            check_script(page, block, after, workshop)
        elif block.kind == "console":
            check_console(page, block, workshop)
        elif block.kind == "pycon":
            sessions.append(block.text)
    outcome = workshop.session("\n".join(sessions))
    assert outcome.returncode == 0, f"{name(page)}: {outcome.output}"


@each_page
def test_every_block_of_a_page_is_of_a_known_kind(page: Path) -> None:
    """Nothing escapes these tests by a misspelled language."""
    wrong = [f"line {block.line}: {block.kind!r}" for block in of_page(page) if block.kind not in KINDS]

    assert wrong == []


@each_page
def test_what_a_page_shows_of_an_example_is_the_example(page: Path) -> None:
    """A block with `example=` is that file, whole or a part of it."""
    wrong = [
        f"line {block.line} is not in {block.options['example']}"
        for block in of_page(page)
        if "example" in block.options
        and block.text.strip("\n") not in (ROOT / block.options["example"]).read_text(encoding="utf-8")
    ]

    assert wrong == []


@each_page
def test_files_that_a_page_writes_are_used_by_it(page: Path) -> None:
    """A file that nothing runs or imports would be code that nobody has seen work."""
    found = of_page(page)
    unused = [
        block.options["file"]
        for number, block in enumerate(found)
        if "file" in block.options
        and not any(
            Path(block.options["file"]).stem in later.text
            for later in found[number + 1 :]
            if later.kind in RUN
        )
    ]

    assert unused == []


@each_page
def test_json_of_a_page_is_json(page: Path) -> None:
    """A configuration that is shown can be copied."""
    for block in of_page(page):
        if block.kind == "json":
            json.loads(block.text)


def test_blocks_and_commands_are_read_as_they_are_meant() -> None:
    """The reader of pages itself: fences, options, indentation, commands over several lines."""
    text = (
        "# Title\n\n```python file=a.py\nx = 1\n```\n\n"
        "- item\n\n  ```console\n  $ one \\\n  > two\n  out\n  $ three\n  ```\n```text\nend\n```\n"
    )

    first, second, third = blocks(text)

    assert (first.kind, first.options, first.text, first.line) == ("python", {"file": "a.py"}, "x = 1\n", 3)
    assert [(each.command, each.output, each.line) for each in commands(second)] == [
        ("one \\\ntwo", "out\n", 10),
        ("three", "", 13),
    ]
    assert (second.follows, third.follows) == (False, True)


@pytest.mark.parametrize(
    ("expected", "actual", "same"),
    [
        ("a\nb\n", "a\nb\n", True),
        ("a  \nb\n", "a\nb   ", True),
        ("a\nb\n", "a\nc\n", False),
        ("took ... s\n", "took 0.1 s\n", True),
        ("a\n...\nd\n", "a\nb\nc\nd\n", True),
        ("a\n...\nd\n", "a\nd\n", True),
        ("...\nd\n...\n", "d\n", True),
        ("a\n...\n", "b\nc\n", False),
        ("a: ...\n", "a: b\nc\n", True),
        ("", "something", False),
        ("a.c", "abc", False),
    ],
)
def test_outputs_are_compared_with_wildcards(expected: str, actual: str, same: bool) -> None:
    """`...` stands for anything; white space at the ends of lines does not count."""
    assert matches(expected, actual) is same
