"""What a handler may ask of its client: its model, its user, its folders.

A question is data.  A handler asks it through its `Context` and waits, or returns it in an
`InputRequired` and is called again with the answer; either way works in every revision.  Only a client
that said that it can be asked is asked.

Specification: MCP `client/sampling`, `client/elicitation`, `client/roots`; `basic/patterns/mrtr`,
2026-07-28.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Generic, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from anywire.errors import CapabilityMissing, RemoteProtocolError
from anywire.protocol.features import Feature, has
from anywire.protocol.types.elicitation import ElicitFormParams, ElicitResult, ElicitUrlParams
from anywire.protocol.types.reading import read, read_items
from anywire.protocol.types.roots import ListRootsResult, Root
from anywire.protocol.types.sampling import CreateMessageParams, CreateMessageResult
from anywire.server.exchange import Exchange, Terms
from anywire.server.form import Answer, Form, read_form

__all__ = (
    "FormQuestion",
    "InputRequired",
    "ModelQuestion",
    "Question",
    "RootsQuestion",
    "UrlQuestion",
    "ask",
    "ask_all",
    "require_capability",
)

T = TypeVar("T")


class Question(Generic[T]):
    """A request to the client, whose answer is read as a T."""

    #: The client's method ...
    method: str = ""
    #: ... and whether a person or a model may have to answer, who take their time.
    is_slow = True

    def __init__(self, params: msgspec.Struct | None) -> None:
        #: The params, None for none.
        self.params = params

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.params!r})"

    def missing(self, terms: Terms) -> str:
        """Name the capability that the client would need and did not declare; empty: it can be asked."""
        raise NotImplementedError

    def read(self, raw: bytes) -> T:
        """Read the client's raw answer.

        Raises `msgspec.MsgspecError` or `ValueError` for one that is none.
        """
        raise NotImplementedError


class ModelQuestion(Question[CreateMessageResult]):
    """Asks the client's model."""

    method = "sampling/createMessage"

    def __init__(self, params: CreateMessageParams) -> None:
        super().__init__(params)
        self._with_tools = params.tools is not UNSET

    def missing(self, terms: Terms) -> str:
        """Sampling, and with tools where some are given."""
        sampling = terms.client_capabilities.sampling
        if isinstance(sampling, UnsetType):
            return "sampling"
        able = sampling.tools is not UNSET and has(Feature.SAMPLING_TOOLS, terms.revision)
        return "sampling.tools" if self._with_tools and not able else ""

    def read(self, raw: bytes) -> CreateMessageResult:
        """Read what the model said."""
        return read(raw, CreateMessageResult)


class FormQuestion(Question[Answer[T]]):
    """Asks the client's user to fill in a form: a type whose members are plain, or a JSON Schema."""

    method = "elicitation/create"

    def __init__(self, message: str, form: type[T] | dict[str, Any]) -> None:
        self._form: Form[T] = read_form(form)
        super().__init__(ElicitFormParams(message, self._form.schema))

    def missing(self, terms: Terms) -> str:
        """Elicitation, with forms."""
        elicitation = terms.client_capabilities.elicitation
        if isinstance(elicitation, UnsetType) or not has(Feature.ELICITATION, terms.revision):
            return "elicitation"
        return "" if elicitation.takes_forms else "elicitation.form"

    def read(self, raw: bytes) -> Answer[T]:
        """Read what was filled in."""
        result = read(raw, ElicitResult)
        if result.action != "accept":
            return Answer(result.action)
        content = {} if isinstance(result.content, UnsetType) else result.content
        return Answer("accept", self._form.read(content))


class UrlQuestion(Question[Answer[None]]):
    """Asks the client's user to visit an address."""

    method = "elicitation/create"

    def __init__(self, message: str, url: str, elicitation_id: str) -> None:
        super().__init__(ElicitUrlParams(message, url, elicitation_id))

    def missing(self, terms: Terms) -> str:
        """Elicitation, with addresses."""
        elicitation = terms.client_capabilities.elicitation
        able = has(Feature.URL_ELICITATION, terms.revision)
        if isinstance(elicitation, UnsetType) or not elicitation.takes_urls or not able:
            return "elicitation.url"
        return ""

    def read(self, raw: bytes) -> Answer[None]:
        """Read whether the user agreed to."""
        return Answer(read(raw, ElicitResult).action)


class RootsQuestion(Question[Sequence[Root]]):
    """Asks for the client's folders; one that cannot be read is left out."""

    method = "roots/list"
    is_slow = False

    def __init__(self) -> None:
        super().__init__(None)

    def missing(self, terms: Terms) -> str:
        """Roots."""
        return "roots" if terms.client_capabilities.roots is UNSET else ""

    def read(self, raw: bytes) -> Sequence[Root]:
        """Read the folders."""
        return read_items(read(raw, ListRootsResult).roots, Root)[0]


class InputRequired:
    """What a handler returns to be called again with answers: questions under names of its own.

    `state` is plain JSON data that it finds again as `Context.round_state`; the client carries it,
    sealed but readable, so any process with the same key can go on.
    """

    __slots__ = ("questions", "state")

    def __init__(self, questions: Mapping[str, Question[Any]], state: object = None) -> None:
        self.questions = dict(questions)
        self.state = state

    def __repr__(self) -> str:
        return f"InputRequired({self.questions!r}, {self.state!r})"


async def ask(exchange: Exchange, question: Question[T], timeout: float | None, key: str | None = None) -> T:
    """Ask the client and return its answer.

    `timeout` is in seconds (None: the limit for questions of that kind).  Raises `CapabilityMissing`,
    `RemoteProtocolError` for an answer that does not fit, and what `Exchange.request` raises.
    """
    require_capability(exchange, question)
    limits = exchange.session.limits
    usual = limits.input_seconds if question.is_slow else limits.request_seconds
    seconds = usual if timeout is None else timeout
    raw = await exchange.request(question.method, question.params, seconds, key)
    try:
        return question.read(raw)
    except (msgspec.MsgspecError, ValueError) as error:
        text = f"the answer of {_name(exchange)} to {question.method} cannot be used: {error}"
        raise RemoteProtocolError(text) from error


async def ask_all(exchange: Exchange, required: InputRequired) -> dict[str, bytes]:
    """Ask all questions at once and return the raw answers.  Raises what `ask` raises."""
    for question in required.questions.values():
        require_capability(exchange, question)
    limits = exchange.session.limits
    async with asyncio.TaskGroup() as group:
        tasks = {
            key: group.create_task(exchange.request(each.method, each.params, limits.input_seconds, key))
            for key, each in required.questions.items()
        }
    return {key: task.result() for key, task in tasks.items()}


def require_capability(exchange: Exchange, question: Question[Any]) -> None:
    """Raise `CapabilityMissing` for a client that cannot be asked this."""
    missing = question.missing(exchange.terms)
    if missing:
        raise CapabilityMissing(_name(exchange), missing)


def _name(exchange: Exchange) -> str:
    client = exchange.terms.client_info
    return f"{client.name} {client.version}".strip() or "the client"
