"""Media types: what a body is, and what a client can read.

Specification: RFC 9110 §8.3 and §12.5.1; MCP `basic/transports#streamable-http`.
"""

from __future__ import annotations

from typing import Final

__all__ = ("EVENT_STREAM", "JSON", "accepts", "media_type")

JSON: Final = "application/json"
EVENT_STREAM: Final = "text/event-stream"


def media_type(content_type: str | None) -> str:
    """Return the media type of a `Content-Type` header, lower case, without parameters; empty: none."""
    return (content_type or "").partition(";")[0].strip().lower()


def accepts(accept: str | None, media: str) -> bool:
    """Say whether an `Accept` header takes a media type.

    A missing or empty header takes everything, ranges and weights count, the most specific range
    decides.
    """
    if not accept or not accept.strip():
        return True
    main, _, _ = media.partition("/")
    best: tuple[int, float] = (-1, 0.0)
    for item in accept.split(","):
        media_range, weight = _range(item)
        specificity = {media: 2, f"{main}/*": 1, "*/*": 0}.get(media_range, -1)
        if specificity >= 0 and specificity >= best[0]:
            best = (specificity, max(weight, best[1]) if specificity == best[0] else weight)
    return best[1] > 0


def _range(item: str) -> tuple[str, float]:
    media_range, *parameters = item.split(";")
    weight = 1.0
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "q":
            try:
                weight = float(value.strip())
            except ValueError:
                weight = 0.0
    return media_range.strip().lower(), weight
