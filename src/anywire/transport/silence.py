"""Why has a child that was started not answered?  A sentence from what it did show."""

from __future__ import annotations

from typing import Final

import msgspec

from anywire.wire.framing import Framing

__all__ = ("FirstWords", "explain")

_FIRST_BYTES: Final = 4096
_SHOWN_BYTES: Final = 120
# Output that was only held back comes out at once when its writer exits.
_HELD_BACK_SECONDS: Final = 0.5
# More than starting an interpreter takes.
_BUSY_SECONDS: Final = 1.0


class FirstWords(msgspec.Struct):
    """The beginning of what a child wrote on stdout, and when, on the clock of the event loop."""

    text: bytes = b""
    came: float | None = None
    #: When its stdin was closed.
    input_ended: float | None = None

    def note(self, chunk: bytes, now: float) -> None:
        """Take what it wrote."""
        if self.came is None:
            self.came = now
        if len(self.text) < _FIRST_BYTES:
            self.text += chunk[: _FIRST_BYTES - len(self.text)]

    @property
    def held_back(self) -> bool:
        """Whether it answered only because its input had ended."""
        if self.came is None or self.input_ended is None or b'"jsonrpc"' not in self.text:
            return False
        return self.input_ended <= self.came <= self.input_ended + _HELD_BACK_SECONDS

    @property
    def shown(self) -> str:
        """The first of it, for people."""
        return self.text[:_SHOWN_BYTES].decode("utf-8", "backslashreplace")


def explain(
    words: FirstWords,
    *,
    stderr: str,
    asked: bytes | None,
    tried: list[Framing],
    busy_seconds: float,
) -> str:
    """Say in a sentence what a child did instead of answering.

    `asked` is the method it was asked first; `tried` are the framings in which it was asked;
    `busy_seconds` is the processor time it used.
    """
    if asked is not None and b'"method":"%b"' % asked in words.text:
        return "it echoed our own bytes: a terminal, or `cat`, stands where the server should be"
    if words.held_back:
        return (
            "it answered only when its input ended: its output is block-buffered; "
            "make it flush after each message"
        )
    start = words.text.lstrip().lower()
    if start.startswith(b"content-") and tried == [Framing.NEWLINE]:
        return f"it speaks another framing, with Content-Length headers: {words.shown!r}"
    if start.startswith(b"{") and tried == [Framing.HEADERS]:
        return f"it speaks another framing, one message a line: {words.shown!r}"
    if words.text:
        return f"what it wrote on stdout is no answer: {words.shown!r}"
    names = " and ".join(dict.fromkeys(framing.value for framing in tried))
    if stderr:
        return f"it wrote to stderr only ({names} framing tried); its last words: {stderr}"
    busy = f"; it used {busy_seconds:.1f} s of processor time, so it may be slow to start"
    return f"it runs, but wrote nothing at all ({names} framing tried)" + (
        busy if busy_seconds >= _BUSY_SECONDS else ""
    )
