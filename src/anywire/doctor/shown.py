"""Bytes of a server, shown to a person."""

from __future__ import annotations

__all__ = ("shown",)


def shown(data: bytes | bytearray, most: int = 120) -> str:
    """Show bytes to a person: text where they are text, and not all of many."""
    text, cut = bytes(data[:most]).decode("utf-8", "backslashreplace"), len(data) > most
    while len(repr(text)) > most + 2:  # what cannot be printed takes more room
        text, cut = text[: len(text) * 3 // 4], True
    return repr(text) + (" …" if cut else "")
