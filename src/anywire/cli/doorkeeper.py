"""Who may speak to an address of the command: the guard, in the words of the command's options."""

from __future__ import annotations

import shlex

from anywire.protocol.http.guard import Guard

__all__ = ("Doorkeeper",)


class Doorkeeper(Guard, frozen=True):
    """A guard that names the option which lets in what it refuses."""

    def how_to_allow_host(self, host: str) -> str:
        """Say what lets a host in, for whoever runs the server."""
        return f"to let it in, start the server with --allow-host {shlex.quote(host)}"

    def how_to_allow_origin(self, origin: str) -> str:
        """Say what lets an origin in, for whoever runs the server."""
        return f"to let it in, start the server with --allow-origin {shlex.quote(origin)}"
