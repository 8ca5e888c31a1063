"""Who may speak to a server from a browser: the guards on `Host` and `Origin`.

A web page can make a browser on this machine send requests to a loopback address, also under a host
name of its own (DNS rebinding).  A server that is bound to loopback therefore answers only requests
for loopback names and from pages of loopback origins.  One bound to anything else cannot know its
names; it takes every host unless it is given a list, and origins of the same host.

Specification: MCP `basic/transports#security-warning`, all revisions; 403 since 2025-11-25.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final
from urllib.parse import urlsplit

import msgspec

__all__ = ("Guard", "is_loopback")

_LOOPBACK_NAMES: Final = frozenset({"localhost", "127.0.0.1", "::1"})


def is_loopback(host: str) -> bool:
    """Say whether a bind address or a host name means this machine only."""
    name = host.strip("[]").lower()
    return name in _LOOPBACK_NAMES or name.startswith("127.")


class Guard(msgspec.Struct, frozen=True):
    """The hosts and origins that are let in.

    `hosts` are names or `name:port`, lower case; None lets every host in.  `origins` are
    `scheme://host[:port]`; an origin of the very host that is asked for is always let in.
    """

    hosts: frozenset[str] | None = None
    origins: frozenset[str] = frozenset()

    @classmethod
    def for_bind(cls, host: str, *, hosts: Iterable[str] = (), origins: Iterable[str] = ()) -> Guard:
        """Return the guard of a server bound to this address, with further hosts and origins."""
        named = frozenset(name.lower() for name in hosts)
        allowed = frozenset(origin.lower().rstrip("/") for origin in origins)
        if is_loopback(host):
            return cls(named | _LOOPBACK_NAMES | {host.strip("[]").lower()}, allowed)
        return cls(named or None, allowed)

    def refuse_host(self, host: str | None) -> str | None:
        """Say why a `Host` header is refused, None when it is let in."""
        if self.hosts is None:
            return None
        name, port = _split_host(host or "")
        if name in self.hosts or f"{name}:{port}" in self.hosts or "*" in self.hosts:
            return None
        return f"host {host!r} is not one of this server's; allow it with allowed_hosts"

    def refuse_origin(self, origin: str | None, host: str | None) -> str | None:
        """Say why an `Origin` header is refused, None when it is let in; programs send none."""
        if origin is None or origin.lower() in self.origins or "*" in self.origins:
            return None
        name, port = _split_host(urlsplit(origin).netloc)
        if origin != "null" and name:
            if (name, port) == _split_host(host or ""):
                return None
            if self.hosts is not None and is_loopback(name) and self.hosts >= _LOOPBACK_NAMES:
                return None
        return f"origin {origin!r} may not use this server; allow it with allowed_origins"


def _split_host(host: str) -> tuple[str, str]:
    """Split `name:port` or `[::1]:port`; the port is empty where there is none."""
    host = host.strip().lower()
    if host.startswith("["):
        name, _, rest = host[1:].partition("]")
        return name, rest.removeprefix(":")
    name, _, port = host.rpartition(":")
    return (name, port) if name and port.isdigit() and ":" not in name else (host, "")
