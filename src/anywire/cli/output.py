"""Where the answer goes: the process's stdout, for people or for programs."""

from __future__ import annotations

import re
import shutil
import sys
from typing import TextIO

from anywire.cli.failure import OutputFailed, leave_closed_pipe

__all__ = ("Output", "on_one_line", "visible")

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


class Output:
    """Writes whole answers.  Raises `BrokenPipeError` when nobody reads them, `OutputFailed` otherwise.

    `stream` is where to write, stdout unless it is given.  Made before anything is asked for: an answer
    that has nowhere to go is not worth asking for.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        given: TextIO | None = stream if stream is not None else sys.stdout
        if given is None:  # closed by whoever started us
            raise OutputFailed("stdout is closed, so the answer has nowhere to go; >/dev/null drops it")
        self.stream: TextIO = given
        self.is_terminal = self.stream.isatty()

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
        try:
            self._write(data + end)
        except BrokenPipeError:
            raise
        except OSError as error:  # such as a disk that is full
            leave_closed_pipe()  # what is left in the buffer would be tried again at the end
            raise OutputFailed(f"stdout takes no answer: {error.strerror or error}") from error

    def _write(self, data: bytes) -> None:
        self.stream.flush()
        buffer = getattr(self.stream, "buffer", None)
        if buffer is None:  # a program's own stream in the place of stdout
            self.stream.write(data.decode("utf-8", "replace"))
        else:
            buffer.write(data)
        self.stream.flush()


def visible(text: str) -> str:
    """Show control characters, and what turns the direction of a text, instead of obeying them.

    Line feeds and tabs stay.
    """
    return _CONTROL.sub(_spelled, text)


def on_one_line(text: str) -> str:
    """Do the same, and show line feeds as well: what somebody else says cannot look like another line."""
    return visible(text).replace("\n", "\\n")


def _spelled(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"
