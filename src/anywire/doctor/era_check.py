"""The checks of the stateless era, 2026-07-28, as data."""

from __future__ import annotations

from typing import Final

from anywire.doctor.check import Check, Weight

__all__ = ("ERA_CHECKS", "HTTP_ERA_CHECKS")

_ERROR, _WARNING, _NOTE = Weight.ERROR, Weight.WARNING, Weight.NOTE

#: What may be wrong with a server of that era on any wire.
ERA_CHECKS: Final = (
    Check(
        "discover-missing",
        _ERROR,
        "it is a server of 2026-07-28 without server/discover",
        "answer server/discover: clients of both eras ask it first, and take a server without an answer for "
        "one that shakes hands",
    ),
    Check(
        "discover-result",
        _ERROR,
        "its answer to server/discover cannot be used",
        "the result has supportedVersions, a list with 2026-07-28 in it, and an object `capabilities`",
    ),
    Check(
        "result-type",
        _WARNING,
        "its results do not say what they are",
        'give each result of 2026-07-28 "resultType": "complete"; clients tell the eras apart by it',
    ),
    Check(
        "cache-hints",
        _WARNING,
        "its lists do not say how long they hold",
        "give the results of server/discover and of lists `ttlMs` (0: not at all) and `cacheScope`",
    ),
    Check(
        "envelope-unchecked",
        _WARNING,
        "it takes requests that do not say what the client can do",
        "answer a request without io.modelcontextprotocol/clientCapabilities in its _meta with -32602",
    ),
    Check(
        "version-refusal",
        _WARNING,
        "it does not say which versions it speaks",
        "answer a request of a version that the server does not speak with the error -32022 and with "
        "data.supported and data.requested; over HTTP with 400",
    ),
    Check(
        "version-ignored",
        _NOTE,
        "it answers in a version that it does not speak",
        "answer a request of a version that the server does not speak with the error -32022",
    ),
    Check(
        "stateless-only",
        _NOTE,
        "it speaks 2026-07-28 only",
        "most hosts still shake hands: serve initialize as well, or put `anywire bridge` before it",
    ),
)

#: What may be wrong with one over HTTP besides.
HTTP_ERA_CHECKS: Final = (
    Check(
        "mirror-refused",
        _ERROR,
        "it refuses requests whose headers say what the body says",
        "compare names of headers without case and values after undoing =?base64?…?=; ask for Mcp-Name only "
        "for tools/call, prompts/get and resources/read; see that no proxy drops or changes the headers",
    ),
    Check(
        "listen-buffered",
        _WARNING,
        "the first event of its stream comes late",
        "acknowledge subscriptions/listen at once; turn buffering and compression off in the proxy before it "
        "(X-Accel-Buffering: no, proxy_buffering off)",
    ),
    Check(
        "mirror-unchecked",
        _WARNING,
        "it takes requests whose headers say something else than the body",
        "answer 400 with the error -32020: a proxy that decides by the headers is deceived otherwise",
    ),
    Check(
        "probe-fails",
        _WARNING,
        "it breaks on a client of the newest revision",
        "answer what the server does not know with 400 or 404: clients of 2026-07-28 ask server/discover "
        "without a session first, and take only these for a server that shakes hands",
    ),
    Check(
        "unknown-status",
        _WARNING,
        "it refuses an unknown method with another status than 404",
        "in 2026-07-28 the error -32601 comes with HTTP 404",
    ),
    Check(
        "session-minted",
        _NOTE,
        "it issues a session where there is none",
        "leave Mcp-Session-Id out of answers to requests of 2026-07-28",
    ),
)
