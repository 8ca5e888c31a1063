"""Which proxy the environment wants a request to go through.

`HTTP_PROXY`, `HTTPS_PROXY` and `ALL_PROXY` name them, `NO_PROXY` the hosts that are reached without;
lower case counts as well.
"""

from __future__ import annotations

from urllib.parse import urlsplit

__all__ = ("proxy_for",)


def proxy_for(url: str) -> str | None:
    """Return the address of the proxy for a URL, credentials included; None where it is reached without."""
    from urllib.request import getproxies, proxy_bypass

    target = urlsplit(url)
    proxies = getproxies()
    address = proxies.get(target.scheme) or proxies.get("all") or ""
    if not address or proxy_bypass(target.hostname or ""):
        return None
    proxy = address if "://" in address else f"http://{address}"
    return proxy if urlsplit(proxy).scheme == "http" else None  # the others cannot be spoken to
