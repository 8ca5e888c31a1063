"""Which requests of the client the server has not answered, and what becomes of them when it is lost.

What only reads is asked again of the next server, once; anything else may have been done already, and is
not done twice.  So of such a request nothing is kept but its id.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Final

from anywire.protocol.methods import METHODS
from anywire.protocol.retry import is_read_only
from anywire.wire.limits import Limits
from anywire.wire.message import NULL_ID, ErrorResponse, Request, Response, folded_key, id_key

__all__ = ("Unanswered",)

#: What is asked again, and what leaves something at the server that its successor has to know of.
_KEPT: Final = frozenset(name for name in METHODS if is_read_only(name)) | {
    "logging/setLevel",
    "resources/subscribe",
    "resources/unsubscribe",
    "subscriptions/listen",
}


class Unanswered:
    """The requests of a client that it is still owed an answer to, in their order."""

    def __init__(self, limits: Limits) -> None:
        self._most_bytes = limits.replay_bytes
        self._kept_bytes = 0
        #: The requests by their keys; of those that are not kept, the raw ids.
        self.asked: dict[bytes, Request | bytes] = {}
        self._again: set[bytes] = set()

    def __len__(self) -> int:
        return len(self.asked)

    def __contains__(self, key: bytes) -> bool:
        return key in self.asked

    @property
    def ids(self) -> list[bytes]:
        """The raw ids."""
        return [each.id if isinstance(each, Request) else each for each in self.asked.values()]

    def ask(self, key: bytes, request: Request) -> None:
        """A request is on its way, or waits for a server."""
        if self._kept_bytes and key in self.asked:
            self.settle(key)  # a client that uses an id twice has itself to thank
        if request.method in _KEPT and self._kept_bytes + _size(request) <= self._most_bytes:
            self.asked[key] = request
            self._kept_bytes += _size(request)
        else:
            self.asked[key] = request.id

    def settle(self, key: bytes) -> Request | bytes | None:
        """Forget a request that was answered, or is wanted no more.

        Returns it where it was kept, else its raw id; None where there is no such request.
        """
        asked = self.asked.pop(key, None)
        if type(asked) is Request:
            self._kept_bytes -= _size(asked)
        if self._again:
            self._again.discard(key)
        return asked

    def meant(self, reply: Response | ErrorResponse) -> bytes | None:
        """Return the raw id of the request that a reply with another id answers; None: it answers none.

        A number may be spelled with the wrong type, and an error without an id is that of the only request.
        """
        if reply.id is not None and reply.id != NULL_ID:
            asked = self.asked.get(folded_key(id_key(reply.id)))
        elif isinstance(reply, ErrorResponse) and len(self.asked) == 1:
            asked = next(iter(self.asked.values()))
        else:
            return None
        return asked.id if isinstance(asked, Request) else asked

    def lose(self, lasting: Container[bytes], unsent: Container[bytes]) -> tuple[list[Request], list[bytes]]:
        """The server is lost: return what is to be asked again, and the raw ids of what has failed.

        The keys in `lasting` are those of requests that stay open, and are asked again each time; those in
        `unsent` wait for a server anyway.
        """
        again: list[Request] = []
        failed: list[bytes] = []
        for key, asked in self.asked.items():
            if key in unsent:
                continue
            if isinstance(asked, bytes):
                failed.append(asked)
            elif key in lasting or (is_read_only(asked.method) and key not in self._again):
                again.append(asked)
            else:
                failed.append(asked.id)
        self._again.update(id_key(request.id) for request in again)
        return again, failed


def _size(request: Request) -> int:
    return len(request.frame) or len(request.params or b"")
