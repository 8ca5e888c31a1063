"""The checks of a server over HTTP, as data.  What is not about HTTP is weighed as it is on stdio."""

from __future__ import annotations

from typing import Final

from anywire.doctor.check import Check, Weight, by_weight
from anywire.doctor.era_check import ERA_CHECKS, HTTP_ERA_CHECKS
from anywire.doctor.http.session_check import SESSION_CHECKS
from anywire.doctor.list_check import LIST_CHECKS
from anywire.doctor.stdio.check import STDIO_CHECKS

__all__ = ("EVERY_CHECK", "HTTP_CHECKS")

_ERROR, _WARNING, _NOTE = Weight.ERROR, Weight.WARNING, Weight.NOTE

#: These mean the same on any wire.
_SHARED: Final = (
    "initialize-refused",
    "initialize-result",
    "initialize-revision",
    "newest-refused",
    "ids-changed",
    "bad-message",
    "bom-written",
    "very-slow-start",
    "ping",
    "unknown-method",
    "unknown-method-code",
    "revision-refused",
    "revision-echoed",
    "long-message",
    "slow-start",
    "big-ids",
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
        "body-length",
        _ERROR,
        "the length of its answer is not the one that it names",
        "count Content-Length in bytes of UTF-8, not in characters, and after whatever changes the body",
    ),
    Check(
        "no-first-byte",
        _ERROR,
        "it takes the request and does not answer",
        "answer initialize at once; whatever takes its time can be loaded later; see that no proxy waits for "
        "the end of an event stream; --timeout waits longer",
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
        "endpoint-missing",
        _ERROR,
        "its stream of HTTP+SSE does not say where to send messages",
        "send the event `endpoint` at once; turn buffering and compression off in the proxy before it "
        "(X-Accel-Buffering: no, proxy_buffering off)",
    ),
    Check(
        "host-refused",
        _ERROR,
        "it refuses the name by which it is asked",
        "add the host (and port) of this URL to the hosts that the server lets in; one behind a proxy gets "
        "the proxy's name, or the proxy must pass on another",
    ),
    Check(
        "one-client",
        _ERROR,
        "it takes one client only",
        "give each session a server and a transport of its own: one that has been initialized cannot serve "
        "the next client",
    ),
    Check(
        "origin-wanted",
        _ERROR,
        "it refuses clients without an Origin",
        "let requests without an Origin in: only browsers send one; refuse an Origin that is not expected",
    ),
    Check(
        "accept-refused",
        _ERROR,
        "it refuses the types that every client accepts",
        "take Accept: application/json, text/event-stream, in either order; see that no proxy drops or "
        "changes the header",
    ),
    Check(
        "body-type-refused",
        _ERROR,
        "it refuses bodies that are application/json",
        "take Content-Type: application/json with and without a charset; see that this is the server's path",
    ),
    Check(
        "version-wanted",
        _ERROR,
        "it wants MCP-Protocol-Version before there is a version",
        "ask for the header only after the handshake: initialize carries the version in its params",
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
        "redirect-loop",
        _ERROR,
        "it redirects in a circle",
        "serve the address itself: whatever redirects here leads to an address that redirects again",
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
        "answer initialize with 200, and errors of JSON-RPC as JSON; the body of the answer mostly says why",
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
    Check(
        "coding-broken",
        _ERROR,
        "its answers cannot be decoded",
        "send a body in the coding that Content-Encoding names, and only in one that Accept-Encoding does; "
        "see which proxy compresses, or compresses twice",
    ),
    Check(
        "event-unfinished",
        _ERROR,
        "its event stream ends within an event",
        "end each event with a blank line: clients drop what stands behind the last one",
    ),
    *SESSION_CHECKS,
    # What it is used to.
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
        "accept-any",
        Weight.TRIFLE,
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
        "stream-compressed",
        _WARNING,
        "its event stream is compressed",
        "leave text/event-stream out of compression, in the framework and in the proxy: an encoder keeps "
        "events back until it has enough of them",
    ),
    Check(
        "coding-unwanted",
        _WARNING,
        "it compresses what was wanted as it is",
        "heed Accept-Encoding: identity; see which proxy compresses",
    ),
    Check(
        "challenge",
        _WARNING,
        "it does not say what authorization it wants",
        "send WWW-Authenticate with 401, with the address of the resource's metadata; clients find out from "
        "it where to log in",
    ),
    Check(
        "metadata",
        _WARNING,
        "its metadata for authorization cannot be used",
        "serve /.well-known/oauth-protected-resource followed by the path, a JSON object with `resource` "
        "(this URL) and `authorization_servers`, without authorization; name it in WWW-Authenticate",
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
        "stream-collected",
        _NOTE,
        "its event streams may come in one piece",
        "see that the gateway before it passes events on as they come: a stream with a Content-Length has "
        "been collected, and shows progress only when all is over (X-Accel-Buffering: no, "
        "proxy_buffering off, response streaming)",
    ),
    Check(
        "origin-strict",
        _NOTE,
        "on loopback it refuses a page of its own origin",
        "let origins of loopback in: inspectors and hosts in a browser on this machine have one",
    ),
    Check(
        "host-strict",
        _NOTE,
        "it does not know itself as localhost",
        "let localhost, 127.0.0.1 and [::1] in, with the server's port: people write each of them",
    ),
    Check(
        "accept-one",
        Weight.TRIFLE,
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

#: Every check over HTTP by its id, heaviest first.
HTTP_CHECKS: Final = by_weight(
    _OWN, (STDIO_CHECKS[id] for id in _SHARED), LIST_CHECKS, ERA_CHECKS, HTTP_ERA_CHECKS
)

#: Every check there is by its id, heaviest first.
EVERY_CHECK: Final = by_weight(STDIO_CHECKS.values(), HTTP_CHECKS.values())
