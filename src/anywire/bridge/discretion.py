"""What a client on the network is told of a server that failed behind a bridge.

How it went wrong, and no more: the command line, the address and the last words of the server are for
whoever runs the bridge, and stand in the bridge's own log.
"""

from __future__ import annotations

from anywire.errors import (
    AnywireError,
    ConnectFailed,
    DeadlineExceeded,
    HttpStatusError,
    LimitExceeded,
    LocalProtocolError,
    ProcessExited,
    ProtocolError,
    SpawnFailed,
)

__all__ = ("BEHIND", "plain_sentence")

#: What the server is called.
BEHIND = "the server behind the bridge"


def plain_sentence(error: AnywireError | None) -> str:
    """Say in a sentence without any name what became of the server; None: it was ended in order."""
    return f"{BEHIND} {_how(error)}; see the bridge's log"


def _how(error: AnywireError | None) -> str:
    match error:
        case None:
            return "was ended"
        case ProcessExited(returncode=None):
            return "closed its output"
        case ProcessExited(returncode=int(code)) if code < 0:
            return f"was ended by signal {-code}"
        case ProcessExited():
            return f"exited with code {error.returncode}"
        case SpawnFailed():
            return "could not be started"
        case ConnectFailed():
            return "could not be reached"
        case HttpStatusError():
            return f"answered with HTTP {error.status}"
        case DeadlineExceeded():
            return "did not answer in time"
        case LimitExceeded() | ProtocolError():
            is_ours = isinstance(error, LocalProtocolError)
            return "was not asked" if is_ours else "gave an answer that cannot be used"
        case _:
            return "was lost"
