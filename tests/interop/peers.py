"""The programs by other people that these tests talk with, at exact versions, installed on demand.

Each Python SDK gets an environment of its own, the node packages one folder together; all of them
lie in `.peers/` beside this file, under a name made from all that decides their content. A folder
counts when its stamp is there, which is written last, and a lock file lets one process install
while another waits.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
SCRIPTS = HERE / "scripts"
PEERS = HERE / ".peers"
NODE_MANIFEST = HERE / "node"

SDK_2 = "mcp==2.3.0"
SDK_1 = "mcp==1.30.0"
SERVER_TIME = "mcp-server-time==2026.10.19"
SERVER_GIT = "mcp-server-git==2026.10.19"
FASTMCP = "fastmcp==4.2.3"
CLAUDE_CODE = "claude-agent-sdk==0.2.189"
NODE_AT_LEAST = 18

INSTALL_WITHIN = 110.0
"""Seconds until a peer is there, or given up: waiting for another process and all steps together."""
STAMP = "installed"


class PeerUnavailable(Exception):
    """A peer could not be installed; the text says what was tried and what came of it."""


class NodeMissing(Exception):
    """There is no usable node on this machine."""


def python_peer(*requirements: str) -> Path:
    """The interpreter of an environment that holds just these requirements; the first gives it its name."""
    facts = (*requirements, sys.version, sys.base_prefix, platform.machine())
    folder = PEERS / f"{re.sub(r'[^a-z0-9.]+', '-', requirements[0])}-{digest(*facts)}"
    python = folder / "bin" / "python"
    with installing(folder) as needed:
        if needed is not None:
            needed.step(sys.executable, "-m", "venv", folder)
            pip = (python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
            needed.step(*pip, "--retries", "2", "--timeout", "30", *requirements)
    return python


def claude_code() -> Path:
    """The command-line program of Claude Code, which its SDK for Python brings along."""
    python = python_peer(CLAUDE_CODE)
    found = list(python.parent.parent.glob("lib/python*/site-packages/claude_agent_sdk/_bundled/claude"))
    if len(found) != 1:
        raise PeerUnavailable(f"{CLAUDE_CODE} brings no program for this machine")
    return found[0]


def node_peers(manifest: Path = NODE_MANIFEST) -> Path:
    """The folder that holds `node_modules` with the packages that are pinned in a manifest's folder."""
    node, npm = find_node()
    manifests = [manifest / "package.json", manifest / "package-lock.json"]
    version = output_of([node, "--version"])
    texts = [path.read_text(encoding="utf-8") for path in manifests]
    folder = PEERS / f"node-{digest(version, platform.machine(), *texts)}"
    with installing(folder) as needed:
        if needed is not None:
            folder.mkdir(parents=True)
            for each in manifests:
                shutil.copy(each, folder)
            quiet = ("--no-audit", "--no-fund", "--loglevel=error")
            needed.step(npm, "ci", "--ignore-scripts", *quiet, "--fetch-retries=1", "--fetch-timeout=30000")
    return folder


def find_node() -> tuple[str, str]:
    """Where node and npm are."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        missing = " and ".join(name for name, path in (("node", node), ("npm", npm)) if path is None)
        raise NodeMissing(
            f"{missing} cannot be found on this machine, so the peers that run on node are left out"
        )
    version = output_of([node, "--version"])
    major = re.match(r"v(\d+)\.", version)
    if major is None or int(major[1]) < NODE_AT_LEAST:
        message = (
            f"node is {version}, and the peers that run on it need {NODE_AT_LEAST}, so they are left out"
        )
        raise NodeMissing(message)
    return node, npm


@contextlib.contextmanager
def installing(folder: Path) -> Generator[Installation | None]:
    """Hold the lock of a peer's folder and fill it, unless it is there; leaving in order stamps it."""
    stamp = folder / STAMP
    if stamp.exists():
        yield None
        return
    deadline = time.monotonic() + INSTALL_WITHIN
    PEERS.mkdir(exist_ok=True)
    with (PEERS / f"{folder.name}.lock").open("w", encoding="utf-8") as lock:
        wait_for_lock(lock.fileno(), folder.name, deadline)
        if stamp.exists():
            yield None
            return
        shutil.rmtree(folder, ignore_errors=True)
        yield Installation(folder, deadline)
        stamp.touch()


def wait_for_lock(lock: int, name: str, deadline: float) -> None:
    """Take the lock, or give up in words when another process keeps it for too long."""
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                message = f"{name}: another process has not finished installing it in {INSTALL_WITHIN:.0f} s"
                raise PeerUnavailable(message) from None
            time.sleep(0.1)
        else:
            return


@dataclass(frozen=True)
class Installation:
    """The steps that fill one folder, which share a deadline."""

    folder: Path
    deadline: float

    def step(self, *argv: str | Path) -> None:
        """Run one command to its end."""
        command = [str(part) for part in argv]
        # A package manager has children: they share a group, so that all can be stopped.
        with subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=self.folder if self.folder.exists() else None,
            env=surroundings(os.environ),
            process_group=0,
        ) as process:
            try:
                said, _ = process.communicate(timeout=max(self.deadline - time.monotonic(), 0.0))
            except subprocess.TimeoutExpired:
                said, went = stop(process), f"was stopped: the {INSTALL_WITHIN:.0f} s for all steps were over"
            else:
                went = f"ended with code {process.returncode}"
        if process.returncode != 0:
            tail = said.decode(errors="replace")[-3000:]
            message = f"{self.folder.name} could not be installed: `{' '.join(command)}` {went}\n{tail}"
            raise PeerUnavailable(message)


def stop(process: subprocess.Popen[bytes]) -> bytes:
    """Kill a step and all it started; returns what it had said."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    return process.communicate(timeout=30)[0]


def surroundings(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment for an installer: what steers the interpreter under test must not reach it."""
    kept = {name: value for name, value in environment.items() if not name.startswith("PYTHON")}
    return {**kept, "npm_config_update_notifier": "false"}


def output_of(argv: Sequence[str]) -> str:
    """The one line that a quick command prints."""
    done = subprocess.run(argv, capture_output=True, encoding="utf-8", timeout=60, check=False)
    return done.stdout.strip()


def digest(*facts: str) -> str:
    """A short name for these facts."""
    return hashlib.sha256("\0".join(facts).encode()).hexdigest()[:12]
