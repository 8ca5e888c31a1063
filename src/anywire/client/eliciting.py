"""`elicitation/create`: the server asks the program's user to fill in a form, or to visit an address.

Specification: MCP `client/elicitation`, since 2025-06-18; addresses, and the defaults of all members,
since 2025-11-25.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias, cast, get_args

import msgspec
from msgspec import UNSET

from anywire.client.asked import Asked
from anywire.client.callback import Callback
from anywire.errors import ConfigError, Refusal
from anywire.protocol.types.elicitation import (
    ElicitAction,
    ElicitFormParams,
    ElicitParams,
    ElicitResult,
    read_elicit_params,
)
from anywire.protocol.types.initialize import ElicitationCapability
from anywire.session.json_schema import Validator, make_validator
from anywire.wire.codec import decode_value, encode_value
from anywire.wire.message import JsonRpcErrorCode

__all__ = ("Elicited", "Eliciting", "OnElicit", "with_defaults")

#: What the user did: a whole result, what was filled in, `accept`, `decline` or `cancel`; None: declined.
Elicited: TypeAlias = ElicitResult | Mapping[str, Any] | ElicitAction | None

#: Asks a user.  It gets `ElicitFormParams`, or `ElicitUrlParams` unless the client declares that it takes
#: none, and may take a second parameter, an `Asked`.
OnElicit: TypeAlias = (
    Callable[[Any], Elicited | Awaitable[Elicited]] | Callable[[Any, Asked], Elicited | Awaitable[Elicited]]
)


class Eliciting:
    """Answers with what `on_elicit` makes of the params."""

    def __init__(self, callback: Callback, capability: ElicitationCapability) -> None:
        self._callback = callback
        self._capability = capability

    async def answer(self, asked: Asked) -> bytes:
        """Return the raw result.  Raises a `Refusal`, or whatever the program raised."""
        try:
            params = read_elicit_params(asked.params)
            # A form that cannot be checked is not shown: nobody should fill it in for nothing.
            validator = (
                make_validator(params.requested_schema) if isinstance(params, ElicitFormParams) else None
            )
        except (msgspec.MsgspecError, ConfigError) as error:
            raise Refusal(JsonRpcErrorCode.InvalidParams, f"Invalid params: {error}") from error
        if not (self._capability.takes_urls if validator is None else self._capability.takes_forms):
            kind = "url" if validator is None else "form"
            reason = f"Invalid params: this client did not declare elicitation.{kind}"
            raise Refusal(JsonRpcErrorCode.InvalidParams, reason)
        elicited = await self._callback.call(asked, params)
        return _checked(_result(elicited, self._callback.name), params, validator, self._callback.name)


def with_defaults(schema: Mapping[str, Any], content: Mapping[str, Any]) -> dict[str, Any]:
    """Return what was filled into a form, with the defaults of its schema where nothing was."""
    properties: object = schema.get("properties")
    defaults: dict[str, Any] = {}
    if isinstance(properties, dict):
        for name, property in cast("dict[str, Any]", properties).items():
            if isinstance(property, dict) and "default" in property:
                defaults[name] = property["default"]
    return {**defaults, **content}


def _result(elicited: object, name: str) -> ElicitResult:
    if isinstance(elicited, ElicitResult):
        return elicited
    if elicited is None:
        return ElicitResult("decline")
    if isinstance(elicited, str) and elicited in get_args(ElicitAction):
        return ElicitResult(cast("ElicitAction", elicited))
    if isinstance(elicited, Mapping):
        return ElicitResult("accept", dict(cast("Mapping[str, Any]", elicited)))
    raise ConfigError(f"{name} returned {elicited!r}, which is no answer of a user's")


def _checked(result: ElicitResult, params: ElicitParams, validator: Validator | None, name: str) -> bytes:
    """Write a result.  Raises `ConfigError` for one that does not answer what was asked."""
    if validator is None or result.action != "accept":
        content = UNSET
    else:
        assert isinstance(params, ElicitFormParams)
        given = {} if isinstance(result.content, msgspec.UnsetType) else result.content
        content = with_defaults(params.requested_schema, given)
    raw = encode_value(ElicitResult(result.action, content, meta=result.meta))
    try:
        written = decode_value(raw, ElicitResult).content
    except msgspec.MsgspecError as error:
        raise ConfigError(f"{name} returned what is no answer of a user's: {error}") from error
    fault = "" if validator is None or written is UNSET else validator(written)
    if fault:
        raise ConfigError(f"{name} did not fill in the form as its schema says: {fault}")
    return raw
