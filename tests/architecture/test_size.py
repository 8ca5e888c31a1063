"""Files and functions stay small enough to be read in one go."""

import ast
from collections.abc import Iterator
from pathlib import Path

SRC = Path(__file__).resolve().parents[2] / "src"

# Budgets only ever go down. One who needs more needs another module or another function.
MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 60


def sources() -> Iterator[tuple[str, str]]:
    """Name, relative to the source folder, and text of every source file."""
    for path in sorted(SRC.rglob("*.py")):
        yield path.relative_to(SRC).as_posix(), path.read_text(encoding="utf-8")


def functions(source: str) -> Iterator[tuple[str, int, int]]:
    """Name, first line and number of lines of every function, decorators not counted."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            last = node.end_lineno or node.lineno
            yield node.name, node.lineno, last - node.lineno + 1


def test_files_fit_the_budget() -> None:
    """No source file is longer than the budget."""
    lengths = {name: len(text.splitlines()) for name, text in sources()}

    assert {name: length for name, length in lengths.items() if length > MAX_FILE_LINES} == {}


def test_functions_fit_the_budget() -> None:
    """No function is longer than the budget."""
    long = [
        f"{name}:{line} {function} has {length} lines"
        for name, text in sources()
        for function, line, length in functions(text)
        if length > MAX_FUNCTION_LINES
    ]

    assert long == []
