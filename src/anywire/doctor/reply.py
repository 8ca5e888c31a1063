"""Which answer belongs to a request: by its id, also where the server has changed the type of that."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from anywire.wire.message import ErrorResponse, Response, folded_key, id_key

__all__ = ("Reply", "find_reply", "has_id")

#: What answers a request.
Reply: TypeAlias = Response | ErrorResponse


def find_reply(replies: Iterable[Reply], id: bytes) -> Reply | None:
    """Return the answer to the request of that id, None where there is none.

    One with the very id comes before one in which it is spelled with another type.
    """
    key = id_key(id)
    keyed = [(id_key(reply.id), reply) for reply in replies if reply.id is not None]
    exact = next((reply for other, reply in keyed if other == key), None)
    if exact is not None:
        return exact
    folded = folded_key(key)
    return next((reply for other, reply in keyed if folded_key(other) == folded), None)


def has_id(reply: Reply, id: bytes) -> bool:
    """Say whether an answer has the very id of its request."""
    return reply.id is not None and id_key(reply.id) == id_key(id)
