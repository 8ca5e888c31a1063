"""What a handler may ask of its client: its model, its user, its folders.

Each asks only a client that said that it can be asked, in a revision that has the question.

Specification: MCP `client/sampling`, `client/elicitation`, `client/roots`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from anywire.errors import CapabilityMissing, RemoteProtocolError
from anywire.protocol.features import Feature, has
from anywire.protocol.types.elicitation import ElicitFormParams, ElicitResult, ElicitUrlParams
from anywire.protocol.types.reading import read, read_items
from anywire.protocol.types.roots import ListRootsResult, Root
from anywire.protocol.types.sampling import CreateMessageParams, CreateMessageResult
from anywire.server.exchange import Exchange
from anywire.server.form import Answer, Form

__all__ = ("ask_form", "ask_model", "ask_roots", "ask_url")

T = TypeVar("T")
S = TypeVar("S", bound=msgspec.Struct)


async def ask_model(
    exchange: Exchange, params: CreateMessageParams, timeout: float | None
) -> CreateMessageResult:
    """Ask the client's model.  Raises `CapabilityMissing`, or what the client answered as `PeerError`."""
    sampling = exchange.client_capabilities.sampling
    if isinstance(sampling, UnsetType):
        raise _missing(exchange, "sampling")
    if params.tools is not UNSET and (
        sampling.tools is UNSET or not has(Feature.SAMPLING_TOOLS, exchange.revision)
    ):
        raise _missing(exchange, "sampling.tools")
    raw = await exchange.request("sampling/createMessage", params, _patience(exchange, timeout))
    return _read(raw, CreateMessageResult, "sampling/createMessage", exchange)


async def ask_form(exchange: Exchange, message: str, form: Form[T], timeout: float | None) -> Answer[T]:
    """Ask the client's user to fill in a form.

    Raises `CapabilityMissing`, `PeerError`, `RemoteProtocolError` for an answer that does not fit.
    """
    elicitation = exchange.client_capabilities.elicitation
    if isinstance(elicitation, UnsetType) or not has(Feature.ELICITATION, exchange.revision):
        raise _missing(exchange, "elicitation")
    if not elicitation.takes_forms:
        raise _missing(exchange, "elicitation.form")
    params = ElicitFormParams(message, form.schema)
    raw = await exchange.request("elicitation/create", params, _patience(exchange, timeout))
    result = _read(raw, ElicitResult, "elicitation/create", exchange)
    if result.action != "accept":
        return Answer(result.action)
    try:
        return Answer("accept", form.read({} if isinstance(result.content, UnsetType) else result.content))
    except (msgspec.MsgspecError, ValueError) as error:
        text = f"{_name(exchange)} sent a form back that is not filled in as its schema says: {error}"
        raise RemoteProtocolError(text) from error


async def ask_url(
    exchange: Exchange, message: str, url: str, elicitation_id: str, timeout: float | None
) -> Answer[Any]:
    """Ask the client's user to visit an address.  Raises `CapabilityMissing`, `PeerError`."""
    elicitation = exchange.client_capabilities.elicitation
    able = has(Feature.URL_ELICITATION, exchange.revision)
    if isinstance(elicitation, UnsetType) or not elicitation.takes_urls or not able:
        raise _missing(exchange, "elicitation.url")
    params = ElicitUrlParams(message, url, elicitation_id)
    raw = await exchange.request("elicitation/create", params, _patience(exchange, timeout))
    return Answer(_read(raw, ElicitResult, "elicitation/create", exchange).action)


async def ask_roots(exchange: Exchange, timeout: float | None) -> Sequence[Root]:
    """Ask for the client's folders; one that cannot be read is left out.  Raises `CapabilityMissing`."""
    if exchange.client_capabilities.roots is UNSET:
        raise _missing(exchange, "roots")
    seconds = exchange.limits.request_seconds if timeout is None else timeout
    raw = await exchange.request("roots/list", None, seconds)
    return read_items(_read(raw, ListRootsResult, "roots/list", exchange).roots, Root)[0]


def _patience(exchange: Exchange, timeout: float | None) -> float:
    return exchange.limits.input_seconds if timeout is None else timeout


def _read(raw: bytes, type: type[S], method: str, exchange: Exchange) -> S:
    try:
        return read(raw, type)
    except msgspec.MsgspecError as error:
        text = f"the answer of {_name(exchange)} to {method} cannot be read: {error}"
        raise RemoteProtocolError(text) from error


def _missing(exchange: Exchange, capability: str) -> CapabilityMissing:
    return CapabilityMissing(_name(exchange), capability)


def _name(exchange: Exchange) -> str:
    client = exchange.client
    return f"{client.name} {client.version}".strip() or "the client"
