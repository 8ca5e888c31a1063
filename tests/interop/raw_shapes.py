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
    """The shape of a message; of a question of the server's, or a result that asks, only what is asked."""
    message = members(body.decode("utf-8"))
    if "method" in message and "id" in message:
        return [_question(message)]
    result = members(message["result"]) if message.get("result", "").startswith("{") else {}
    if "inputRequests" in result:
        return [_question(members(each)) for each in members(result["inputRequests"]).values()]
    shape: dict[str, Shape] = {**message}
    kind = next((name for name in ("result", "error", "params") if name in message), None)
    if kind is not None and message[kind].startswith("{"):
        shape[kind] = _without_era(message[kind])
    if "supportedVersions" in result:
        return shape["result"]  # made of the answer to a handshake, which is another message
    return shape


def _question(asked: dict[str, str]) -> Shape:
    return {"method": asked["method"], "params": asked["params"]}


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
    """The shape of the request that a server gives back, which has an id of the bridge's there."""
    result = members(members(body.decode("utf-8"))["result"])
    envelopes = members(result["structuredContent"])["value"]
    _, end = json.JSONDecoder(strict=False).raw_decode(envelopes, 1)
    message = members(envelopes[1:end])
    return {**message, "id": "", "params": _without_era(message["params"])}
