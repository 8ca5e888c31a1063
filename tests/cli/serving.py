"""The command as a server: started on a free port, watched, ended by a signal."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager

from tests.cli.commands import ROOT, WITHIN
from tests.interop.processes import wait_until

LEAVES_WITHIN = 4.0
"""Seconds from a signal to the end: two, and as many again where the machine is busy."""


class Listening:
    """A command that serves HTTP."""

    def __init__(self, words: tuple[str, ...], env: dict[str, str] | None) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "anywire", *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=ROOT,
            env=env,
            start_new_session=True,
        )
        self._lines: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self._lines.append(line.decode())

    @property
    def err(self) -> str:
        """What it has written on stderr so far."""
        return "".join(self._lines)

    @property
    def url(self) -> str:
        """The address of its listening line, waited for."""

        def told() -> re.Match[str] | None:
            return re.search(r"listening on (\S+)", self.err)

        assert wait_until(lambda: told() is not None or self.process.poll() is not None, within=WITHIN)
        found = told()
        assert found is not None, self.err
        return found.group(1)

    def end(self, number: signal.Signals = signal.SIGTERM) -> tuple[int, str]:
        """Send a signal; return the exit code and all of stderr."""
        self.process.send_signal(number)
        code = self.process.wait(timeout=LEAVES_WITHIN)
        self._reader.join(WITHIN)
        return code, self.err

    def kill(self) -> None:
        """End it in any case."""
        self.process.kill()
        self.process.wait(timeout=WITHIN)
        self._reader.join(WITHIN)
        for pipe in (self.process.stdout, self.process.stderr):
            if pipe is not None:
                pipe.close()


@contextmanager
def listening(*words: str, env: dict[str, str] | None = None) -> Generator[Listening]:
    """A command that serves HTTP, until the block is left."""
    command = Listening(words, env)
    try:
        yield command
    finally:
        command.kill()
