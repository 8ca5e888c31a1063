"""What is left of a body when what its era adds of its own is taken away: to compare bodies of two eras.

Values stay the text that they came as.
"""

from __future__ import annotations

import json
from typing import TypeAlias

from tests.interop.scripts.twin import members

Shape: TypeAlias = "str | list[Shape] | dict[str, Shape]"

#: What only the stateless era has in results, and who made up what it holds in a round.
_OF_RESULTS = ("resultType", "ttlMs", "cacheScope", "requestState", "supportedVersions", "protocolVersion")
_RESERVED = "io.modelcontextprotocol/"


def shape_of(body: bytes) -> Shape:
    """The shape of a message."""
    message = members(body.decode("utf-8"))
    kind = next((name for name in ("result", "error", "params") if name in message), None)
    shape: dict[str, Shape] = {**message}
    if kind is not None and message[kind].startswith("{"):
        shape[kind] = _without_era(message[kind])
    if "method" in message and message.get("id", "").startswith('"q'):
        del shape["id"]
    return shape


def _without_era(text: str) -> Shape:
    """An object without what an era adds to it; an `_meta` of which nothing is left is none."""
    shape: dict[str, Shape] = {**members(text)}
    for name in _OF_RESULTS:
        shape.pop(name, None)
    meta = members(str(shape.pop("_meta", "{}")))
    own: dict[str, Shape] = {name: text for name, text in meta.items() if not name.startswith(_RESERVED)}
    if own:
        shape["_meta"] = own
    return shape


def mirrored(body: bytes) -> Shape:
    """The shape of the request that a server gives back, and of the text around it nothing."""
    result = members(members(body.decode("utf-8"))["result"])
    envelopes = members(result["structuredContent"])["value"]
    _, end = json.JSONDecoder(strict=False).raw_decode(envelopes, 1)
    return shape_of(envelopes[1:end].encode())


def questions(bodies: list[bytes]) -> list[Shape]:
    """What a server asks: in requests of its own, or in results that require input."""
    found: list[Shape] = []
    for body in bodies:
        message = members(body.decode("utf-8"))
        if "method" in message and "id" in message:
            found.append({"method": message["method"], "params": message["params"]})
        elif "inputRequests" in (result := members(message.get("result", "{}"))):
            found += [{**members(each)} for each in members(result["inputRequests"]).values()]
    return found
