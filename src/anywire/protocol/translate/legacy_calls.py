"""The requests of a client of the handshake era, from their arrival to their one end.

Each ends with a reply, alone or in the array of its batch, or with a `Failed`; one that the client took back
has no end.  Towards the server a request has another id in each round.
"""

from __future__ import annotations

from collections.abc import Sequence

from anywire.errors import AnywireError
from anywire.protocol.translate.effect import Effect, Failed, ToClient
from anywire.protocol.translate.legacy_rounds import Call, Rounds
from anywire.protocol.translate.shapes import with_member
from anywire.wire.batch import BatchReplies
from anywire.wire.limits import Limits
from anywire.wire.message import (
    Batch,
    ErrorResponse,
    JsonRpcErrorCode,
    Request,
    Response,
    error_reply,
    id_key,
)

__all__ = ("Calls", "gathered")

_FAILED = "the call that needed it has failed"


class Calls:
    """The one door to the table.  `rounds` has the questions that are open for them."""

    def __init__(self, rounds: Rounds, limits: Limits) -> None:
        self._rounds = rounds
        self._limits = limits
        self._calls: dict[bytes, Call] = {}
        self._sent: dict[bytes, Call] = {}  # by the key of the request to the server
        self._last_id = 0
        #: Gathers what belongs to a batch.
        self.batches = BatchReplies()

    def __len__(self) -> int:
        return len(self._calls)

    @property
    def all(self) -> list[Call]:
        """Those that have not come to their end."""
        return list(self._calls.values())

    def find(self, key: bytes) -> Call | None:
        """Return the client's request of that key."""
        return self._calls.get(key)

    def refusal_of(self, request: Request) -> ErrorResponse | None:
        """Return the answer to a request that cannot begin; None: it can."""
        if id_key(request.id) in self._calls:
            reason = "Invalid Request: a request with this id is in flight already"
            return error_reply(request.id, JsonRpcErrorCode.InvalidRequest, reason)
        limit = self._limits.requests_in_flight
        if len(self._calls) >= limit:
            reason = f"more than {limit} requests are unanswered; wait for some of them"
            return error_reply(request.id, JsonRpcErrorCode.InternalError, reason)
        return None

    def begin(self, request: Request) -> Call:
        """A request of the client's has come in."""
        call = Call(request)
        self._calls[call.key] = call
        return call

    # Towards the server.

    def fresh_id(self) -> bytes:
        """Return an id for a request to the server that none has had."""
        self._last_id += 1
        return b"%d" % self._last_id

    def send(self, call: Call, request: Request) -> Request:
        """Return a request for a call under an id of its own."""
        call.sent = self.fresh_id()
        self._sent[call.sent] = call
        return with_member(request, "id", call.sent)

    def sent(self, key: bytes) -> Call | None:
        """Return the call that a request to the server is in flight for."""
        return self._sent.get(key)

    def sole(self) -> bytes | None:
        """Return the key of the request to the server, if there is just one."""
        return next(iter(self._sent)) if len(self._sent) == 1 else None

    def received(self, key: bytes) -> Call | None:
        """The server has answered the request of that key: it is in flight no more."""
        call = self._sent.pop(key, None)
        if call is not None:
            call.sent = None
        return call

    # The end.

    def reply(self, call: Call, reply: Response | ErrorResponse) -> list[Effect]:
        """Answer a call, under the client's id."""
        effects = self._forget(call, _FAILED)
        reply = with_member(reply, "id", call.request.id)
        if self.batches.active and (replies := self.batches.add(reply)) is not None:
            return effects + gathered(replies)
        return [*effects, ToClient(reply, call.request.id)]

    def refuse(self, call: Call, code: int, reason: str) -> list[Effect]:
        """Answer a call with an error of this side."""
        return self.reply(call, error_reply(call.request.id, code, reason))

    def fail(self, call: Call, error: AnywireError) -> list[Effect]:
        """A call cannot be answered any more."""
        effects = [*self._forget(call, _FAILED), Failed(call.request.id, error)]
        return effects + gathered(self.batches.drop(call.key))

    def take_back(self, call: Call) -> list[Effect]:
        """The client wants no answer of a call any more."""
        effects = self._forget(call, "the call that needed it was cancelled")
        return effects + gathered(self.batches.drop(call.key))

    def _forget(self, call: Call, reason: str) -> list[Effect]:
        """A call has come to its end; return what tells the client that its answers are not needed."""
        self._calls.pop(call.key, None)
        if call.sent is not None:
            self._sent.pop(call.sent, None)
            call.sent = None
        return [ToClient(each, call.request.id) for each in self._rounds.drop(call, reason)]


def gathered(replies: Sequence[Response | ErrorResponse]) -> list[Effect]:
    """Return what sends the replies of a batch, nothing where none are due."""
    return [ToClient(Batch(tuple(replies)), replies[0].id)] if replies else []
