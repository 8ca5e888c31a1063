"""What is in a file, read so that nothing in its place keeps anybody waiting."""

from __future__ import annotations

import os
import select
import stat
import time
from pathlib import Path
from typing import Final

from anywire.config.document import MOST_BYTES
from anywire.errors import ConfigError

__all__ = ("read_file",)

#: Pipes of these names were given by whoever started us: a file that a shell makes, `<(…)`, or its stdin.
_GIVEN: Final = ("/dev/", "/proc/")
#: How long such a pipe may take to be written and closed.
_PIPE_SECONDS: Final = 5.0
_AT_ONCE: Final = 65536


def read_file(path: Path, *, pipe_seconds: float = _PIPE_SECONDS) -> bytes | None:
    """Return what is in the file, None where there is none; of a large one more than `MOST_BYTES`.

    A pipe that was given to this process (`/dev/stdin`, `<(…)`) is read for so long at most.  Raises
    `ConfigError` for whatever else is no file, and for one that cannot be read.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror or error}") from None
    except ValueError as error:  # a name that no file has
        raise ConfigError(f"the file cannot be read: {error}") from None
    try:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISFIFO(mode) and str(path).startswith(_GIVEN):
            return _content(descriptor, path, time.monotonic() + pipe_seconds)
        if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
            return _content(descriptor, path, None)
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror or error}") from None
    finally:
        os.close(descriptor)
    raise ConfigError(f"{path} cannot be read: it is no file, but a {_kind(mode)}")


def _content(descriptor: int, path: Path, until: float | None) -> bytes:
    content = bytearray()
    while len(content) <= MOST_BYTES:  # one more says that it is too large
        if until is not None and not _has_more(descriptor, until):
            raise ConfigError(f"{path} cannot be read: whoever writes it has not come to an end")
        try:
            part = os.read(descriptor, _AT_ONCE)
        except BlockingIOError:  # somebody else reads it, too
            continue
        if not part:
            break
        content += part
    return bytes(content)


def _has_more(descriptor: int, until: float) -> bool:
    """Wait for more of a pipe, or for its end."""
    left = until - time.monotonic()
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return left > 0 and bool(poll.poll(1000 * left))


def _kind(mode: int) -> str:
    return "pipe" if stat.S_ISFIFO(mode) else "device"
