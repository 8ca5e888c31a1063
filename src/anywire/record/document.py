"""What a recording tells, as plain data: what programs read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from msgspec import UnsetType

from anywire.record.exchange import Exchange
from anywire.record.story import Told
from anywire.wire.message import ErrorResponse, Fault, Notification, Request, Response
from anywire.wire.value import Verbatim

__all__ = ("document_of", "unanswered_of")

_Document: TypeAlias = dict[str, Any]


def document_of(told: Told) -> _Document:
    """Return what JSON can say of a thing that happened; params, results and errors stay as they were."""
    entry = told.entry
    said: _Document = {"line": entry.line, "time": entry.time, "session": told.session.number}
    said["server"] = told.session.server
    if entry.direction:
        said["direction"] = entry.direction
    said |= _event(told) if told.message is None else _message(told.message)
    about = told.about
    if about is not None and not isinstance(told.message, Request):
        said["of"] = {"line": about.line, "id": Verbatim(about.id), "method": about.method}
        said["milliseconds"] = round((entry.seconds - about.asked) * 1000, 3)
    if about is not None and about.first is not None:
        said |= {"round": about.round, "first": about.first.line}
    if told.left:
        said["unanswered"] = [_asked(each) for each in told.left]
    return said


def unanswered_of(exchanges: Sequence[Exchange]) -> _Document:
    """Return what JSON can say of what was open at the end of a recording."""
    return {"kind": "unanswered", "unanswered": [_asked(each) for each in exchanges]}


def _asked(exchange: Exchange) -> _Document:
    return {"line": exchange.line, "id": Verbatim(exchange.id), "method": exchange.method}


def _message(message: Request | Notification | Response | ErrorResponse | Fault) -> _Document:
    match message:
        case Request():
            said: _Document = {"kind": "request", "id": Verbatim(message.id), "method": message.method}
        case Notification():
            said = {"kind": "notification", "method": message.method}
        case Response():
            said = {"kind": "result", "id": Verbatim(message.id), "result": Verbatim(message.result)}
        case ErrorResponse():
            said = {"kind": "error", "error": Verbatim(message.error)}
            if message.id is not None:
                said["id"] = Verbatim(message.id)
        case Fault():
            text = message.data.decode("utf-8", "backslashreplace")
            said = {"kind": "noise", "reason": message.reason, "text": text}
    if isinstance(message, Request | Notification) and message.params is not None:
        said["params"] = Verbatim(message.params)
    return said


def _event(told: Told) -> _Document:
    entry = told.entry
    said: _Document = {"kind": entry.event}
    if entry.text:
        said["text"] = entry.text
    if entry.reason:
        said["reason"] = entry.reason
    if entry.by_peer:
        said["byPeer"] = True
    if not isinstance(entry.id, UnsetType):
        said["id"] = Verbatim(bytes(entry.id))
    return said
