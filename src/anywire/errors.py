"""Every exception anywire raises, on one page.

The tree answers three questions at a glance: who is at fault (`LocalProtocolError` or
`RemoteProtocolError`), what happened (the class), and what a peer should be told (the JSON-RPC
`code` that the class owns, where one exists).

Peer input never raises inside the core: it becomes a `Fault` value (`anywire.wire.message`).
These exceptions are for the program that uses anywire.
"""

from __future__ import annotations

__all__ = (
    "AnywireError",
    "CapabilityMissing",
    "ConfigError",
    "ConnectFailed",
    "DeadlineExceeded",
    "HttpStatusError",
    "LimitExceeded",
    "LocalProtocolError",
    "PeerError",
    "ProcessExited",
    "ProtocolError",
    "Refusal",
    "RemoteProtocolError",
    "RequestCancelled",
    "ResourceNotFound",
    "SessionError",
    "SpawnFailed",
    "TransportBroken",
    "TransportClosed",
    "TransportError",
    "UrlElicitationRequired",
)


class AnywireError(Exception):
    """Base of every exception that anywire raises by itself."""

    #: The JSON-RPC error code a peer is told when this error answers its request.
    code: int = -32603

    def __reduce__(self) -> tuple[object, ...]:
        # The way in is not `__init__`, whose arguments are other than the text.
        return _again, (type(self), self.args, self.__dict__)


def _again(kind: type[AnywireError], args: tuple[object, ...], attributes: dict[str, object]) -> AnywireError:
    """Make a copied or pickled error anew."""
    error = kind.__new__(kind, *args)
    error.__dict__.update(attributes)
    return error


class ConfigError(AnywireError):
    """The program asked for something that cannot be: a bad option, an unusable handler signature."""


class ProtocolError(AnywireError):
    """A rule of JSON-RPC or MCP was broken."""

    code = -32600


class LocalProtocolError(ProtocolError):
    """This side was asked to break a rule, such as answering one request twice."""


class RemoteProtocolError(ProtocolError):
    """The peer broke a rule: its message could not be used."""


class PeerError(AnywireError):
    """The peer answered a request with a JSON-RPC error.

    `code` and `message` are the peer's own; `data` is the raw JSON of the error's `data` member
    (UTF-8 bytes) or None where the peer gave none.  All three pass through unchanged.
    """

    def __init__(self, code: int, message: str, data: bytes | None = None) -> None:
        super().__init__(f"{message} (code {code})")
        self.code = code
        self.message = message
        self.data = data


class SessionError(AnywireError):
    """The conversation is not in a state in which this can be done."""


class LimitExceeded(AnywireError):
    """A limit of `anywire.wire.limits` was reached; the text names the limit and the value."""

    code = -32600


class DeadlineExceeded(AnywireError, TimeoutError):
    """No answer came in time; the text names the request and the number of seconds waited."""

    code = -32603


class RequestCancelled(AnywireError):
    """The request was cancelled by this side before an answer came."""


class TransportError(AnywireError):
    """The wire itself failed."""


class ConnectFailed(TransportError):
    """No connection came about."""


class TransportClosed(TransportError):
    """The wire was closed, by either side, in order."""


class TransportBroken(TransportError):
    """The wire broke: a read or a write failed."""


class HttpStatusError(TransportError):
    """An HTTP response that cannot be used.

    `status` is its code, `content_type` the type of its body, `start` the first bytes of it.
    """

    def __init__(self, where: str, status: int, content_type: str, start: bytes) -> None:
        self.where = where
        self.status = status
        self.content_type = content_type
        self.start = start
        shown = start.decode("utf-8", "backslashreplace").strip() or "no body"
        super().__init__(f"{where} was answered with HTTP {status}, {content_type or 'no type'}: {shown}")


class SpawnFailed(ConnectFailed):
    """The program could not be started; the text says which program and why."""


class ProcessExited(TransportError):
    """The child process ended.

    `command` is what was run, `returncode` its exit code (negative: the signal that ended it;
    None: not known), `stderr_tail` the last lines it wrote to stderr; `unanswered` tells that it had
    not sent a single message, and `output` what it had written on stdout instead.
    """

    def __init__(
        self,
        command: str,
        returncode: int | None,
        stderr_tail: str = "",
        *,
        unanswered: bool = False,
        output: str = "",
    ) -> None:
        self.command = command
        self.returncode = returncode
        self.stderr_tail = stderr_tail
        self.unanswered = unanswered
        self.output = output
        super().__init__(self.describe())

    def describe(self) -> str:
        """Return one sentence: which program, how it ended, its last words."""
        if self.returncode is None:
            how = "closed its output"
        elif self.returncode < 0:
            how = f"was ended by signal {-self.returncode}"
        else:
            how = f"exited with code {self.returncode}"
        when = " before it answered" if self.unanswered else ""
        output = f"; on stdout it wrote {self.output!r}" if self.output else ""
        words = self.stderr_tail.strip()
        return f"{self.command} {how}{when}{output}" + (f"; its last words: {words}" if words else "")


class Refusal(AnywireError):
    """What a handler raises to answer its request with a JSON-RPC error of its choice.

    `data` is plain JSON data for the error's `data` member, None for none.
    """

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


class ResourceNotFound(Refusal):
    """There is no resource of that URI; a handler of a template may raise it."""

    def __init__(self, uri: str) -> None:
        super().__init__(-32002, f"Resource not found: {uri}", {"uri": uri})
        self.uri = uri


class UrlElicitationRequired(Refusal):
    """The request can be served only after the user has been to some addresses (2025-11-25).

    `elicitations` is plain JSON data: the params of `elicitation/create` in mode `url`, one for each.
    """

    def __init__(self, elicitations: list[dict[str, object]], message: str = "") -> None:
        text = message or "The user has to visit an address first"
        super().__init__(-32042, text, {"elicitations": elicitations})
        self.elicitations = elicitations


class CapabilityMissing(AnywireError):
    """The peer never said that it can do this, so it was not asked; the text names it and the capability."""

    def __init__(self, peer: str, capability: str) -> None:
        super().__init__(f"{peer} did not declare the capability {capability!r}, so it was not asked")
        self.peer = peer
        self.capability = capability
