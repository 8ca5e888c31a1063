"""What may be asked a second time when it is not known whether it was done the first time.

Only methods that read.  A call of a tool, or anything not known here, never.
"""

from __future__ import annotations

from anywire.protocol.methods import METHODS

__all__ = ("is_read_only",)


def is_read_only(method: str) -> bool:
    """Say whether a request of that method changes nothing at the server."""
    known = METHODS.get(method)
    return known is not None and known.reads
