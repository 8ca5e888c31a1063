"""How the tests start the servers of this folder, and the command itself."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SERVERS = Path(__file__).parent / "servers"
WITHIN = 60.0
"""Seconds that one command may take."""


@dataclass(frozen=True)
class Finished:
    """How a command ended."""

    code: int
    out: str
    err: str


def server(name: str, *arguments: str | Path) -> list[str]:
    """The command line of a server of the folder; its working directory is the root of the checkout."""
    return [sys.executable, "-S", "-m", f"tests.cli.servers.{name}", *map(str, arguments)]


def anywire(
    *arguments: str | Path,
    stdin: str = "",
    env: Mapping[str, str] | None = None,
    cwd: Path = ROOT,
    python: Sequence[str] = (),
) -> Finished:
    """Run the command in a process of its own, from the root of the checkout, to its end."""
    process = subprocess.Popen(
        [sys.executable, *python, "-m", "anywire", *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=cwd,
        env={**os.environ, "COLUMNS": "100", "PYTHONUTF8": "1", **(env or {})},
        start_new_session=True,
    )
    try:
        out, err = process.communicate(stdin.encode(), timeout=WITHIN)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        out, err = process.communicate()
        raise AssertionError(f"{arguments} had not ended after {WITHIN} s: {out!r} {err!r}") from None
    return Finished(process.returncode, out.decode(), err.decode())
