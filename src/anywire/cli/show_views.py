"""How what a recording tells is printed: lines for people, a document a line for programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

from anywire.cli.output import Output
from anywire.cli.showing import Line, Shower, unanswered, unreadable
from anywire.record.document import document_of, unanswered_of
from anywire.record.entry import Unreadable
from anywire.record.exchange import Exchange
from anywire.record.story import Told
from anywire.wire.value import encode_value

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ("JsonView", "TextView", "View")

#: Where nothing says how wide a line may be.
_WIDTH: Final = 120
#: However narrow the terminal, so much of a value is shown.
_LEAST: Final = 24
# So many lines that cannot be read are shown, the others are counted.
_MOST_UNREADABLE: Final = 10


class View(Protocol):
    """Prints what it is given, at `flush` at the latest."""

    def told(self, told: Told) -> None:
        """Print a thing that happened."""
        ...

    def unreadable(self, line: Unreadable) -> None:
        """Print that a line cannot be read."""
        ...

    def end(self, left: Sequence[Exchange]) -> None:
        """Print what is still open at the end."""
        ...

    def flush(self) -> None:
        """Let go of what has gathered."""
        ...


class TextView:
    """For people."""

    def __init__(self, output: Output, *, full: bool) -> None:
        self._output = output
        self._shower = Shower(full=full)
        self._width = 0 if full else output.width or _WIDTH
        self._lines: list[Line] = []
        self._unread = 0
        self._console = _console(output) if output.is_terminal else None

    def told(self, told: Told) -> None:
        """See `View`."""
        self._lines += self._shower.told(told)

    def unreadable(self, line: Unreadable) -> None:
        """See `View`.  Where there are many, the rest is counted."""
        self._unread += 1
        if self._unread <= _MOST_UNREADABLE:
            self._lines.append(unreadable(line))

    def end(self, left: Sequence[Exchange]) -> None:
        """See `View`."""
        self._lines += unanswered(left)
        if self._unread > _MOST_UNREADABLE:
            more = self._unread - _MOST_UNREADABLE
            self._lines.append(Line(f"{'':11}! {more:,} more lines cannot be read", style="red"))
        self.flush()

    def flush(self) -> None:
        """See `View`."""
        lines, self._lines = self._lines, []
        if lines and self._console is None:
            self._output.text("\n".join(f"{line.text}{self._fit(line)}".rstrip() for line in lines) + "\n")
        elif self._console is not None:
            self._draw(self._console, lines)

    def _draw(self, console: Console, lines: list[Line]) -> None:
        from rich.text import Text

        for line in lines:
            text = Text(line.text, style=line.style)
            text.append(self._fit(line), style=line.style or "dim")
            console.print(text)

    def _fit(self, line: Line) -> str:
        if not self._width:
            return line.value
        room = max(self._width - len(line.text), _LEAST)
        return line.value if len(line.value) <= room else line.value[: room - 1] + "…"


class JsonView:
    """For programs."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._lines: list[bytes] = []

    def told(self, told: Told) -> None:
        """See `View`."""
        self._put(document_of(told))

    def unreadable(self, line: Unreadable) -> None:
        """See `View`."""
        self._put({"kind": "unreadable", "line": line.line, "reason": line.reason, "cut": line.cut})

    def end(self, left: Sequence[Exchange]) -> None:
        """See `View`."""
        if left:
            self._put(unanswered_of(left))
        self.flush()

    def flush(self) -> None:
        """See `View`."""
        lines, self._lines = self._lines, []
        self._output.document(b"".join(lines), end=b"")

    def _put(self, document: dict[str, Any]) -> None:
        self._lines.append(encode_value(document) + b"\n")


def _console(output: Output) -> Console | None:
    """Return what draws in colours, where it is installed."""
    try:
        from rich.console import Console
    except ImportError:
        return None
    return Console(file=output.stream, soft_wrap=True, highlight=False)
