"""Where a page's code runs: a folder of its own, with `python` and `anywire` on the path.

Everything that is started has its own session, a bounded time, and is killed with all it started
when that is over.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.docs.pages import ROOT

WITHIN = 30.0
"""Seconds that one piece of a page may take."""

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
        path.write_text(text, encoding="utf-8")

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
        outcome = self.run(["bash", "-c", f"(exit {self._last_code})\n{line}"])
        self._last_code = outcome.returncode
        return outcome

    def run(self, argv: Sequence[str]) -> Outcome:
        """Run a program in the folder."""
        environment = {
            **os.environ,
            "PATH": os.pathsep.join([str(self._bin), os.environ.get("PATH", os.defpath)]),
            "PYTHONUTF8": "1",
            "PYTHONPATH": "",
            "COLUMNS": "100",
        }
        process = subprocess.Popen(
            argv,
            cwd=self.folder,
            env=environment,
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
        return Outcome(process.returncode, stdout.decode(errors="replace"), stderr.decode(errors="replace"))
