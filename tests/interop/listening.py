"""Servers on HTTP, on a free port of this machine, for the length of a block."""

from __future__ import annotations

import contextlib
import os
import re
import select
import socket
import time
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path

from tests.interop.processes import spawn, wait_until

LISTENS_WITHIN = 20.0


@contextlib.contextmanager
def anywire_listening(argv: Sequence[str | Path], env: Mapping[str, str] | None = None) -> Generator[str]:
    """Run an anywire command that listens, and give its URL, which it says on stderr."""
    with spawn(argv, env=env) as process:
        assert process.stderr is not None
        said, deadline = b"", time.monotonic() + LISTENS_WITHIN
        while b"listening on" not in said or not said.endswith(b"\n"):
            assert select.select([process.stderr], [], [], max(0.0, deadline - time.monotonic()))[0], said
            chunk = os.read(process.stderr.fileno(), 65536)
            assert chunk, f"it ended: {said!r}"
            said += chunk
        found = re.search(rb"listening on (\S+)", said)
        assert found is not None
        yield found.group(1).decode()
        process.terminate()
        assert process.wait(timeout=10) == 143, "it ends in order when it is told to"


@contextlib.contextmanager
def listening(argv: Sequence[str | Path], port: int, env: Mapping[str, str] | None = None) -> Generator[None]:
    """Run a program that listens on this port, from when it does."""
    with spawn(argv, env=env):
        assert wait_until(lambda: is_open(port), within=LISTENS_WITHIN), f"{argv} does not listen"
        yield


def is_open(port: int) -> bool:
    """Whether somebody listens there."""
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as opened:
        opened.bind(("127.0.0.1", 0))
        return opened.getsockname()[1]
