"""The checks of a server over HTTP, as data.  What is not about HTTP is weighed as it is on stdio."""

from __future__ import annotations

from typing import Final

from anywire.doctor.check import CHECKS, Check, Weight

__all__ = ("HTTP_CHECKS",)

_ERROR, _WARNING, _NOTE = Weight.ERROR, Weight.WARNING, Weight.NOTE

#: These mean the same on any wire.
_SHARED: Final = (
    "initialize-refused",
    "initialize-result",
    "initialize-revision",
    "ids-changed",
    "bad-message",
    "tools-list",
    "tool-schema",
    "ping",
    "unknown-method",
    "revision-echoed",
    "tool-name",
    "tool-duplicate",
    "tools-undeclared",
    "big-ids",
    "tool-description",
)

_OWN: Final = (
    # Reaching it.
    Check(
        "not-resolved",
        _ERROR,
        "its host has no address",
        "check the name in the URL, and that this machine can look names up",
    ),
    Check(
        "not-connected",
        _ERROR,
        "nobody takes a connection there",
        "see that the server runs, on this port, and on an address that can be reached from here: one bound "
        "to 127.0.0.1 in a container or on another machine is not",
    ),
    Check(
        "tls",
        _ERROR,
        "no secure connection comes about",
        "see that the server speaks TLS on this port, with a certificate for this name from an authority "
        "that is known here; SSL_CERT_FILE names further ones",
    ),
    Check(
        "no-http",
        _ERROR,
        "what answers there is no HTTP server",
        "check the port; a server that speaks TLS only wants https:// in the URL",
    ),
    Check(
        "no-first-byte",
        _ERROR,
        "it takes the request and does not answer",
        "answer initialize at once; whatever takes its time can be loaded later; --timeout waits longer",
    ),
    # The first answer.
    Check(
        "authorization",
        _ERROR,
        "it wants authorization",
        "give a token: --header 'Authorization: Bearer ${TOKEN}'",
    ),
    Check(
        "old-transport",
        _ERROR,
        "it speaks HTTP+SSE, the transport of 2024-11-05",
        "write sse+http:// or sse+https:// before its address; for clients that know Streamable HTTP only "
        "put `anywire bridge http://127.0.0.1:8000/mcp sse+URL` before it",
    ),
    Check(
        "wrong-path",
        _ERROR,
        "it takes no messages at this path",
        "use the path that the server tells when it starts: often /mcp or /sse, with or without a slash at "
        "the end",
    ),
    Check(
        "redirect-method",
        _ERROR,
        "it redirects in a way that loses the message",
        "serve the address itself, with and without a slash at its end, or redirect with 307 or 308; until "
        "then use the address that it leads to",
    ),
    Check(
        "redirect-elsewhere",
        _ERROR,
        "it redirects to another origin",
        "use the address that it leads to: no client may take its credentials there by itself; a server "
        "behind a proxy that ends TLS must know that it is https outside",
    ),
    Check(
        "html",
        _ERROR,
        "a web page answers",
        "check the path, and what stands before the server: a login, a gateway or an error page",
    ),
    Check(
        "server-error",
        _ERROR,
        "it fails",
        "read the server's own log, and that of the proxy before it",
    ),
    Check(
        "status",
        _ERROR,
        "it refuses initialize with a status that is no answer",
        "answer initialize with 200, and errors of JSON-RPC as JSON; a server behind another name must let "
        "that Host in",
    ),
    Check(
        "content-type",
        _ERROR,
        "the type of its answers is neither JSON nor an event stream",
        "send Content-Type: application/json or text/event-stream",
    ),
    Check(
        "no-reply",
        _ERROR,
        "what it answers holds no reply",
        "send the reply, with the id of the request, as the JSON body or on the stream before it ends",
    ),
    # The session.
    Check(
        "notification-refused",
        _ERROR,
        "it refuses a notification",
        "answer a notification with 202, also one that the server does not know",
    ),
    Check(
        "request-refused",
        _ERROR,
        "it refuses requests after the handshake",
        "take requests with the Mcp-Session-Id that was issued and the MCP-Protocol-Version that was agreed "
        "on; several workers behind one address must share their sessions or be chosen by that header",
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
    Check(
        "notification-answer",
        _WARNING,
        "it does not answer a notification with 202 and no body",
        "answer 202 Accepted without a body and without a type; some clients take anything else as failure",
    ),
    Check(
        "version-unchecked",
        _WARNING,
        "it does not check MCP-Protocol-Version",
        "answer 400 for a version that the server does not speak",
    ),
    Check(
        "revision-refused",
        _WARNING,
        "it refuses a client of an unknown revision",
        "answer initialize with the newest revision the server speaks; the header MCP-Protocol-Version "
        "counts only after the handshake",
    ),
    Check(
        "accept-any",
        _WARNING,
        "it refuses a client that accepts everything",
        "a missing Accept and */* take every type: answer with whichever the server prefers",
    ),
    Check(
        "get-status",
        _WARNING,
        "it neither offers a stream on GET nor says that there is none",
        "answer a GET with an event stream, or with 405 and Allow: POST; some clients take anything else for "
        "the end of the connection",
    ),
    Check(
        "get-type",
        _WARNING,
        "it answers a GET with something that is no event stream",
        "answer a GET with Content-Type: text/event-stream, or with 405; clients try again for ever",
    ),
    Check(
        "get-ends",
        _WARNING,
        "its stream ends as soon as it is open",
        "keep the stream open, or answer a GET with 405; clients open it again and again",
    ),
    Check(
        "stream-buffered",
        _WARNING,
        "the head of its stream comes late",
        "send the head and a comment at once; turn buffering and compression off in the proxy before it "
        "(X-Accel-Buffering: no, proxy_buffering off)",
    ),
    Check(
        "origin",
        _WARNING,
        "it serves web pages of any origin",
        "answer 403 for an Origin that is not expected: a web page must not be able to call tools through "
        "the browser of whoever visits it",
    ),
    Check(
        "host",
        _WARNING,
        "on loopback it takes any Host",
        "refuse a Host that is no name of this machine (421): a web page can reach a loopback address under "
        "a name of its own",
    ),
    Check(
        "challenge",
        _WARNING,
        "it does not say what authorization it wants",
        "send WWW-Authenticate with 401, with the address of the resource's metadata; clients find out from "
        "it where to log in",
    ),
    Check(
        "delete",
        _WARNING,
        "it neither ends a session nor says that it cannot be ended",
        "answer a DELETE with the session's id with 2xx, or with 405",
    ),
    Check(
        "delete-ignored",
        _WARNING,
        "a session that was ended goes on",
        "forget the session on DELETE, and answer 404 for it afterwards; or answer DELETE with 405",
    ),
    Check(
        "redirect",
        _NOTE,
        "it redirects",
        "use the address that it leads to: each message goes out twice, and not every client follows",
    ),
    Check(
        "accept-one",
        _NOTE,
        "it refuses a client that accepts one of the two types only",
        "the specification lets it, but some clients and proxies send application/json or text/event-stream "
        "alone: answer them with that",
    ),
    Check(
        "accept-ignored",
        _NOTE,
        "it answers with a type that was not accepted",
        "answer with a type that Accept names, or with 406",
    ),
)

_ALL: Final = [*_OWN, *(CHECKS[id] for id in _SHARED)]

#: Every check over HTTP by its id, heaviest first.
HTTP_CHECKS: Final = {check.id: check for check in sorted(_ALL, key=lambda each: each.weight, reverse=True)}
