"""The server with each feature once, for clients of one era: `anywire serve eras_server.py:legacy|modern`."""

from __future__ import annotations

from typing import Final, Literal

from features_server import server

from anywire import Server

ERAS: Final[dict[str, frozenset[Literal["legacy", "modern"]]]] = {
    "legacy": frozenset({"legacy"}),
    "modern": frozenset({"modern"}),
}


def __getattr__(name: str) -> Server:
    if name not in ERAS:
        raise AttributeError(name)
    server.eras = ERAS[name]
    return server
