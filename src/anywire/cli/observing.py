"""What a process that serves HTTP shows of itself, beside what it serves: /health, /status, /metrics."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from anywire.bridge.metering.meters import Meters
from anywire.bridge.metering.status import health_of, status_of
from anywire.transport.asgi_page import Document, Page
from anywire.transport.asgi_site import Site
from anywire.wire.value import encode_value

if TYPE_CHECKING:
    from anywire.protocol.http.guard import Guard

__all__ = ("HEALTH", "METRICS", "PAGES", "STATUS", "observed")

#: Whether the process serves; for anybody, without a token.
HEALTH: Final = "/health"
#: What it and its servers do; for who has the token, where there is one.
STATUS: Final = "/status"
#: The same as numbers, for Prometheus.
METRICS: Final = "/metrics"
PAGES: Final = (HEALTH, STATUS, METRICS)

_PLAIN_TEXT: Final = "text/plain; charset=utf-8"
_NOT_INSTALLED: Final = b"metrics need prometheus_client: install anywire[metrics]\n"


def observed(
    site: Site,
    meters: Meters,
    guard: Guard,
    *,
    discreet: bool,
    redact: Callable[[bytes], bytes] = lambda text: text,
) -> Site:
    """Put the three pages into a site and return it; a path that is taken stays what it is.

    `discreet`: whoever reads them may be anybody, and is not told what the errors of servers say.  `redact`
    takes secrets out of what those who may read more are told.
    """
    for place, page in _pages(meters, guard, redact, discreet=discreet).items():
        if place not in site:
            site.put(place, page)
    return site


def _pages(
    meters: Meters, guard: Guard, redact: Callable[[bytes], bytes], *, discreet: bool
) -> dict[str, Page]:
    async def health(accept: str) -> Document:
        return Document(encode_value(health_of(meters)), 503 if meters.closing else 200)

    async def status(accept: str) -> Document:
        return Document(redact(encode_value(status_of(meters, time.time(), plain=discreet))))

    async def metrics(accept: str) -> Document:
        # With many servers the text takes a while, as does its library the first time: nobody waits for it.
        return await asyncio.to_thread(_metrics, meters, accept)

    return {
        HEALTH: Page(health, guard, for_anybody=True),
        STATUS: Page(status, guard),
        METRICS: Page(metrics, guard),
    }


def _metrics(meters: Meters, accept: str) -> Document:
    try:
        from anywire.bridge.metering.exposition import exposition
    except ImportError:
        return Document(_NOT_INSTALLED, 501, _PLAIN_TEXT)
    body, content_type = exposition(meters, accept, time.time())
    return Document(body, content_type=content_type)
