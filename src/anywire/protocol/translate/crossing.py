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


def _table(direction: Direction, *rows: tuple[str, Fate, str]) -> tuple[Crossing, ...]:
    return tuple(Crossing(direction, *row) for row in rows)


_UPWARD: Final = _table(
    Direction.UPWARD,
    (
        "initialize",
        Fate.BECOMES,
        "The server is asked `server/discover` in the client's name, and its answer becomes that of the "
        "handshake, in the revision that the client asked for; where there is no such revision, in the "
        "latest that shakes hands.",
    ),
    (
        "requests and results",
        Fate.CROSSES,
        "Params, results and custom methods keep their bytes; each request says who asks, and the result "
        "loses `resultType` and, where the era has them, `ttlMs` and `cacheScope`.",
    ),
    (
        "members of another revision",
        Fate.CROSSES,
        "What the client's revision has no word for (icons, structured content that is no object) is passed "
        "on as it is.",
    ),
    (
        "methods of the stateless era",
        Fate.REFUSED,
        "A server that shakes hands knows neither `server/discover` nor `subscriptions/listen`: `-32601`.",
    ),
    (
        "progress",
        Fate.CROSSES,
        "The client's tokens are the server's; progress that the client itself reports is dropped, since a "
        "stateless server has no request of its own that it could belong to.",
    ),
    (
        "cancellation",
        Fate.CROSSES,
        "It reaches the request that is in flight for the call, and takes back what the client is asked.",
    ),
    (
        "sampling, elicitation, roots",
        Fate.BECOMES,
        "A result that requires input becomes requests to the client, all at once; with their answers the "
        "call is made again, at most `rounds` times.  A client that answers with an error, not within "
        "`input_seconds`, or did not declare the capability, has its call fail with a sentence.",
    ),
    (
        "elicitation at an address",
        Fate.BECOMES,
        "A visit gets the id that 2025-11-25 wants; its completion is never told, since no stateless server "
        "tells of it.",
    ),
    (
        "log messages",
        Fate.BECOMES,
        "The level that the client sets goes with each request; before it sets one that is `info`, as "
        "servers of ours have it, where the server declares that it logs.",
    ),
    (
        "changed lists",
        Fate.BECOMES,
        "After the handshake one `subscriptions/listen` asks for all that the server promises; what changes "
        "while such a request is lost is not told.",
    ),
    (
        "resource subscriptions",
        Fate.BECOMES,
        "They are part of the same request, which is opened anew before the one before it ends; the client "
        "is answered when the server has acknowledged them, with an error where it will not tell.",
    ),
    (
        "ping",
        Fate.BECOMES,
        "The client's is answered by the bridge, since the stateless era has none; nor does a server of "
        "that era ask for a sign of life.",
    ),
    (
        "batches",
        Fate.BECOMES,
        "Those of 2025-03-26 are taken apart for the server, and their answers put together again.",
    ),
    (
        "errors",
        Fate.CROSSES,
        "A missing resource that the error names has the code `-32002` again; what only the stateless era "
        "refuses gets a code of the client's era and a sentence in front of its message.  `data` stays as "
        "it is.",
    ),
    (
        "extensions",
        Fate.CROSSES,
        "A client that declares extensions hears of the server's, and gets results of their kinds as they "
        "are; others hear of none, and such a result is an error.",
    ),
    (
        "arguments in headers",
        Fate.BECOMES,
        "Over HTTP the bridge repeats them as the list of tools tells; a tool whose marks cannot be "
        "followed is left out of the list.",
    ),
    (
        "tasks of 2025-11-25",
        Fate.REFUSED,
        "The stateless era has others, so neither side is told that the other has them.",
    ),
    (
        "changed roots",
        Fate.REFUSED,
        "A stateless server remembers no roots and asks for them each time, so the notification is dropped.",
    ),
    (
        "notifications of no revision",
        Fate.CROSSES,
        "They are passed on as they are, in both directions.",
    ),
    (
        "requests of the server",
        Fate.REFUSED,
        "A stateless server makes none; one that comes all the same is reported, and nobody is asked.",
    ),
)

