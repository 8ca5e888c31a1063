"""Who may speak to an address of the command: the guard, in the words of the command's options."""

from __future__ import annotations

import shlex

from anywire.protocol.http.guard import Guard

__all__ = ("Doorkeeper",)


class Doorkeeper(Guard, frozen=True):
    """A guard that names the option which lets in what it refuses."""

    def refuse_host(self, host: str | None) -> str | None:
        """Say why a `Host` header is refused, None when it is let in."""
        if super().refuse_host(host) is None:
            return None
        allow = f"--allow-host {shlex.quote(host)}" if host else "--allow-host NAME"
        return f"host {host!r} is not one of this server's; to let it in, start the server with {allow}"

    def refuse_origin(self, origin: str | None, host: str | None) -> str | None:
        """Say why an `Origin` header is refused, None when it is let in; programs send none."""
        if super().refuse_origin(origin, host) is None:
            return None
        allow = f"--allow-origin {shlex.quote(origin or '')}"
        return f"origin {origin!r} may not use this server; to let it in, start the server with {allow}"
