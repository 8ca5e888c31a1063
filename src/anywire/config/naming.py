"""Names of servers: any text in a file, letters, digits, `-` and `_` where a name becomes part of others.

A name of a tool is merged as `SERVER__tool`, so a server's has no `__` in it and no `_` at its end.  Any
other name gets one that has: what does not fit becomes `-xHEX-`, the character by its number.  Different
names stay different, and `written_name` is the way back.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ("usable_name", "written_name")

# A dash is one itself where what follows could be taken for an escape.
_UNUSABLE: Final = re.compile(r"[^A-Za-z0-9_-]|(?<=_)_|_\Z|-(?=x[0-9a-f]+[^A-Za-z0-9])")
_ESCAPE: Final = re.compile(r"-x([0-9a-f]+)-")


def usable_name(name: str) -> str:
    """Return the name itself if it can be used, else one that can and stands for it alone."""
    return _UNUSABLE.sub(lambda found: f"-x{ord(found[0]):x}-", name)


def written_name(name: str) -> str:
    """Return the name that a usable one stands for."""
    return _ESCAPE.sub(lambda found: chr(int(found[1], 16)), name)
