"""A request of the stateless era, handed to what serves its method.

Specification: MCP `basic/versioning`, 2026-07-28.
"""

from __future__ import annotations

from anywire.protocol.modern import Envelope, EnvelopeFault
from anywire.server.exchange import Conversing
from anywire.server.methods.table import STATELESS_METHODS
from anywire.server.rounds import begin_round
from anywire.server.stateless import StatelessExchange
from anywire.wire.message import JsonRpcErrorCode, Request

__all__ = ("serve_stateless",)


def serve_stateless(
    session: Conversing, request: Request, envelope: Envelope | EnvelopeFault
) -> StatelessExchange | None:
    """Serve a request by what it says of itself; return what it became, None where it is dealt with."""
    if type(envelope) is not Envelope:
        assert isinstance(envelope, EnvelopeFault)
        session.fail(request.id, envelope.code, envelope.message, envelope.data)
        return None
    method = STATELESS_METHODS.get(request.method)
    if method is None:
        session.fail(request.id, JsonRpcErrorCode.MethodNotFound, f"Method not found: {request.method}")
        return None
    exchange = begin_round(session, request, envelope)
    if exchange is not None:
        method(exchange)
    return exchange
