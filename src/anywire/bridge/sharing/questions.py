"""The requests of the server that a client has been given: which, under which id, and whose answer counts."""

from __future__ import annotations

from anywire.bridge.sharing.client import Client
from anywire.wire.message import NULL_ID, ErrorResponse, Request, Response, folded_key, id_key

__all__ = ("Question", "Questions")


class Question:
    """One request of the server: `id` is the server's own spelling, `number` the id the client sees."""

    __slots__ = ("client", "id", "number", "token")

    def __init__(self, client: Client, request: Request, number: bytes, token: bytes | None) -> None:
        self.client = client
        self.id = request.id
        self.number = number
        #: The raw progress token that the server gave with it.
        self.token = token


class Questions:
    """All questions of one server that are unanswered."""

    def __init__(self) -> None:
        self._by_id: dict[bytes, Question] = {}
        self._last = 0

    def __len__(self) -> int:
        return len(self._by_id)

    def __contains__(self, id: bytes) -> bool:
        return id_key(id) in self._by_id

    def ask(self, client: Client, request: Request, token: bytes | None) -> Question:
        """A client is given a request of the server."""
        self._last += 1
        question = Question(client, request, b"%d" % self._last, token)
        self._by_id[id_key(request.id)] = question
        client.questions[question.number] = question
        return question

    def find(self, id: bytes) -> Question | None:
        """Return the question of an id of the server's."""
        return self._by_id.get(id_key(id))

    def answered(self, client: Client, reply: Response | ErrorResponse) -> Question | None:
        """Return the question that a reply of that client settles, and forget it; None: it was asked none."""
        if reply.id is None or reply.id == NULL_ID:
            number = next(iter(client.questions)) if len(client.questions) == 1 else b""
        else:
            number = folded_key(id_key(reply.id))
        question = client.questions.get(number)
        if question is not None:
            self.end(question)
        return question

    def end(self, question: Question) -> None:
        """It has its answer, or needs none any more."""
        self._by_id.pop(id_key(question.id), None)
        question.client.questions.pop(question.number, None)

    def clear(self) -> None:
        """The server has forgotten that it asked."""
        for question in list(self._by_id.values()):
            self.end(question)
