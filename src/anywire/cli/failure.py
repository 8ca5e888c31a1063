"""How a failure ends the command: its exit code, and what is said of it on stderr."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Collection
from typing import Final

from anywire.errors import AnywireError, ConfigError, ConnectFailed, HttpStatusError, PeerError

__all__ = (
    "PIPE_CLOSED",
    "OutputFailed",
    "ToolFailed",
    "document_of",
    "exit_code",
    "leave_closed_pipe",
    "needs_authorization",
    "tell_failure",
    "write_stderr",
)

#: The exit code when nobody reads our stdout any more: as of a program that SIGPIPE ended.
PIPE_CLOSED: Final = 128 + 13

# What each exit code is called in JSON.
_NAMES: Final = ("done", "failed", "usage", "authorization", "unreachable", "peer_error")


# How long the last words may take to be read; who reads nothing does not keep us.
_LAST_SECONDS: Final = 1.0


class OutputFailed(AnywireError):
    """The answer could not be written."""


class ToolFailed(AnywireError):
    """The tool that was called says that it failed."""


def exit_code(error: BaseException) -> int:
    """Return the exit code of a failure."""
    match error:
        case ConfigError():
            return 2
        case HttpStatusError() if needs_authorization(error):
            return 3
        case ConnectFailed():
            return 4
        case PeerError() | ToolFailed():
            return 5
        case _:
            return 1


def needs_authorization(error: BaseException) -> bool:
    """Say whether the server answered that it wants to know who asks."""
    return isinstance(error, HttpStatusError) and error.status in (401, 403)


def tell_failure(error: Exception, *, as_json: bool, hint: str = "", secrets: Collection[str] = ()) -> int:
    """Say on stderr what happened, in a sentence or as a line of JSON; return the exit code.

    `hint` and the notes of the error tell what may help.  None of the `secrets` is said.
    """
    from anywire.cli.output import visible
    from anywire.cli.stderr import Stderr
    from anywire.transport.redact import without_values

    stderr = Stderr()
    code = exit_code(error)
    if as_json:
        # The peer's data may stand on several lines; between JSON's tokens a line break means nothing.
        said = _encoded({"error": document_of(error, hint)[1]})
    else:
        helping = f" ({hint})" if (hint := _all_hints(error, hint)) else ""
        said = visible(f"anywire: {_sentence(error)}{helping}").encode("utf-8", "backslashreplace")
    stderr.write((without_values(said, secrets) if secrets else said) + b"\n")
    stderr.finish(_LAST_SECONDS)
    return code


def document_of(error: Exception, hint: str = "") -> tuple[int, dict[str, object]]:
    """Return the exit code of a failure, and what is said of it in JSON."""
    import msgspec

    code = exit_code(error)
    members: dict[str, object] = {"code": _NAMES[code], "exit": code, "message": _sentence(error)}
    if hint := _all_hints(error, hint):
        members["hint"] = hint
    if isinstance(error, PeerError):
        peer: dict[str, object] = {"code": error.code, "message": error.message}
        if error.data is not None:
            peer["data"] = msgspec.Raw(error.data)
        members["peer"] = peer
    return code, members


def _sentence(error: Exception) -> str:
    return str(error) if isinstance(error, AnywireError) else f"unexpected {type(error).__name__}: {error}"


def _all_hints(error: Exception, hint: str) -> str:
    return "; ".join([*getattr(error, "__notes__", ()), *([hint] if hint else [])])


def _encoded(value: object) -> bytes:
    from anywire.wire.value import encode_value

    return encode_value(value).translate(None, b"\r\n")


def leave_closed_pipe() -> int:
    """Nobody reads our stdout: see that nothing is said of it when the process ends."""
    with contextlib.suppress(OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)
    return PIPE_CLOSED


def write_stderr(data: bytes) -> None:
    """Write on stderr, where there is one that anybody reads."""
    if sys.stderr is None:  # closed by whoever started us
        return
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.flush()
        buffer = getattr(sys.stderr, "buffer", None)
        if buffer is None:  # a program's own stream in its place
            sys.stderr.write(data.decode("utf-8", "replace"))
        else:
            buffer.write(data)
        sys.stderr.flush()
