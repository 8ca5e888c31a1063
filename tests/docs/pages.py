"""The pages of the documentation, and the blocks of code in them.

What a fenced block is for stands behind its three backticks:

    python                    a script of its own, run in the page's folder; a `text` block right
                              after it is what it prints
    python file=NAME          a file of the page's folder, for the commands and scripts after it
    python append=NAME        more of such a file
    python example=PATH       the text of that file of the checkout
    pycon                     an interactive session; all of a page share their names
    console                   commands behind `$ ` (`> ` goes on with one) and what they print; one that
                              ends in `&` runs on until the end of the page
    json                      JSON
    sh, text                  shown, not run
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
KINDS = frozenset({"python", "pycon", "console", "json", "sh", "text"})

_FENCE = re.compile(r"^( *)(`{3,})([^`\n]*)\n(.*?)^ *\2`* *$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A fenced block: its kind, its options (`file=notes.py`), its text, and where it begins."""

    kind: str
    options: dict[str, str]
    text: str
    line: int
    follows: bool
    """Nothing but white space stands between the block before and this one."""


@dataclass(frozen=True)
class Command:
    """A command of a `console` block, and what it prints."""

    command: str
    output: str
    line: int


def pages() -> list[Path]:
    """Every page of the documentation."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def name(page: Path) -> str:
    """A page's path within the checkout."""
    return page.relative_to(ROOT).as_posix()


def needs(text: str) -> list[str]:
    """The packages, beyond anywire's own, that the code of a page needs; it names them in a comment."""
    found = re.search(r"<!-- needs: ([\w ]+) -->", text)
    return found.group(1).split() if found else []


def blocks(text: str) -> list[Block]:
    """The fenced blocks of a page, in order."""
    found: list[Block] = []
    end = 0
    for fence in _FENCE.finditer(text):
        indent, _, info, body = fence.groups()
        kind, *words = info.split() or [""]
        options = dict(word.split("=", 1) for word in words)
        dedented = "".join(line.removeprefix(indent) for line in body.splitlines(keepends=True))
        line = text.count("\n", 0, fence.start()) + 1
        found.append(
            Block(kind, options, dedented, line, bool(found) and not text[end : fence.start()].strip())
        )
        end = fence.end()
    return found


def commands(block: Block) -> list[Command]:
    """The commands of a `console` block."""
    found: list[Command] = []
    for number, line in enumerate(block.text.splitlines(), start=block.line + 1):
        if line.startswith("$ "):
            found.append(Command(line[2:], "", number))
        elif line.startswith("> ") and found and not found[-1].output:
            found[-1] = Command(f"{found[-1].command}\n{line[2:]}", "", found[-1].line)
        else:
            assert found, f"line {number} is no command and the output of none"
            found[-1] = Command(found[-1].command, f"{found[-1].output}{line}\n", found[-1].line)
    return found


def matches(expected: str, actual: str) -> bool:
    """Whether an output is the expected one, in which `...` stands for anything.

    A line of its own stands for any number of lines, none included.
    """
    pattern = "".join(
        r"(?:.*\n)*?" if line == "..." else r"[\s\S]*?".join(map(re.escape, line.split("..."))) + r"\n"
        for line in _lines(expected)
    )
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in _lines(actual))) is not None


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip("\n").splitlines()]
