"""One change of a file at a time: a lock that is held from the look at a file until it is written.

The lock is on the folder: the file itself is replaced, and a file beside it would have to be cleaned away.
Editors know nothing of it; against them a file is looked at again right before it is written.
"""

from __future__ import annotations

import errno
import fcntl
import os
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from anywire.errors import ConfigError

__all__ = ("locked_folder",)

#: How long somebody else's change is waited for; one takes milliseconds.
_WAIT_SECONDS: Final = 10.0
_LOOK_SECONDS: Final = 0.01
_NEW_FOLDER_MODE: Final = 0o700
#: What a file system says that cannot lock a folder, such as NFS; what is written is still looked at first.
_NO_LOCKS: Final = (errno.EBADF, errno.EINVAL, errno.ENOLCK, errno.EOPNOTSUPP)


@contextmanager
def locked_folder(folder: Path, *, wait_seconds: float = _WAIT_SECONDS) -> Generator[None]:
    """Hold the lock of a folder, which is made if it is not there; nobody else gets it meanwhile.

    Not to be taken twice by one process.  Raises `ConfigError` where it cannot be had within the time.
    """
    try:
        folder.mkdir(mode=_NEW_FOLDER_MODE, parents=True, exist_ok=True)
        descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise ConfigError(f"{folder} cannot be written: {error.strerror or error}") from None
    try:
        if not _taken(descriptor, time.monotonic() + wait_seconds):
            raise ConfigError(f"somebody else has been changing a file of {folder} for {wait_seconds:g} s")
        yield
    finally:
        os.close(descriptor)  # which gives the lock back


def _taken(descriptor: int, until: float) -> bool:
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= until:
                return False
            time.sleep(_LOOK_SECONDS)
        except OSError as error:
            if error.errno in _NO_LOCKS:
                return True
            raise ConfigError(f"its folder cannot be locked: {error.strerror or error}") from None
        else:
            return True
