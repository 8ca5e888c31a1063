"""The checks of a session over HTTP, as data."""

from __future__ import annotations

from typing import Final

from anywire.doctor.check import Check, Weight

__all__ = ("SESSION_CHECKS",)

_ERROR, _WARNING = Weight.ERROR, Weight.WARNING

#: What may be wrong with a session, in the order in which it shows.
SESSION_CHECKS: Final = (
    Check(
        "gone",
        _ERROR,
        "it is gone",
        "read the server's own log: it took connections, and takes none any more",
    ),
    Check(
        "session-missing",
        _ERROR,
        "it wants a session that it has not issued",
        "send Mcp-Session-Id with the answer to initialize, and see that no proxy drops the header on "
        "its way; or ask for no session, as in 2026-07-28, which has none",
    ),
    Check(
        "notification-refused",
        _ERROR,
        "it refuses a notification",
        "answer a notification with 202, also one that the server does not know",
    ),
    Check(
        "session-sometimes",
        _ERROR,
        "it knows its own session only sometimes",
        "several workers behind one address must share their sessions, or be chosen by Mcp-Session-Id; one "
        "worker only, or a server without sessions, needs neither",
    ),
    Check(
        "session-forgotten",
        _ERROR,
        "it forgets a session as soon as it has issued it",
        "take the Mcp-Session-Id that initialize gave until DELETE or a time of idleness, or issue none; see "
        "that no proxy before it drops the header Mcp-Session-Id of requests",
    ),
    Check(
        "version-refused",
        _ERROR,
        "it refuses the version that it agreed on itself",
        "take MCP-Protocol-Version with the version that the answer to initialize named",
    ),
    Check(
        "request-refused",
        _ERROR,
        "it refuses requests after the handshake",
        "answer a request with 200 and errors of JSON-RPC as JSON, whatever came before it",
    ),
    Check(
        "breaks-off",
        _ERROR,
        "it leaves a request without any answer",
        "answer each request with a status, whatever went wrong",
    ),
    Check(
        "session-id",
        _WARNING,
        "its session ids cannot stand in a header everywhere",
        "use visible ASCII only, and nothing that can be guessed",
    ),
    Check(
        "session-unknown",
        _WARNING,
        "it does not answer 404 for a session that it does not know",
        "answer 404: only that tells a client to shake hands again after the server was started anew",
    ),
)
