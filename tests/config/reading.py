"""How the tests read files of servers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from anywire.config.entry import Config, ServerEntry
from anywire.config.read import read_config

FILES = Path(__file__).parent / "files"
HOME = "/home/ada"


def read(name: str, project: str | None = None, **environment: str) -> Config:
    """Read a file of the folder."""
    path = FILES / name
    return read_config(path.read_bytes(), str(path), {"HOME": HOME, **environment}, project=project)


def read_one(members: Mapping[str, object], **environment: str) -> Config:
    """Read a file with one server, `it`, as most editors have it."""
    text = json.dumps({"mcpServers": {"it": members}})
    return read_config(text, "/project/servers.json", {"HOME": HOME, **environment})


def entry(config: Config, name: str = "it") -> ServerEntry:
    """The server of that name, as the file has it."""
    assert name not in config.refused, config.refused
    (found,) = [each for each in config.entries if each.written_name == name]
    return found


def refusal(members: Mapping[str, object], **environment: str) -> str:
    """Why a server is refused."""
    return read_one(members, **environment).refused["it"]
