"""Where a coding agent runs in a test: an environment with a model of ours, and what was written down there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def surroundings(home: Path, port: int) -> dict[str, str]:
    """An environment in which the program finds the model and nothing else."""
    here = f"http://127.0.0.1:{port}"
    return {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": str(home),
        "CLAUDE_CONFIG_DIR": str(home / "config"),
        "ANTHROPIC_BASE_URL": here,
        "ANTHROPIC_API_KEY": "none",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_ERROR_REPORTING": "1",
        "DISABLE_TELEMETRY": "1",
        # Else the tools of servers hide behind one that searches for them.
        "ENABLE_TOOL_SEARCH": "false",
        "HTTP_PROXY": here,
        "HTTPS_PROXY": here,
        "NO_PROXY": "127.0.0.1",
    }


def noted(path: Path) -> list[dict[str, Any]]:
    """What a script wrote down, if it did."""
    return json_lines(path.read_bytes()) if path.exists() else []


def json_lines(written: bytes) -> list[dict[str, Any]]:
    """Each line as an object."""
    return [json.loads(line) for line in written.split(b"\n") if line]
