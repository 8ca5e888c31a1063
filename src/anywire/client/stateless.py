"""Requests of the stateless era: each says who asks, and is made again when the server wants input first.

Specification: MCP `basic/index#_meta`, `basic/patterns/mrtr`, `server/utilities/caching`, 2026-07-28.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import Raw, UnsetType

from anywire.client.asked import Asked
from anywire.client.kept import Kept
from anywire.errors import AnywireError, RemoteProtocolError, RequestCancelled
from anywire.protocol.legacy import ClientConversation
from anywire.protocol.modern import write_envelope
from anywire.protocol.types.caching import CACHED_METHODS, CacheableResult
from anywire.protocol.types.envelope import COMPLETE, INPUT_REQUIRED, result_type
from anywire.protocol.types.input_required import InputRequest, InputRequired
from anywire.protocol.types.logging import LogLevel
from anywire.protocol.types.reading import read
from anywire.session.caller import Caller, OnProgress
from anywire.transport.deadline import bounded
from anywire.wire.codec import encode_value
from anywire.wire.limits import Limits
from anywire.wire.message import Request
from anywire.wire.splice import set_member

if TYPE_CHECKING:
    from anywire.client.answers import Answers

__all__ = ("StatelessCaller",)

#: So many answers one round may want.
_MOST_QUESTIONS: Final = 100
_COMPLETE: Final = b'{"resultType":"complete"'


class StatelessCaller:
    """Makes requests that stand for themselves."""

    def __init__(
        self,
        name: str,
        caller: Caller,
        answers: Answers | None,
        client: ClientConversation,
        revision: str,
        limits: Limits,
        *,
        keep: bool = True,
    ) -> None:
        self._name = name
        self._caller = caller
        self._answers = answers
        self._info = encode_value(client.info)
        self._capabilities = client.capabilities
        self._limits = limits
        self._revision = revision
        #: What is kept of results; None: nothing.
        self.kept = Kept() if keep else None
        #: The least severe level of log messages that each request asks for; None: no messages.
        self.log_level: LogLevel | None = None

    async def request(
        self,
        method: str,
        params: bytes | Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> bytes:
        """Make a request and return its raw result, after as many rounds of input as the server wants.

        Raises what `Caller.request` raises, the `Refusal` of a callback that refused, `RequestCancelled`
        for one that failed, and `RemoteProtocolError` for a result of a kind that is not known.
        """
        plain = params if params is None or isinstance(params, bytes) else encode_value(params)
        kept = (
            self.kept if method in CACHED_METHODS else None
        )  # a call is an action, whatever its result says
        if kept is not None:
            known = kept.find(method, plain, asyncio.get_running_loop().time())
            if known is not None:
                return known
        said, turns = plain, 0 if kept is None else kept.turns
        for _ in range(self._limits.rounds + 1):
            framed = self._frame(said)
            raw = await self._caller.request(method, framed, timeout=timeout, on_progress=on_progress)
            if raw.startswith(_COMPLETE):  # as nearly always
                return raw if kept is None else self._keep(kept, method, plain, raw, turns)
            kind = result_type(raw)
            if kind == COMPLETE:
                return raw if kept is None else self._keep(kept, method, plain, raw, turns)
            if kind != INPUT_REQUIRED:
                raise RemoteProtocolError(f"{self._name}: a result of {method} of an unknown kind: {kind!r}")
            said, kept = await self._next_round(method, plain, raw), None
        raise RemoteProtocolError(f"{self._name}: {method} wants input more than {self._limits.rounds} times")

    def _frame(self, params: bytes | None) -> bytes:
        return write_envelope(params, self._revision, self._capabilities, self._info, self.log_level)

    def _keep(self, kept: Kept, method: str, params: bytes | None, raw: bytes, turns: int) -> bytes:
        """Keep a result for as long as it says, unless something turned stale since it was asked for."""
        if kept.turns == turns and b'"ttlMs":0' not in raw and b'"ttlMs"' in raw:
            try:
                fresh = read(raw, CacheableResult).fresh_ms
            except msgspec.MsgspecError:
                return raw
            now = asyncio.get_running_loop().time()
            kept.keep(method, params, raw, now + fresh / 1000)
        return raw

    async def _next_round(self, method: str, params: bytes | None, raw: bytes) -> bytes:
        """Get the answers that are wanted; return the params of the next round."""
        try:
            wanted = read(raw, InputRequired)
        except msgspec.MsgspecError as error:
            reason = f"{self._name}: what {method} wants to know cannot be read: {error}"
            raise RemoteProtocolError(reason) from error
        said = b"{}" if params is None else params
        if not isinstance(wanted.input_requests, UnsetType):
            if len(wanted.input_requests) > _MOST_QUESTIONS:
                asked = len(wanted.input_requests)
                raise RemoteProtocolError(f"{self._name}: {method} wants {asked} answers at once")
            answers = await self._answer_all(wanted.input_requests)
            said = set_member(said, "inputResponses", encode_value(answers))
        if not isinstance(wanted.request_state, UnsetType):
            said = set_member(said, "requestState", encode_value(wanted.request_state))
        return said

    async def _answer_all(self, wanted: Mapping[str, InputRequest]) -> dict[str, Raw]:
        """Let the program answer, side by side; the first that fails ends the others."""
        loop = asyncio.get_running_loop()
        tasks = {key: loop.create_task(self._answer(each)) for key, each in wanted.items()}
        try:
            await asyncio.gather(*tasks.values())
        finally:
            for task in tasks.values():
                task.cancel()
        return {key: Raw(task.result()) for key, task in tasks.items()}

    async def _answer(self, wanted: InputRequest) -> bytes:
        answer = None if self._answers is None else self._answers.table.get(wanted.method)
        if answer is None:
            raise RemoteProtocolError(f"{self._name} wants {wanted.method}, which was not offered to it")
        params = None if isinstance(wanted.params, UnsetType) else bytes(wanted.params)
        request = Request(b'"input"', wanted.method, params)
        asked = Asked(request, self._caller, asyncio.get_running_loop(), self._revision)
        seconds = self._limits.input_seconds
        try:
            async with bounded(seconds, f"{wanted.method} was not answered by this side"):
                return await answer(asked)
        except asyncio.CancelledError as error:
            asked.cancelled = True
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            raise RequestCancelled(f"{wanted.method} was not answered: its callback was cancelled") from error
        except AnywireError:
            raise
        except Exception as error:  # the program's own, whose call this ends
            reason = f"{wanted.method} was not answered: {str(error) or type(error).__name__}"
            raise RequestCancelled(reason) from error
        finally:
            asked.done = True
