"""What becomes of each feature on its way from one era to the other, a sentence each.

Data: documentation is made of it, and it decides nothing.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

import msgspec

__all__ = ("CROSSINGS", "Crossing", "Direction", "Fate")


class Direction(Enum):
    """Who is before whom."""

    UPWARD = "a handshake client before a stateless server"
    DOWNWARD = "a stateless client before a handshake server"


class Fate(Enum):
    """What happens to something that has to cross."""

    CROSSES = "crosses"
    BECOMES = "becomes something else"
    REFUSED = "does not cross"


class Crossing(msgspec.Struct, frozen=True):
    """One feature in one direction, and what becomes of it in a sentence."""

    direction: Direction
    feature: str
    fate: Fate
    sentence: str


def _upward(feature: str, fate: Fate, sentence: str) -> Crossing:
    return Crossing(Direction.UPWARD, feature, fate, sentence)


_UPWARD: Final = (
    _upward(
        "initialize",
        Fate.BECOMES,
        "The server is asked `server/discover` in the client's name, and its answer becomes that of the "
        "handshake, in the revision that the client asked for.",
    ),
    _upward(
        "requests and results",
        Fate.CROSSES,
        "Params, results and custom methods keep their bytes; each request says who asks, and the result "
        "loses `resultType`, `ttlMs` and `cacheScope`.",
    ),
    _upward(
        "progress",
        Fate.CROSSES,
        "The client's tokens are the server's; progress that the client itself reports is dropped, since a "
        "stateless server has no request of its own that it could belong to.",
    ),
    _upward(
        "cancellation",
        Fate.CROSSES,
        "It reaches the request that is in flight for the call, and takes back what the client is asked.",
    ),
    _upward(
        "sampling, elicitation, roots",
        Fate.BECOMES,
        "A result that requires input becomes requests to the client, all at once; with their answers the "
        "call is made again.  A client that answers with an error, or did not declare the capability, has "
        "its call fail with a sentence.",
    ),
    _upward(
        "elicitation at an address",
        Fate.BECOMES,
        "A visit gets the id that 2025-11-25 wants; its completion is never told, since no stateless server "
        "tells of it.",
    ),
    _upward(
        "log messages",
        Fate.BECOMES,
        "The level that the client sets goes with each request; before it sets one that is `info`, as "
        "servers of ours have it, where the server declares that it logs.",
    ),
    _upward(
        "changed lists",
        Fate.BECOMES,
        "After the handshake one `subscriptions/listen` asks for all that the server promises; what changes "
        "while such a request is lost is not told.",
    ),
    _upward(
        "resource subscriptions",
        Fate.BECOMES,
        "They are part of the same request, which is opened anew before the one before it ends; the client "
        "is answered when the server has acknowledged them, with an error where it will not tell.",
    ),
    _upward("ping", Fate.BECOMES, "It is answered by the bridge: the stateless era has none."),
    _upward(
        "batches",
        Fate.BECOMES,
        "Those of 2025-03-26 are taken apart for the server, and their answers put together again.",
    ),
    _upward(
        "errors",
        Fate.CROSSES,
        "A missing resource has the code -32002 again; what only the stateless era refuses gets a code of "
        "the client's era and a sentence in front of its message.  `data` stays as it is.",
    ),
    _upward(
        "extensions",
        Fate.CROSSES,
        "A client that declares extensions hears of the server's, and gets results of their kinds as they "
        "are; from others they are kept.",
    ),
    _upward(
        "tasks of 2025-11-25",
        Fate.REFUSED,
        "The stateless era has others, so neither side is told that the other has them.",
    ),
    _upward(
        "changed roots",
        Fate.REFUSED,
        "A stateless server remembers no roots and asks for them each time, so the notification is dropped.",
    ),
)

#: Everything there is to say.
CROSSINGS: Final = _UPWARD
