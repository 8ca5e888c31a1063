"""`--server NAME`: a server of a file in the place of a target."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from anywire.cli.parser import nearest
from anywire.cli.servers_file import file_of
from anywire.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

    from anywire.config.entry import ServerEntry

__all__ = ("add_server_options", "take_server")


def add_server_options(parser: argparse.ArgumentParser) -> None:
    """Add what names a server of a file."""
    parser.add_argument(
        "--server",
        dest="named_server",
        metavar="NAME",
        help="in the place of a target: a server of the file of servers, such as --server notes",
    )
    parser.add_argument(
        "--config",
        metavar="FILE",
        help="the file with that server, such as --config servers.json; by default .mcp.json if it is here, "
        "else ~/.config/anywire/servers.json",
    )


def take_server(options: argparse.Namespace) -> None:
    """Let the options say what the file says of the server that they name; where they name none: nothing.

    Raises `ConfigError` for a server that there is not, or that cannot be used.
    """
    if not hasattr(options, "named_server"):
        return
    name: str | None = options.named_server
    if name is None:
        if options.config is not None:
            raise ConfigError("--config names a file of servers; say which of them with --server NAME")
        return
    if options.command is not None or options.target is not None:
        raise ConfigError("--server names a server, and there is another target; give one")
    _take(options, _find(file_of(options.config), name))


def _find(path: Path, name: str) -> ServerEntry:
    from anywire.cli.servers_file import load_config

    config = load_config(path)
    if name in config.refused:
        raise ConfigError(f"{name} of {path} cannot be used: {config.refused[name]}")
    entry = next((each for each in config.entries if name in (each.name, each.written_name)), None)
    if entry is None:
        known = [each.name for each in config.entries]
        raise ConfigError(f"{path} has no server {name!r}{nearest(name, known)}; it has: {', '.join(known)}")
    if entry.disabled:
        raise ConfigError(f"{path} says that {name} is disabled")
    return entry


def _take(options: argparse.Namespace, entry: ServerEntry) -> None:
    """Let the options say what an entry says."""
    from anywire.wire.framing import Framing

    if entry.allow or entry.deny:
        from anywire.bridge.policy.policy import Policy

        options.policy_of_server = Policy(entry.allow, entry.deny, entry.name)
    if getattr(options, "era", None) == "auto":  # the doctor looks at each
        options.era = entry.era
    seconds = {"connect_seconds": entry.start_seconds, "request_seconds": entry.call_seconds}
    options.limits_of_server = {name: value for name, value in seconds.items() if value is not None}
    if entry.url is not None:
        options.target = f"sse+{entry.url}" if entry.wire == "sse" else entry.url
        options.headers_of_server = dict(entry.headers)
        return
    options.command = list(entry.command)
    options.env = [*(f"{key}={value}" for key, value in entry.env.items()), *options.env]
    options.cwd = options.cwd or entry.cwd
    if entry.wire == "stdio+headers":
        options.framing = options.framing or Framing.HEADERS
