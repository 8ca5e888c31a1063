"""How a failure ends the command: its exit code, and what is said of it on stderr."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import Final

from anywire.errors import AnywireError, ConfigError, ConnectFailed, HttpStatusError, PeerError

__all__ = (
    "PIPE_CLOSED",
    "OutputFailed",
    "ToolFailed",
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


def tell_failure(error: Exception, *, as_json: bool, hint: str = "") -> int:
    """Say on stderr what happened, in a sentence or as a line of JSON; return the exit code.

    `hint` and the notes of the error tell what may help.
    """
    code = exit_code(error)
    hint = "; ".join([*getattr(error, "__notes__", ()), *([hint] if hint else [])])
    text = str(error) if isinstance(error, AnywireError) else f"unexpected {type(error).__name__}: {error}"
    if as_json:
        write_stderr(_document(error, code, text, hint))
    else:
        helping = f" ({hint})" if hint else ""
        write_stderr(f"anywire: {text}{helping}\n".encode("utf-8", "backslashreplace"))
    return code


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


def _document(error: Exception, code: int, text: str, hint: str) -> bytes:
    import msgspec

    from anywire.wire.value import encode_value

    members: dict[str, object] = {"code": _NAMES[code], "exit": code, "message": text}
    if hint:
        members["hint"] = hint
    if isinstance(error, PeerError):
        peer: dict[str, object] = {"code": error.code, "message": error.message}
        if error.data is not None:
            peer["data"] = msgspec.Raw(error.data)
        members["peer"] = peer
    # The peer's data may stand on several lines; between JSON's tokens a line break means nothing.
    return encode_value({"error": members}).translate(None, b"\r\n") + b"\n"
