"""What a server makes of a request for a page of its own, one that is only read."""

from __future__ import annotations

from anywire.protocol.http.guard import Guard
from anywire.protocol.http.server import Head, Reject, check_bearer, check_guard, reject

__all__ = ("READING", "check_page")

#: The methods that read.
READING = "GET, HEAD"


def check_page(head: Head, guard: Guard, *, for_anybody: bool) -> Reject | None:
    """Say why a page is not shown, None where it is.

    `for_anybody`: no token is needed, even where the guard has one.  Order: token, host and origin, method.
    """
    refused = None if for_anybody else check_bearer(head.headers.get("authorization"), guard)
    refused = refused or check_guard(head, guard)
    if refused is None and head.method not in ("GET", "HEAD"):
        return reject(405, f"method {head.method} is not served here; this is for reading", allow=READING)
    return refused
