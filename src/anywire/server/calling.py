"""Running the handler that serves a request, and answering with what comes of it."""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import Any

from anywire.errors import LimitExceeded
from anywire.server.exchange import Exchange
from anywire.server.handler import How, Served
from anywire.server.question import InputRequired
from anywire.server.result import describe
from anywire.wire.message import JsonRpcErrorCode

__all__ = ("run_handler",)

_log = logging.getLogger("anywire.server")

# Before Python 3.12 a member is found anew in its enumeration each time.
_INLINE, _TASK = How.INLINE, How.TASK


def run_handler(exchange: Exchange, served: Served, arguments: Any) -> None:
    """Run a handler and answer its request, at once where that can be."""
    handler = served.handler
    if handler.how is not _INLINE:
        exchange.session.running.start(exchange, _run(exchange, served, arguments))
        return
    try:
        output = handler.call(arguments, exchange.context)
        if type(output) is InputRequired:
            exchange.session.running.start(exchange, _run(exchange, served, arguments, output))
        else:
            _finish(exchange, served, output)
    except BaseException as error:  # noqa: BLE001 sorted out there
        _fail(exchange, served, error)


async def _run(
    exchange: Exchange, served: Served, arguments: Any, required: InputRequired | None = None
) -> None:
    """Run a handler that waits or blocks, again after each round of input that it wants first."""
    handler = served.handler
    try:
        while required is None or await _answered(exchange, required):
            if handler.how is _TASK:
                output = await handler.call(arguments, exchange.context)
            else:
                output = await _in_thread(exchange, served, arguments)
            if type(output) is not InputRequired:
                _finish(exchange, served, output)
                return
            required = output
    except BaseException as error:  # noqa: BLE001 sorted out there
        _fail(exchange, served, error)


async def _answered(exchange: Exchange, required: InputRequired) -> bool:
    """Get the answers that a handler wants; False: the request was answered by asking for them."""
    exchange.rounds += 1
    if exchange.rounds > exchange.session.limits.rounds:
        raise LimitExceeded(f"more than {exchange.session.limits.rounds} rounds of input")
    return await exchange.require_input(required)


async def _in_thread(exchange: Exchange, served: Served, arguments: Any) -> Any:
    call = partial(served.handler.call, arguments, exchange.context)
    if served.handler.how is _INLINE:
        return call()
    session = exchange.session
    return await session.loop.run_in_executor(session.service.threads, call)


def _finish(exchange: Exchange, served: Served, output: Any) -> None:
    result = served.encode(output, exchange.terms)
    exchange.done = True
    if exchange.listed:
        exchange.session.running.forget(exchange)
    if not exchange.cancelled:  # its id may be in use again
        exchange.reply(result)


def _fail(exchange: Exchange, served: Served, error: BaseException) -> None:
    """Sort out why a handler did not return."""
    session = exchange.session
    session.running.forget(exchange)
    ends = isinstance(error, SystemExit | KeyboardInterrupt)
    if ends:
        session.end_by(error)  # the program wants to end, and does so in order
    if exchange.cancelled:
        return  # its id may be in use again
    label = served.label
    if ends:
        exchange.fail(JsonRpcErrorCode.InternalError, f"{label} ended the server")
    elif session.is_ending and isinstance(error, asyncio.CancelledError | GeneratorExit):
        exchange.fail(JsonRpcErrorCode.InternalError, f"the call of {label} was cancelled by the server")
    elif (refusal := exchange.refusal_of(error)) is not None:
        exchange.refuse(refusal)
    elif (result := served.encode_failure(error)) is not None:
        _log.info("%s failed", label, exc_info=error)
        exchange.reply(result)
    else:
        _log.info("%s failed", label, exc_info=error)
        exchange.fail(JsonRpcErrorCode.InternalError, f"Error in {label}: {describe(error)}")
