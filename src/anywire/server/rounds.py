"""The next round of a call: the same request once more, with answers to what was asked.

Specification: MCP `basic/patterns/mrtr`, 2026-07-28.
"""

from __future__ import annotations

import msgspec
from msgspec import Raw, UnsetType

from anywire.protocol.modern import Envelope
from anywire.protocol.round_state import RoundState, StateRefused, digest_of, open_state
from anywire.protocol.types.input_required import RetriableParams
from anywire.server.exchange import Conversing
from anywire.server.stateless import StatelessExchange
from anywire.wire.codec import decode_value
from anywire.wire.message import JsonRpcErrorCode, Request

__all__ = ("begin_round",)

_params = msgspec.json.Decoder(RetriableParams)


def begin_round(session: Conversing, request: Request, envelope: Envelope) -> StatelessExchange | None:
    """Return the exchange for a request that a handler is to be called for; None: it is dealt with.

    A request that goes on with a held call wakes its handler up; one that cannot go on is refused.
    """
    exchange = StatelessExchange(session, request.id, request.method, request.params, envelope)
    raw = request.params or b"{}"
    if b'"inputResponses"' not in raw and b'"requestState"' not in raw:
        return exchange
    try:
        params = decode_value(raw, RetriableParams, _params)
        state = _open(session, request, params)
        responses = {} if isinstance(params.input_responses, UnsetType) else params.input_responses
        if state is not None and state.handle:
            _wake(session, request, envelope, state.handle, responses)
            return None
    except (msgspec.MsgspecError, StateRefused) as error:
        exchange.fail(JsonRpcErrorCode.InvalidParams, f"Invalid params: {error}")
        return None
    exchange.answers = {key: bytes(answer) for key, answer in responses.items()}
    exchange.round_state = None if state is None else state.value
    return exchange


def _open(session: Conversing, request: Request, params: RetriableParams) -> RoundState | None:
    if isinstance(params.request_state, UnsetType):
        return None
    service = session.service
    digest = digest_of(request.method, request.params)
    now = service.wall_clock()
    return open_state(params.request_state, service.state_key, request=digest, principal="", now=now)


def _wake(
    session: Conversing, request: Request, envelope: Envelope, handle: str, responses: dict[str, Raw]
) -> None:
    """Let a held handler go on.  Raises `StateRefused` when it does not wait here, or not for this."""
    held = session.service.held
    exchange = held.find(handle)
    if exchange is None or exchange.session.loop is not session.loop:
        raise StateRefused(
            "the call of this requestState does not wait here: it went on already, has expired, or waited in "
            "another process; make the call anew"
        )
    fault = exchange.fault_of(responses)
    if fault:
        raise StateRefused(fault)
    held.release(handle)
    exchange.resume(session, request, envelope)
    session.running.keep(exchange)
    exchange.answer(responses)
