"""Which proxy the environment wants a request to go through.

`HTTP_PROXY`, `HTTPS_PROXY` and `ALL_PROXY` name them, `NO_PROXY` the hosts (`host` or `host:port`) that
are reached without; lower case counts as well, and before upper case.  A proxy that cannot be spoken to
is an error: to go without one would lead around whatever it was put there for.
"""

from __future__ import annotations

import os
from urllib.parse import SplitResult, urlsplit

from anywire.errors import ConfigError
from anywire.transport.redact import show_url

__all__ = ("proxy_for",)

_DEFAULT_PORTS = {"http": 80, "https": 443}


def proxy_for(url: str) -> str | None:
    """Return the address of the proxy for a URL, credentials included; None where it is reached without.

    Raises `ConfigError` for a proxy of another kind than `http://`, or none at all.
    """
    from urllib.request import getproxies, proxy_bypass

    target = urlsplit(url)
    proxies = getproxies()
    address = proxies.get(target.scheme) or proxies.get("all") or ""
    if not address or any(map(proxy_bypass, _spellings(target))):
        return None
    proxy = address if "://" in address else f"http://{address}"
    if not _can_be_spoken_to(proxy):
        where = _variable(target.scheme, address)
        raise ConfigError(
            f"{where} is {show_url(proxy)}, a proxy that anywire cannot speak to: only http://HOST:PORT is; "
            f"to go without it, name the host in NO_PROXY"
        )
    return proxy


def _spellings(target: SplitResult) -> list[str]:
    """Return the ways in which `NO_PROXY` may name a host."""
    host = target.hostname or ""
    port = target.port or _DEFAULT_PORTS.get(target.scheme, 0)
    bracketed = f"[{host}]" if ":" in host else host
    return [host, f"{bracketed}:{port}"]


def _can_be_spoken_to(proxy: str) -> bool:
    try:
        parts = urlsplit(proxy)
        return parts.scheme == "http" and bool(parts.hostname) and parts.port != 0
    except ValueError:  # among others a port that is no number
        return False


def _variable(scheme: str, address: str) -> str:
    """Return what named the proxy: a variable, or where there is none the settings of the system."""
    for name in (f"{scheme}_proxy", "all_proxy"):
        for each in (name, name.upper()):
            if os.environ.get(each) == address:
                return each
    return "the proxy of this system"
