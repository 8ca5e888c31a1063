"""Media types: what a body is, and what a client can read.

Specification: RFC 9110 §8.3 and §12.5.1; MCP `basic/transports#streamable-http`.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ("EVENT_STREAM", "JSON", "accepts", "media_type")

JSON: Final = "application/json"
EVENT_STREAM: Final = "text/event-stream"

_WEIGHT: Final = re.compile(r"[0-9]+(?:\.[0-9]*)?|\.[0-9]+")


def media_type(content_type: str | None) -> str:
    """Return the media type of a `Content-Type` header, lower case, without parameters; empty: none."""
    return (content_type or "").partition(";")[0].strip().lower()


def accepts(accept: str | None, media: str) -> bool:
    """Say whether an `Accept` header takes a media type.

    A header that is missing or names nothing takes everything, ranges and weights count, the most
    specific range decides.
    """
    items = [item for item in (accept or "").split(",") if item.strip()]
    if not items:
        return True
    main, _, _ = media.partition("/")
    specificities = {media: 3, f"{main}/*": 2, "*/*": 1, "*": 1}
    ranges = [(specificities.get(name, 0), weight) for name, weight in map(_range, items)]
    best, weight = max(ranges)
    return best > 0 and weight > 0


def _range(item: str) -> tuple[str, float]:
    """Return the media range of an item and its weight, 1 where that is missing or cannot be read."""
    media_range, *parameters = item.split(";")
    weight = 1.0
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "q" and _WEIGHT.fullmatch(value.strip()):
            weight = float(value)
    return media_range.strip().lower(), weight
