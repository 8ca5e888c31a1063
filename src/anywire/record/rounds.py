"""Which request goes on with a call that was answered with questions.

In the stateless era a call may be answered with what the server wants to know first; then the client makes
it again, under another id, with the answers and the server's state.  Two such requests are one call where
the state came back byte for byte; where there is none, where method, name and the keys that are answered
are those of one open call, and of one only.  Nothing is guessed.

Specification: MCP `basic/patterns/mrtr`, 2026-07-28.
"""

from __future__ import annotations

from typing import Final, TypeAlias

import msgspec
from msgspec import UNSET, Raw, UnsetType

from anywire.record.exchange import Exchange
from anywire.wire.value import decode_value

__all__ = ("Rounds",)

# So many open calls that cannot be told apart are kept; what goes on with one of more is of none.
_MOST_ALIKE: Final = 64
# Calls that were never gone on with are forgotten in the end.
_MOST_OPEN: Final = 10_000

_Keys: TypeAlias = frozenset[str]
_Likeness: TypeAlias = tuple[str, str, str, bytes | _Keys]


class _Asked(msgspec.Struct, rename="camel"):
    """What a result asks for."""

    result_type: str = ""
    input_requests: dict[str, Raw] | UnsetType = UNSET
    request_state: Raw | UnsetType = UNSET


class _Answered(msgspec.Struct, rename="camel"):
    """What a request brings with it."""

    input_responses: dict[str, Raw] | UnsetType = UNSET
    request_state: Raw | UnsetType = UNSET


class _Open(msgspec.Struct, eq=False):
    last: Exchange
    keys: _Keys


class Rounds:
    """The calls that wait for their next round."""

    def __init__(self) -> None:
        self._open: dict[_Likeness, list[_Open]] = {}

    def asked(self, exchange: Exchange, params: bytes | None) -> Exchange | None:
        """Return the round that a request goes on with, None: it is a call of its own."""
        if params is None or (b"inputResponses" not in params and b"requestState" not in params):
            return None
        try:
            brought = decode_value(params, _Answered)
        except msgspec.MsgspecError:
            return None
        keys = _keys(brought.input_responses)
        likeness = _likeness(exchange, brought.request_state, keys)
        alike = self._open.get(likeness, [])
        found = alike[:] if len(alike) == 1 else [each for each in alike if each.keys == keys]
        if len(found) != 1 or len(alike) >= _MOST_ALIKE:
            return None
        [before] = found
        alike.remove(before)
        if not alike:
            del self._open[likeness]
        return before.last

    def answered(self, exchange: Exchange, result: bytes) -> bool:
        """Note a result; say whether it asks for another round."""
        if b"input_required" not in result:
            return False
        try:
            asked = decode_value(result, _Asked)
        except msgspec.MsgspecError:
            return False
        if asked.result_type != "input_required":
            return False
        keys = _keys(asked.input_requests)
        alike = self._open.setdefault(_likeness(exchange, asked.request_state, keys), [])
        if len(alike) < _MOST_ALIKE:
            alike.append(_Open(exchange, keys))
        if len(self._open) > _MOST_OPEN:
            del self._open[next(iter(self._open))]
        return True


def _keys(members: dict[str, Raw] | UnsetType) -> _Keys:
    return frozenset() if isinstance(members, UnsetType) else frozenset(members)


def _likeness(exchange: Exchange, state: Raw | UnsetType, keys: _Keys) -> _Likeness:
    if isinstance(state, UnsetType):
        return exchange.server, exchange.method, exchange.subject, keys
    return exchange.server, exchange.method, "", bytes(state)
