"""Fixtures that hand out the peers, and a look at what is left of them after each test."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

if sys.platform == "win32":
    collect_ignore_glob = ["test_*.py"]
else:
    from tests.interop import peers, processes
    from tests.interop.obtain import obtain

    @pytest.fixture(scope="session")
    def sdk_2_python() -> Path:
        """The interpreter of an environment with the official Python SDK 2.x."""
        return obtain(lambda: peers.python_peer(peers.SDK_2))

    @pytest.fixture(scope="session")
    def sdk_1_python() -> Path:
        """The interpreter of an environment with the official Python SDK 1.x."""
        return obtain(lambda: peers.python_peer(peers.SDK_1))

    @pytest.fixture(scope="session")
    def server_time_python() -> Path:
        """The interpreter of an environment with mcp-server-time."""
        return obtain(lambda: peers.python_peer(peers.SERVER_TIME))

    @pytest.fixture(scope="session")
    def server_git_python() -> Path:
        """The interpreter of an environment with mcp-server-git."""
        return obtain(lambda: peers.python_peer(peers.SERVER_GIT))

    @pytest.fixture(scope="session")
    def fastmcp_python() -> Path:
        """The interpreter of an environment with fastmcp."""
        return obtain(lambda: peers.python_peer(peers.FASTMCP))

    @pytest.fixture(scope="session")
    def claude_sdk_python() -> Path:
        """The interpreter of an environment with the Claude Agent SDK."""
        return obtain(lambda: peers.python_peer(peers.CLAUDE_CODE))

    @pytest.fixture(scope="session")
    def claude_code() -> Path:
        """The command-line program of Claude Code."""
        return obtain(peers.claude_code)

    @pytest.fixture(scope="session")
    def node_peers() -> Path:
        """The folder whose `node_modules` holds the node packages."""
        return obtain(peers.node_peers)

    @pytest.fixture(autouse=True)
    def _no_process_left() -> Iterator[None]:
        """No test may leave a process behind."""
        with processes.watch():
            yield
