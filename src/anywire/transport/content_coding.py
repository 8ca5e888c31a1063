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


class Inflating:
    """Undoes a coding, piece by piece.  Raises `ValueError` for what is none."""

    def __init__(self, coding: str) -> None:
        self._coding = coding
        self._inflate = zlib.decompressobj(_GZIP) if coding == "gzip" else None
        self._rest = b""

    @property
    def has_more(self) -> bool:
        """Whether more can be had without another piece."""
        return bool(self._rest)

    def feed(self, piece: bytes) -> bytes:
        """Return what a piece stands for, or the beginning of that; it may be nothing yet."""
        given = self._rest + piece
        if self._inflate is None:
            if not given:
                return b""
            # By the rules with the header of zlib, from some servers without.
            has_header = given[0] & 0x0F == zlib.DEFLATED
            self._inflate = zlib.decompressobj(zlib.MAX_WBITS if has_header else -zlib.MAX_WBITS)
        try:
            inflated = self._inflate.decompress(given, _PIECE_BYTES)
        except zlib.error as error:
            raise ValueError(f"this is no {self._coding}: {error}") from error
        self._rest = self._inflate.unconsumed_tail
        if self._inflate.unused_data.startswith(_GZIP_MAGIC):
            self._rest, self._inflate = (
                self._inflate.unused_data,
                zlib.decompressobj(_GZIP),
            )  # the next member
        return inflated

    def end(self) -> bytes:
        """There is no other piece: return what is left."""
        return b"" if self._inflate is None else self._inflate.flush()


def inflating(coding: str) -> Inflating:
    """Return what undoes a coding.  Raises `ValueError` for one that Python cannot undo."""
    match coding.strip().lower():
        case "gzip" | "x-gzip":
            return Inflating("gzip")
        case "deflate":
            return Inflating("deflate")
        case _:
            raise ValueError(f"its coding, {coding!r}, cannot be undone")
