"""The server with each feature once, for clients of one era: `anywire serve eras_server.py:legacy|modern`."""

from __future__ import annotations

from features_server import server

from anywire import Server


def __getattr__(name: str) -> Server:
    if name == "legacy" or name == "modern":  # noqa: PLR1714 the type checker follows this one
        server.eras = frozenset({name})
        return server
    raise AttributeError(name)
