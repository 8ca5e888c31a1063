"""What a bridge knows of the arguments that travel in headers as well.

A client says them in its headers, but only the server's list of tools tells which these are.  So every list
that passes is looked at; and a call that the server refuses because its headers lack something is made
again, once, when its list has been asked for.  A refusal by its headers is one before anything was done.

Specification: MCP `basic/transports/streamable-http#mirrored-headers`, 2026-07-28.
"""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec import UnsetType

from anywire.errors import AnywireError
from anywire.protocol.http.mirrored import MirrorFault, read_mirrors
from anywire.protocol.modern import claims_stateless
from anywire.protocol.types.error_data import McpErrorCode
from anywire.protocol.types.reading import read, read_items
from anywire.protocol.types.tools import ListToolsResult, Tool
from anywire.transport.contract import Transport
from anywire.transport.layer import Layer, Mirrors
from anywire.wire.codec import encode_value
from anywire.wire.message import Batch, ErrorResponse, Message, Notification, Request, Response, id_key
from anywire.wire.peer import read_cancel
from anywire.wire.splice import get_member

__all__ = ("MirroringTransport",)

_LIST: Final = "tools/list"
_CALL: Final = "tools/call"
#: The id of our own question.
_ID: Final = b'"anywire-tools-%d"'
_MOST_PAGES: Final = 100
_MOST_TOOLS: Final = 10_000


class _Refused(msgspec.Struct):
    """A call that is made again when the list of tools is complete."""

    call: Request
    refusal: ErrorResponse
    page: int = 0


class MirroringTransport(Layer):
    """Learns what lists of tools say, for everybody who has the same `mirrors`."""

    def __init__(self, inner: Transport, mirrors: Mirrors) -> None:
        super().__init__(inner)
        self._mirrors = mirrors
        self._lists: set[bytes] = set()
        self._calls: dict[bytes, Request] = {}
        self._refused: dict[bytes, _Refused] = {}
        self._asked = 0

    # What is asked.

    def post(self, message: Message | Batch, related: bytes | None = None) -> None:
        """Send, and note what will have to be looked at."""
        self._note(message)
        self._inner.post(message, related)

    async def send(self, message: Message | Batch, related: bytes | None = None) -> None:
        """As `post`, and wait until there is room for the next message."""
        self._note(message)
        await self._inner.send(message, related)

    def _note(self, message: Message | Batch) -> None:
        if isinstance(message, Request):
            if message.method == _LIST:
                self._lists.add(id_key(message.id))
            elif message.method == _CALL and claims_stateless(message.params):
                self._calls[id_key(message.id)] = message
        elif isinstance(message, Notification) and (cancelled := read_cancel(message)) is not None:
            self._forget(cancelled.key)

    def _forget(self, key: bytes) -> None:
        self._lists.discard(key)
        self._calls.pop(key, None)
        for own, refused in list(self._refused.items()):
            if id_key(refused.call.id) == key:
                del self._refused[own]

    # What is answered.

    def _tell(self, message: Message | Batch) -> None:
        if not isinstance(message, Response | ErrorResponse) or message.id is None:
            self.callbacks.on_message(message)
            return
        key = id_key(message.id)
        refused = self._refused.pop(key, None)
        if refused is not None:
            self._go_on(refused, message)
            return
        if key in self._lists:
            self._lists.discard(key)
            if isinstance(message, Response):
                self._learn(message)
        call = self._calls.pop(key, None)
        if call is not None and isinstance(message, ErrorResponse) and _is_mismatch(message):
            self._ask(_Refused(call, message), None)
        else:
            self.callbacks.on_message(message)

    def _tell_failed(self, id: bytes, error: AnywireError) -> None:
        refused = self._refused.pop(id_key(id), None)
        if refused is not None:
            self.callbacks.on_message(refused.refusal)
            return
        self._forget(id_key(id))
        self.callbacks.on_failed(id, error)

    # A refused call.

    def _ask(self, refused: _Refused, cursor: str | None) -> None:
        """Ask for a page of the list, as who made the call."""
        self._asked += 1
        refused.page += 1
        id = _ID % self._asked
        meta = get_member(refused.call.params or b"{}", "_meta") or b"{}"
        page = b"" if cursor is None else b',"cursor":' + encode_value(cursor)
        self._refused[id] = refused
        if not self._inner.closed:
            self._inner.post(Request(id, _LIST, b'{"_meta":%b%b}' % (meta, page)))

    def _go_on(self, refused: _Refused, answer: Response | ErrorResponse) -> None:
        if isinstance(answer, Response):
            cursor = self._learn(answer)
            if cursor is not None and refused.page < _MOST_PAGES:
                self._ask(refused, cursor)
                return
            if not self._inner.closed:
                self._inner.post(refused.call)  # whatever comes of it now is its answer
                return
        self.callbacks.on_message(refused.refusal)

    def _learn(self, answer: Response) -> str | None:
        """Note what a page of tools marks; return the cursor of the next."""
        try:
            page = read(answer.result, ListToolsResult)
        except msgspec.MsgspecError:
            return None
        for tool in read_items(page.tools, Tool)[0]:
            self._mirrors.pop(tool.name, None)
            try:
                marked = read_mirrors(tool.input_schema)
            except MirrorFault:
                continue
            if marked and len(self._mirrors) < _MOST_TOOLS:
                self._mirrors[tool.name] = marked
        return None if isinstance(page.next_cursor, UnsetType) else page.next_cursor


def _is_mismatch(reply: ErrorResponse) -> bool:
    return reply.detail().code == McpErrorCode.HeaderMismatch
