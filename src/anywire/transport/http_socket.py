"""What is true of each connection to an HTTP server, whoever opens it."""

from __future__ import annotations

import contextlib
import os
import select
import socket
from typing import Final, Protocol

from anywire.errors import ConfigError

__all__ = ("KEEP_SECONDS", "PAUSE_SECONDS", "check_certificates", "describe", "is_readable", "keep_alive")

#: How long an idle connection is kept: less than the five seconds after which many servers drop one,
#: since a request that crosses with the end of its connection may or may not have been executed.
KEEP_SECONDS: Final = 4.0
#: A program that did something else for so long may not have been told of the end of a connection.
PAUSE_SECONDS: Final = 0.005
#: When the system asks an idle connection for a sign of life, how often it asks again, and how many times.
_ALIVE: Final = {"TCP_KEEPIDLE": 60, "TCP_KEEPALIVE": 60, "TCP_KEEPINTVL": 15, "TCP_KEEPCNT": 4}


class Socket(Protocol):
    """What asyncio shows of a socket."""

    def setsockopt(self, level: int, optname: int, value: int, /) -> None:
        """Set an option."""
        ...

    def fileno(self) -> int:
        """Return the number that the system knows it by."""
        ...


def keep_alive(opened: Socket) -> None:
    """Let the system ask the other end for a sign of life after a minute of silence."""
    with contextlib.suppress(OSError):  # some systems refuse it where the other end has gone already
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _ALIVE.items():
        option: int | None = getattr(socket, name, None)  # not every system has each of them
        if option is not None:
            with contextlib.suppress(OSError):
                opened.setsockopt(socket.IPPROTO_TCP, option, value)


def is_readable(opened: Socket) -> bool:
    """Say whether bytes have come, or the end, that nobody has read yet; asks the system."""
    if not hasattr(select, "poll"):
        return bool(select.select([opened.fileno()], [], [], 0)[0])
    poll = select.poll()
    poll.register(opened.fileno(), select.POLLIN)
    return bool(poll.poll(0))


def check_certificates(where: str) -> None:
    """OpenSSL passes over what is not there, and then trusts nobody.  Raises `ConfigError`."""
    path = os.environ.get("SSL_CERT_FILE")
    if path and not os.access(path, os.R_OK):
        raise ConfigError(f"{where}: SSL_CERT_FILE is {path!r}, which cannot be read")


def describe(error: BaseException) -> str:
    """Return what an error says, its kind where it says nothing."""
    return str(error) or type(error).__name__
