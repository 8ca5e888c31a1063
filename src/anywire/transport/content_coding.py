"""The codings of a body that Python itself can undo: gzip and deflate."""

from __future__ import annotations

import zlib
from typing import Final

__all__ = ("ACCEPTED_CODINGS", "Inflating", "inflating")

#: What may be asked for.
ACCEPTED_CODINGS: Final = "gzip, deflate"
#: So much is returned at a time, however little it was before.
_PIECE_BYTES: Final = 256 * 1024
_GZIP: Final = 16 + zlib.MAX_WBITS
_GZIP_MAGIC: Final = b"\x1f\x8b"
_NOTHING: Final = frozenset({"", "identity"})
#: What there is besides.
_OTHERS: Final = frozenset({"br", "compress", "dcb", "dcz", "x-compress", "zstd"})


class Inflating:
    """Undoes a coding, piece by piece.  Raises `ValueError` for what is none."""

    def __init__(self, coding: str) -> None:
        self._coding = coding
        self._inflate = zlib.decompressobj(_GZIP) if coding == "gzip" else None
        self._rest = b""
        self._over = False  # what comes now is padding
        #: Whether more can be had without another piece.
        self.has_more = False

    def feed(self, piece: bytes) -> bytes:
        """Return what a piece stands for, or the beginning of that; it may be nothing yet."""
        given, self._rest, self.has_more = self._rest + piece, b"", False
        if self._over or (not given and self._inflate is None):
            return b""
        if self._inflate is None:
            # By the rules with the header of zlib, from some servers without.
            has_header = given[0] & 0x0F == zlib.DEFLATED
            self._inflate = zlib.decompressobj(zlib.MAX_WBITS if has_header else -zlib.MAX_WBITS)
        elif self._inflate.eof and not self._begin_member(given):
            return b""
        try:
            inflated = self._inflate.decompress(given, _PIECE_BYTES)
        except zlib.error as error:
            raise ValueError(f"this is no {self._coding}: {error}") from error
        if self._inflate.eof:
            self._rest = self._inflate.unused_data
            self.has_more = len(self._rest) >= len(_GZIP_MAGIC)
        else:
            self._rest = self._inflate.unconsumed_tail
            # What was cut at a full piece may go on without any input.
            self.has_more = bool(self._rest) or len(inflated) >= _PIECE_BYTES
        return inflated

    def _begin_member(self, given: bytes) -> bool:
        """Begin the next of several, if that is what comes after the end of one."""
        if self._coding == "gzip" and given.startswith(_GZIP_MAGIC):
            self._inflate = zlib.decompressobj(_GZIP)
            return True
        if self._coding == "gzip" and _GZIP_MAGIC.startswith(given):
            self._rest = given
        else:
            self._over = True
        return False

    def end(self) -> bytes:
        """There is no other piece: return what is left."""
        return b"" if self._inflate is None else self._inflate.flush()


def inflating(coding: str) -> Inflating | None:
    """Return what undoes a coding, None for one that changes nothing, or is none.

    Raises `ValueError` for one that Python cannot undo.
    """
    names = [name for each in coding.lower().split(",") if (name := each.strip()) not in _NOTHING]
    match names:
        case ["gzip" | "x-gzip"]:
            return Inflating("gzip")
        case ["deflate"]:
            return Inflating("deflate")
        case _ if len(names) > 1 or not _OTHERS.isdisjoint(names):
            raise ValueError(f"its coding, {coding!r}, cannot be undone")
        case _:
            return None  # there are servers that write the charset there