_DOWNWARD: Final = _table(
    Direction.DOWNWARD,
    (
        "requests and results",
        Fate.CROSSES,
        "Each request is a conversation of its own, with a handshake that says of the client what the "
        "request says; which the bridge joins into one where one server serves many.  Params, results and "
        "custom methods keep their bytes; the result gains `resultType` and the server's name.",
    ),
    (
        "server/discover",
        Fate.BECOMES,
        "What the server says to `initialize`, whatever revision it answers, with the stateless revisions "
        "as those that are spoken.",
    ),
    (
        "members of another revision",
        Fate.CROSSES,
        "What the server's revision has a word for and the client's not is passed on as it is.",
    ),
    (
        "how long results stay fresh",
        Fate.BECOMES,
        "No time at all (`ttlMs` 0, `private`), since a handshake server does not say; one that does is "
        "believed.",
    ),
    (
        "methods of the handshake era",
        Fate.REFUSED,
        "A stateless server knows no `initialize`, `ping`, `logging/setLevel`, `resources/subscribe` and "
        "`resources/unsubscribe`: `-32601`.",
    ),
    (
        "progress",
        Fate.CROSSES,
        "Under the client's token, whatever the server's is; a request without one is told of none.",
    ),
    (
        "cancellation",
        Fate.CROSSES,
        "It reaches the server's request, whether the client sends it or ends the connection of its "
        "request; `initialize` is not cancelled, its conversation ends.  Between two rounds there is no "
        "request to cancel, and a call that nobody comes back to is cancelled after `held_seconds`.",
    ),
    (
        "sampling, elicitation, roots",
        Fate.BECOMES,
        "What the server asks during `tools/call`, `prompts/get` and `resources/read` becomes a result that "
        "requires input; its call stays open until the client makes its own again, with the answers.  "
        "Of several calls that one client has in flight on one conversation the latest may get the question "
        "of another.  What the client did not declare is not asked, nor what would be more than `held_calls` "
        "at once: the server gets an error.",
    ),
    (
        "questions during other methods",
        Fate.REFUSED,
        "Their results cannot require input, so the server gets `-32601` and a sentence.",
    ),
    (
        "elicitation at an address",
        Fate.BECOMES,
        "A visit loses its id, and its completion is not told.  An error that wants visits (`-32042`) "
        "becomes a round, after which the call is made again if the user has agreed to all of them, and "
        "fails with `-32603` if not; a client that cannot be sent to an address is told what it would need "
        "(`-32021`).",
    ),
    (
        "log messages",
        Fate.BECOMES,
        "The level of the request is set before it is made, where the server logs; messages below it are "
        "not told, and none to a request without a level.",
    ),
    (
        "changed lists",
        Fate.BECOMES,
        "One `subscriptions/listen` is acknowledged with the lists whose changes the server promises to "
        "tell; when the server ends, it has an answer.",
    ),
    (
        "resource subscriptions",
        Fate.BECOMES,
        "Each resource of a `subscriptions/listen` is subscribed to before it is acknowledged with those "
        "that the server granted, and unsubscribed from when it is cancelled.",
    ),
    ("ping", Fate.BECOMES, "The server's is answered by the bridge: a stateless client cannot be asked."),
    (
        "batches",
        Fate.REFUSED,
        "No stateless revision has them, so each request in one is refused with `-32600`.",
    ),
    (
        "errors",
        Fate.CROSSES,
        "A missing resource has the code `-32602`, with its address in `data` where there is room; all else "
        "stays as it is.",
    ),
    (
        "extensions",
        Fate.CROSSES,
        "Either side is told which the other declares, and a result of their kinds stays what it is.",
    ),
    (
        "tasks of 2025-11-25",
        Fate.REFUSED,
        "The stateless era has others, so neither side is told that the other has them; a call "
        "or a question that asks to be one all the same is refused with `-32602`.",
    ),
    (
        "notifications of the client",
        Fate.REFUSED,
        "All but a cancellation are dropped: there is no conversation that they could be about.",
    ),
    (
        "notifications of no revision",
        Fate.CROSSES,
        "What the server tells during a request is told on it, as it is; during `subscriptions/listen` only "
        "what was asked for is.",
    ),
)

#: Everything there is to say.
CROSSINGS: Final = (*_UPWARD, *_DOWNWARD)
