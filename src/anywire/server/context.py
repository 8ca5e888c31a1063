"""What a handler sees of the request it serves."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any, Literal, TypeVar, overload

import msgspec
from msgspec import UNSET

from anywire.errors import Refusal
from anywire.protocol.types.content import ContentBlock, TextContent
from anywire.protocol.types.initialize import ClientCapabilities, Implementation
from anywire.protocol.types.logging import LogLevel
from anywire.protocol.types.roots import Root
from anywire.protocol.types.sampling import (
    CreateMessageParams,
    CreateMessageResult,
    ModelPreferences,
    SamplingMessage,
    ToolChoice,
)
from anywire.protocol.types.tools import Tool
from anywire.server.exchange import Exchange
from anywire.server.form import Answer
from anywire.server.question import (
    FormQuestion,
    ModelQuestion,
    Question,
    RootsQuestion,
    UrlQuestion,
    ask,
)
from anywire.wire.message import JsonRpcErrorCode

__all__ = ("Context",)

T = TypeVar("T")


class Context:
    """The request a handler is serving: whose it is, and what can be said and asked meanwhile.

    A handler gets one for a parameter annotated `Context`, whatever its name.  A handler that runs in
    a worker thread passes what it wants awaited to `from_thread`.
    """

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange

    @property
    def request_id(self) -> bytes:
        """The request's id as raw JSON."""
        return self._exchange.id

    @property
    def client(self) -> Implementation:
        """Who the client says it is; its name is empty before `initialize`."""
        return self._exchange.terms.client_info

    @property
    def client_capabilities(self) -> ClientCapabilities:
        """What the client says it can do."""
        return self._exchange.terms.client_capabilities

    @property
    def revision(self) -> str | None:
        """The protocol revision of the conversation, None before `initialize`."""
        return self._exchange.terms.revision

    @property
    def meta(self) -> bytes:
        """The request's `_meta`, raw JSON, `{}` where it has none."""
        return self._exchange.meta

    @property
    def state(self) -> dict[str, Any]:
        """Yours to fill: what all handlers of this conversation share, until it ends."""
        return self._exchange.state

    @property
    def lifespan(self) -> Any:
        """What the server's `lifespan` gave; None where it has none."""
        return self._exchange.session.service.lifespan_value

    @property
    def cancelled(self) -> bool:
        """True once the client has withdrawn the request.  A handler in a thread should look at it."""
        return self._exchange.cancelled

    @property
    def cancel_reason(self) -> str:
        """Why the client withdrew the request; empty while it has not."""
        return self._exchange.cancel_reason

    # Saying.

    async def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Report progress, if the client asked for it.  `progress` must grow from call to call."""
        await self._exchange.progress(progress, total, message)

    async def log(self, level: LogLevel, data: object, logger: str | None = None) -> None:
        """Send a log message to the client, if it is of the level that the client asked for."""
        await self._exchange.log(level, data, logger)

    # Asking.

    async def sample(
        self,
        messages: str | ContentBlock | Sequence[SamplingMessage],
        *,
        max_tokens: int = 1024,
        system_prompt: str | None = None,
        temperature: float | None = None,
        stop_sequences: Sequence[str] | None = None,
        preferences: ModelPreferences | None = None,
        include_context: Literal["none", "thisServer", "allServers"] | None = None,
        tools: Sequence[Tool] | None = None,
        tool_choice: ToolChoice | None = None,
        metadata: Mapping[str, Any] | None = None,
        timeout: float | None = None,
        key: str | None = None,
    ) -> CreateMessageResult:
        """Ask the client's model; a text or a block is one message of the user's.

        `timeout` is in seconds (default: `Limits.input_seconds`, since a person may be asked first); `key`
        names the question in the stateless era (2026-07-28), where questions have names.
        Raises `CapabilityMissing` for a client that has none to ask, `PeerError` when it refuses,
        `DeadlineExceeded`, or the error with which the wire ended.
        """
        params = CreateMessageParams(
            messages=_sampling_messages(messages),
            max_tokens=max_tokens,
            system_prompt=UNSET if system_prompt is None else system_prompt,
            temperature=UNSET if temperature is None else temperature,
            stop_sequences=UNSET if stop_sequences is None else list(stop_sequences),
            model_preferences=UNSET if preferences is None else preferences,
            include_context=UNSET if include_context is None else include_context,
            tools=UNSET if tools is None else list(tools),
            tool_choice=UNSET if tool_choice is None else tool_choice,
            metadata=UNSET if metadata is None else dict(metadata),
        )
        return await ask(self._exchange, ModelQuestion(params), timeout, key)

    @overload
    async def elicit(
        self, message: str, form: type[T], *, timeout: float | None = None, key: str | None = None
    ) -> Answer[T]: ...

    @overload
    async def elicit(
        self, message: str, form: dict[str, Any], *, timeout: float | None = None, key: str | None = None
    ) -> Answer[dict[str, Any]]: ...

    async def elicit(
        self,
        message: str,
        form: type[Any] | dict[str, Any],
        *,
        timeout: float | None = None,
        key: str | None = None,
    ) -> Answer[Any]:
        """Ask the client's user to fill in a form.

        `form` is a type whose members are texts, numbers, booleans or choices (the answer's `content` is
        one), or the JSON Schema of one (then it is a dictionary).  Raises what `sample` raises, and
        `RemoteProtocolError` for an answer that does not fit.
        """
        return await ask(self._exchange, FormQuestion(message, form), timeout, key)

    async def elicit_url(
        self,
        message: str,
        url: str,
        elicitation_id: str,
        *,
        timeout: float | None = None,
        key: str | None = None,
    ) -> Answer[None]:
        """Ask the client's user to visit an address (since 2025-11-25).

        The answer says whether the user agreed to; `Server.elicitation_complete` tells the client later
        that what was to be done there is done.  Raises what `sample` raises.
        """
        return await ask(self._exchange, UrlQuestion(message, url, elicitation_id), timeout, key)

    async def roots(self, *, timeout: float | None = None, key: str | None = None) -> Sequence[Root]:
        """Ask which folders the client lets the server work in.  Raises what `sample` raises."""
        return await ask(self._exchange, RootsQuestion(), timeout, key)

    def answer(self, key: str, question: Question[T]) -> T | None:
        """Return the answer to a question of an `InputRequired`; None: it has not been asked yet.

        Raises `Refusal` for an answer that does not fit.
        """
        raw = None if self._exchange.answers is None else self._exchange.answers.get(key)
        if raw is None:
            return None
        try:
            return question.read(raw)
        except (msgspec.MsgspecError, ValueError) as error:
            reason = f"Invalid params: the answer {key!r} cannot be used: {error}"
            raise Refusal(JsonRpcErrorCode.InvalidParams, reason) from error

    @property
    def round_state(self) -> Any:
        """The state of the `InputRequired` that this call goes on from; None in the first round."""
        return self._exchange.round_state

    def detach(self) -> None:
        """Let go of the connection that waits for this answer, where a wire has one for each call.

        For long calls over HTTP: the client comes back for the answer by itself (2025-11-25).  Elsewhere
        nothing happens.  Callable from any thread.
        """
        self._exchange.detach()

    def from_thread(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Await one of the methods above in a handler's worker thread: `from_thread(context.progress(1))`.

        Returns what it returns and raises what it raises, `concurrent.futures.CancelledError` once the
        client has withdrawn the request.
        """
        session = self._exchange.session
        owned = self._exchange.owned(coroutine)
        with session.service.threads.waiting():  # a person may be asked, and others want a thread meanwhile
            return asyncio.run_coroutine_threadsafe(owned, session.loop).result()


def _sampling_messages(
    messages: str | ContentBlock | Sequence[SamplingMessage],
) -> Sequence[SamplingMessage]:
    if isinstance(messages, str):
        return [SamplingMessage("user", TextContent(messages))]
    if isinstance(messages, Sequence):
        return messages
    return [SamplingMessage("user", messages)]
