"""Which proxy the environment wants a request to go through.

`HTTP_PROXY`, `HTTPS_PROXY` and `ALL_PROXY` name them, `NO_PROXY` the hosts that are reached without;
lower case counts as well.
"""

from __future__ import annotations

from typing import Final
from urllib.parse import unquote, urlsplit

import msgspec

__all__ = ("Proxy", "proxy_for")

_DEFAULT_PORT: Final = 80


class Proxy(msgspec.Struct, frozen=True):
    """A proxy: its address without credentials, and those."""

    url: str
    user: str | None = None
    password: str = ""


def proxy_for(url: str) -> Proxy | None:
    """Return the proxy for a URL, None where it is reached without."""
    from urllib.request import getproxies, proxy_bypass

    target = urlsplit(url)
    proxies = getproxies()
    address = proxies.get(target.scheme) or proxies.get("all") or ""
    if not address or proxy_bypass(target.hostname or ""):
        return None
    parts = urlsplit(address if "://" in address else f"http://{address}")
    if parts.scheme != "http" or not parts.hostname:
        return None  # not one that can be spoken to
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    bare = f"http://{host}:{parts.port or _DEFAULT_PORT}"
    if parts.username is None:
        return Proxy(bare)
    return Proxy(bare, unquote(parts.username), unquote(parts.password or ""))
