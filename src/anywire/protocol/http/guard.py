"""Who may speak to a server: the guards on `Host` and `Origin`, and the token where one is wanted.

A web page can make a browser on this machine send requests to a loopback address, also under a host
name of its own (DNS rebinding).  A server that is bound to loopback therefore answers only requests
for loopback names and from pages of loopback origins.  One bound to anything else cannot know its
names; it takes every host unless it is given a list, and origins of the same host.

Names and addresses are read strictly: whatever has a user, a path or more than a port beside it, or
only begins like a loopback address, is none.

Specification: MCP `basic/transports#security-warning`, all revisions; 403 since 2025-11-25.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

import msgspec

from anywire.protocol.http.bearer import Bearer

__all__ = ("Guard", "is_loopback")

_LOOPBACK_NAMES: Final = frozenset({"localhost", "127.0.0.1", "::1"})
_LOOPBACK_ADDRESS: Final = re.compile(
    r"(?:::ffff:)?127(?:\.[0-9]{1,3}){1,3}"  # 127.1 is an address of this machine as well
    r"|(?:0{0,4}:){2,7}0{0,3}1"
)
_HOST: Final = re.compile(r"(?:\[([0-9a-f:.]+)\]|([^\s\[\]:/?#@\\,]+?)\.?)(?::([0-9]{0,5}))?")
_ORIGIN: Final = re.compile(r"([a-z][a-z0-9+.-]*)://([^/]+)/?")
_DEFAULT_PORTS: Final = {"http": "80", "https": "443"}


def is_loopback(host: str) -> bool:
    """Say whether a bind address or a host name means this machine only."""
    name = host.strip("[]").lower().removesuffix(".")
    return name in _LOOPBACK_NAMES or _LOOPBACK_ADDRESS.fullmatch(name) is not None


class Guard(msgspec.Struct, frozen=True):
    """The hosts and origins that are let in.

    `hosts` are names or `name:port`, lower case; None lets every host in.  `origins` are
    `scheme://host[:port]`; an origin of the very host that is asked for is always let in.  `*` among
    either lets all of them in.  A name without a port stands for all its ports; an address of IPv6
    may stand in brackets and must where a port follows.  `bearer` is the token that every request must
    bring, None: nobody is asked who they are.
    """

    hosts: frozenset[str] | None = None
    origins: frozenset[str] = frozenset()
    bearer: Bearer | None = None

    @classmethod
    def for_bind(
        cls,
        host: str,
        *,
        hosts: Iterable[str] = (),
        origins: Iterable[str] = (),
        bearer: Bearer | None = None,
    ) -> Guard:
        """Return the guard of a server bound to this address, with further hosts and origins."""
        named = frozenset(name.strip().lower() for name in hosts)
        allowed = frozenset(origin.strip().lower().rstrip("/") for origin in origins)
        if is_loopback(host):
            return cls(
                named | _LOOPBACK_NAMES | {host.strip("[]").lower().removesuffix(".")}, allowed, bearer
            )
        return cls(named or None, allowed, bearer)

    def refuse_host(self, host: str | None) -> str | None:
        """Say why a `Host` header is refused, None when it is let in."""
        if self.hosts is None or "*" in self.hosts:
            return None
        read = _read_host(host or "")
        if read is None:
            return f"host {host!r} is no name of a host"
        if not self.hosts.isdisjoint(_spellings(*read)):
            return None
        return f"host {host!r} is not one of this server's; {self.how_to_allow_host(host or '')}"

    def how_to_allow_host(self, host: str) -> str:
        """Say what lets a host in, for whoever runs the server."""
        return "allow it with allowed_hosts"

    def names_origin(self, origin: str) -> bool:
        """Say whether an origin is one of those that were named, not just one that is let in as well."""
        if not self.origins:
            return False
        if "*" in self.origins or origin.strip().lower().rstrip("/") in self.origins:
            return True
        read = _read_origin(origin)
        if read is None:
            return False
        scheme, name, port = read
        return f"{scheme}://{_bracketed(name)}:{port or _DEFAULT_PORTS.get(scheme, '')}" in self.origins

    def refuse_origin(self, origin: str | None, host: str | None) -> str | None:
        """Say why an `Origin` header is refused, None when it is let in; programs send none."""
        if origin is None or self.names_origin(origin):
            return None
        read = _read_origin(origin)
        if read is None:
            # What to allow is not said: `null` is every sandboxed page and every local file at once.
            return f"origin {origin!r} may not use this server; it says nothing of where the page is from"
        scheme, name, port = read
        default = _DEFAULT_PORTS.get(scheme, "")
        asked = _read_host(host or "")
        if asked is not None and (name, port or default) == (asked[0], asked[1] or default):
            return None
        if self.hosts is not None and self.hosts >= _LOOPBACK_NAMES and is_loopback(name):
            return None
        return f"origin {origin!r} may not use this server; {self.how_to_allow_origin(origin)}"

    def how_to_allow_origin(self, origin: str) -> str:
        """Say what lets an origin in, for whoever runs the server."""
        return "allow it with allowed_origins"


def _read_host(host: str) -> tuple[str, str] | None:
    """Read `name`, `name:port` or `[::1]:port`; the port is empty where there is none."""
    found = _HOST.fullmatch(host.strip().lower())
    return None if found is None else (found[1] or found[2], found[3] or "")


def _read_origin(origin: str) -> tuple[str, str, str] | None:
    """Read the scheme, the name and the port of an origin; None for `null` and what is no origin."""
    found = _ORIGIN.fullmatch(origin.strip().lower())
    read = None if found is None else _read_host(found[2])
    return None if found is None or read is None else (found[1], *read)


def _spellings(name: str, port: str) -> set[str]:
    """Return the ways in which a list may name a host; one asked for without a port has a default one."""
    ports = [port] if port else _DEFAULT_PORTS.values()
    return {name, _bracketed(name), *(f"{_bracketed(name)}:{each}" for each in ports)}


def _bracketed(name: str) -> str:
    return f"[{name}]" if ":" in name else name
