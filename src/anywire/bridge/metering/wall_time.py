"""A time of day as programs read it."""

from __future__ import annotations

from datetime import UTC, datetime

__all__ = ("rfc3339",)


def rfc3339(seconds: float) -> str:
    """Return a time, in seconds since 1970, as RFC 3339 has it: in UTC, with milliseconds."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
