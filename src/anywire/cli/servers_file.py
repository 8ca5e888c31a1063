"""Which file of servers a subcommand works on, and what it reads of it."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from anywire.errors import ConfigError

if TYPE_CHECKING:
    from anywire.config.entry import Config

__all__ = ("add_config_option", "file_of", "load_config")


def add_config_option(parser: argparse.ArgumentParser) -> None:
    """Add `--config`, the file of servers."""
    parser.add_argument(
        "--config",
        metavar="FILE",
        help="the file of servers, such as --config servers.json; by default .mcp.json if it is here, else "
        "$XDG_CONFIG_HOME/anywire/servers.json (~/.config/anywire/servers.json)",
    )


def file_of(named: str | None) -> Path:
    """Return the path of the file of servers: the one that is named, else the one to look for."""
    from anywire.config.file import default_file

    if named is None:
        return default_file(os.environ, Path.cwd())
    if not named.strip():
        raise ConfigError("--config names no file")
    try:
        return Path(named).expanduser()
    except RuntimeError as error:  # a home that nobody has
        raise ConfigError(f"--config: {error}") from None


def load_config(path: Path) -> Config:
    """Read the servers of a file, with the variables of this process's environment.

    Raises `ConfigError` for a file that is not there or cannot be read.
    """
    from anywire.config.content import read_file
    from anywire.config.read import read_config

    content = read_file(path)
    if content is None:
        raise ConfigError(f"there is no file {path}")
    return read_config(content, str(path), os.environ, project=str(Path.cwd()))
