"""What may be asked a second time when it is not known whether it was done the first time.

Only methods that read.  A call of a tool, or anything not known here, never.
"""

from __future__ import annotations

from typing import Final

__all__ = ("is_read_only",)

_READ_ONLY: Final = frozenset(
    {
        "completion/complete",
        "initialize",
        "ping",
        "prompts/get",
        "prompts/list",
        "resources/list",
        "resources/read",
        "resources/templates/list",
        "tools/list",
    }
)


def is_read_only(method: str) -> bool:
    """Say whether a request of that method changes nothing at the server."""
    return method in _READ_ONLY
