"""One stateless request before a handshake server: passed on, with what is told of it meanwhile.

Specification: MCP `basic/patterns/progress`, `server/utilities/logging`, `basic/patterns/cancellation`,
2026-07-28.
"""

from __future__ import annotations

from anywire.protocol.methods import METHODS
from anywire.protocol.modern import Envelope
from anywire.protocol.translate.envelope_shapes import Greeted, handshake_params, spliced
from anywire.protocol.translate.virtual_handshake import (
    Reply,
    Step,
    ToClient,
    ToServer,
    VirtualHandshake,
    withdrawal,
)
from anywire.protocol.types.envelope import PROGRESS_TOKEN_KEY
from anywire.protocol.types.logging import LOG_LEVELS
from anywire.wire.codec import encode_value
from anywire.wire.message import Notification, Request
from anywire.wire.splice import get_member, set_member

__all__ = ("TranslatedCall",)

_SEVERITIES = {encode_value(level): severity for severity, level in enumerate(LOG_LEVELS)}


class TranslatedCall(VirtualHandshake):
    """See `VirtualHandshake`.  The request is passed on exactly once."""

    def __init__(self, request: Request, envelope: Envelope, name: str) -> None:
        super().__init__(request, envelope, name)
        #: The id of the request at the server, None while it does not run there.
        self._running: bytes | None = None

    def _opened(self, greeted: Greeted) -> list[Step]:
        id = self._running = self._await(self._answered)
        params = handshake_params(self._params)
        frame = spliced(self.request.frame, {"id": id, "params": params})
        return [ToServer(Request(id, self.request.method, params, frame))]

    def _answered(self, reply: Reply) -> list[Step]:
        self._running = None
        return self._answer(reply)

    def _withdraw(self, reason: str) -> list[Step]:
        running, self._running = self._running, None
        return [] if running is None else [withdrawal(running, reason)]

    def _told(self, message: Notification) -> list[Step]:
        """Pass on what belongs to this request, and what no revision knows."""
        match message.method:
            case "notifications/progress":
                return self._progress(message)
            case "notifications/message":
                return [ToClient(message)] if self._is_logged(message.params or b"{}") else []
            case method:
                return [] if method in METHODS else [ToClient(message)]

    def _progress(self, message: Notification) -> list[Step]:
        """Pass progress on under the token of the request; there is none that it could be about but this."""
        token = get_member(get_member(self._params, "_meta") or b"{}", PROGRESS_TOKEN_KEY)
        params = message.params or b""
        if token is None or params[:1] != b"{":
            return []
        if get_member(params, PROGRESS_TOKEN_KEY) == token:
            return [ToClient(message)]
        params = set_member(params, PROGRESS_TOKEN_KEY, token)
        return [ToClient(Notification(message.method, params, spliced(message.frame, {"params": params})))]

    def _is_logged(self, params: bytes) -> bool:
        """Say whether the request wants such a log message; one of no known severity cannot be too slight."""
        wanted = self.envelope.log_level
        severity = _SEVERITIES.get(get_member(params, "level") or b"", len(LOG_LEVELS))
        return wanted is not None and severity >= LOG_LEVELS.index(wanted)
