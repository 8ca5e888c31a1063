"""Rows in columns: drawn by rich on a terminal where it is installed, aligned with spaces elsewhere."""

from __future__ import annotations

from collections.abc import Sequence

from anywire.cli.output import Output, visible

__all__ = ("write_table",)

_GAP = "  "
# A column that is wider than this pushes the next one aside in its own rows only.
_WIDEST = 48


def write_table(output: Output, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Write a table; its last column takes what is left of the width."""
    cells = [[visible(" ".join(cell.split())) for cell in row] for row in rows]
    if output.is_terminal and _with_rich(output, head, cells):
        return
    output.text("\n".join(_line(row, _widths(head, cells), output.width) for row in (head, *cells)))


def _widths(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[int]:
    columns = zip(head, *rows, strict=True)
    return [max(min(len(cell), _WIDEST) for cell in column) for column in columns][:-1]


def _line(row: Sequence[str], widths: Sequence[int], columns: int) -> str:
    padded = [cell.ljust(width) for cell, width in zip(row[:-1], widths, strict=True)]
    line = _GAP.join([*padded, row[-1]]).rstrip()
    return line if not columns or len(line) <= columns else line[: columns - 1] + "…"


def _with_rich(output: Output, head: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Draw with rich; say whether it is installed."""
    try:
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text
    except ImportError:
        return False
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, len(_GAP), 0, 0))
    table.add_column(head[0], no_wrap=True)
    for title in head[1:]:
        table.add_column(title)
    for row in rows:
        table.add_row(Text(row[0], style="bold cyan"), *(Text(cell) for cell in row[1:]))
    Console(file=output.stream, soft_wrap=False).print(table)
    return True
