"""Where a page's code runs: a folder of its own, with `python` and `anywire` on the path.

Everything that is started has its own session, a bounded time, and is killed with all it started
when that is over.  Pages that serve HTTP do so at 127.0.0.1:8000; for the run another port is taken,
which is free, and put back in what is printed.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.docs.pages import ROOT

WITHIN = 30.0
"""Seconds that one piece of a page may take."""

ADDRESS = "127.0.0.1:8000"
"""Where pages serve HTTP."""

_WRAPPERS = {"python": f'exec "{sys.executable}" "$@"', "anywire": f'exec "{sys.executable}" -m anywire "$@"'}


@dataclass(frozen=True)
class Outcome:
    """How a command ended, and what it wrote: first all of stdout, then all of stderr."""

    returncode: int
    stdout: str
    stderr: str

    @property
    def output(self) -> str:
        """Everything it wrote."""
        return self.stdout + self.stderr


class Workshop:
    """The folder in which the code of one page runs, from top to bottom."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "page"
        self._bin = folder / "bin"
        self._last_code = 0
        self._running: list[subprocess.Popen[bytes]] = []
        self._address = f"127.0.0.1:{free_port()}"
        shutil.copytree(
            ROOT / "examples", self.folder / "examples", ignore=shutil.ignore_patterns("__pycache__")
        )
        self._bin.mkdir()
        for name, line in _WRAPPERS.items():
            wrapper = self._bin / name
            wrapper.write_text(f"#!/bin/sh\n{line}\n", encoding="utf-8")
            wrapper.chmod(0o755)

    def write(self, name: str, text: str) -> None:
        """Put a file into the folder."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self._here(text), encoding="utf-8")

    def append(self, name: str, text: str) -> None:
        """Put more into a file of the folder, behind two empty lines."""
        self.write(name, (self.folder / name).read_text(encoding="utf-8") + "\n\n" + text)

    def close(self) -> None:
        """End what runs on, in the order of a terminal that is closed: first asked, then killed."""
        for process in self._running:
            os.killpg(process.pid, signal.SIGTERM)
        for process in self._running:
            try:
                process.wait(timeout=WITHIN)
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait(timeout=WITHIN)

    def _here(self, text: str) -> str:
        return text.replace(ADDRESS, self._address)

    def _there(self, data: bytes) -> str:
        return data.decode(errors="replace").replace(self._address, ADDRESS)

    def script(self, text: str) -> Outcome:
        """Run a script that finds the page's files; from a file, as some code wants to see its source."""
        self.write("block.py", text)
        return self.run([sys.executable, "block.py"])

    def session(self, text: str) -> Outcome:
        """Run an interactive session; it has failed unless it prints what it shows."""
        self.write("session.txt", text)
        check = (
            "import doctest, sys; "
            "found = doctest.testfile('session.txt', module_relative=False, encoding='utf-8', "
            "optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE); "
            "sys.exit(found.failed > 0)"
        )
        return self.run([sys.executable, "-c", check])

    def command(self, line: str) -> Outcome:
        """Run a line of shell; `$?` in it is the code of the command before."""
        outcome = self.run(["bash", "-c", f"(exit {self._last_code})\n{self._here(line)}"])
        self._last_code = outcome.returncode
        return outcome

    def command_that_runs_on(self, line: str, is_expected: Callable[[str], bool]) -> Outcome:
        """Start a line of shell and wait until it has printed what is expected of it."""
        output = self.folder / f"output-{len(self._running)}"
        with output.open("wb") as file:
            process = subprocess.Popen(
                ["bash", "-c", self._here(line)],
                cwd=self.folder,
                env=self._environment(),
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                start_new_session=True,
            )
        self._running.append(process)
        until = time.monotonic() + WITHIN
        while not is_expected(said := self._there(output.read_bytes())):
            if process.poll() is not None or time.monotonic() > until:
                break
            time.sleep(0.02)
        return Outcome(process.poll() or 0, said, "")

    def _environment(self) -> dict[str, str]:
        return {
            **os.environ,
            "PATH": os.pathsep.join([str(self._bin), os.environ.get("PATH", os.defpath)]),
            "PYTHONUTF8": "1",
            "PYTHONPATH": "",
            "COLUMNS": "100",
        }

    def run(self, argv: Sequence[str]) -> Outcome:
        """Run a program in the folder."""
        process = subprocess.Popen(
            argv,
            cwd=self.folder,
            env=self._environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        try:
            stdout, stderr = process.communicate(timeout=WITHIN)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            stdout, stderr = process.communicate(timeout=WITHIN)
            said = (stdout + stderr).decode(errors="replace")
            raise AssertionError(f"{argv} had not ended after {WITHIN:g} s; it wrote:\n{said}") from None
        return Outcome(process.returncode, self._there(stdout), self._there(stderr))


def free_port() -> int:
    """A port of this machine that nobody listens on."""
    with socket.socket() as opened:
        opened.bind(("127.0.0.1", 0))
        return int(opened.getsockname()[1])
