"""Where the answer goes: the process's stdout, for people or for programs."""

from __future__ import annotations

import re
import shutil
import sys
from typing import TextIO

__all__ = ("Output", "visible")

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class Output:
    """Writes whole answers.  Raises `BrokenPipeError` when nobody reads them.

    `stream` is where to write, stdout unless it is given.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        # None where whoever started us has closed it.
        self.stream: TextIO | None = stream if stream is not None else sys.stdout
        self.is_terminal = self.stream is not None and self.stream.isatty()

    @property
    def width(self) -> int:
        """The number of columns, 0 where a line may be of any length."""
        return shutil.get_terminal_size().columns if self.is_terminal else 0

    def text(self, text: str) -> None:
        """Write text and end its last line; what would steer a terminal is shown instead."""
        if self.is_terminal:
            text = visible(text)
        if text and not text.endswith("\n"):
            text += "\n"
        self.document(text.encode("utf-8", "backslashreplace"), end=b"")

    def document(self, data: bytes, end: bytes = b"\n") -> None:
        """Write a document as the bytes it is."""
        if self.stream is None:
            return
        self.stream.flush()
        buffer = getattr(self.stream, "buffer", None)
        if buffer is None:  # a program's own stream in the place of stdout
            self.stream.write((data + end).decode("utf-8", "replace"))
        else:
            buffer.write(data + end)
        self.stream.flush()


def visible(text: str) -> str:
    """Show control characters instead of obeying them; line feeds and tabs stay."""
    return _CONTROL.sub(lambda found: f"\\x{ord(found.group()):02x}", text)
