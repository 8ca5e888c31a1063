"""`anywire config`: the file of servers, from the shell: what is in it, what is put in, what is taken out."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from anywire.cli.options import add_json
from anywire.cli.parser import Commands, Parser, nearest
from anywire.cli.servers_file import add_config_option, file_of, load_config
from anywire.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anywire.config.entry import Config

__all__ = ("add_parser", "run")

_DESCRIPTION = """\
List, add, remove and import the servers of a file. The file has the format that most editors read
(mcpServers) unless it already has another. Comments in it, their places and the order stay."""

_EPILOG = """examples:
  anywire config list
  anywire config add notes -- npx -y some-server
  anywire config add --config .mcp.json --env API_KEY search -- python search.py
  anywire config add board https://host.example/mcp --header 'Authorization: Bearer ${TOKEN}'
  anywire config remove notes
  anywire config import claude-desktop cursor
"""


def add_parser(commands: Commands) -> Parser:
    """Add the parser of `anywire config` and of what it can do."""
    from anywire.cli import config_add, config_import

    parser = commands.add_parser(
        "config",
        prog="anywire config",
        help="list, add, remove and import the servers of a file",
        usage="anywire config (list | add | remove | import) …",
        description=_DESCRIPTION,
        epilog=_EPILOG,
    )
    _add_list(parser)
    config_add.add_command(parser)
    _add_remove(parser)
    config_import.add_command(parser)
    return parser


def run(options: argparse.Namespace) -> int:
    """Do what the options name; return the exit code."""
    from anywire.cli import config_add, config_import

    if options.action == "add":
        return config_add.run(options)
    if options.command is not None:
        raise ConfigError(f"config {options.action} takes no command behind '--'")
    if options.action == "import":
        return config_import.run(options)
    return _list(options) if options.action == "list" else _remove(options)


def _add_list(parser: Parser) -> None:
    command = parser.add_command(
        "list",
        help="list the servers of a file",
        usage="anywire config list [--config FILE] [--json]",
        description="List the servers of a file: how each is spoken to, and what would be run or called, "
        "without its secrets.",
        epilog="examples:\n  anywire config list\n  anywire config list --config .vscode/mcp.json\n",
    )
    add_config_option(command)
    add_json(command, "the servers in JSON")


def _add_remove(parser: Parser) -> None:
    command = parser.add_command(
        "remove",
        help="take a server out of a file",
        usage="anywire config remove NAME [--config FILE]",
        description="Take a server out of a file. All else in it stays as it is, comments too.",
        epilog="examples:\n  anywire config remove notes\n",
    )
    command.add_argument("name", metavar="NAME", help="the server, by its name in the file, such as notes")
    add_config_option(command)


def _list(options: argparse.Namespace) -> int:
    from anywire.cli.output import Output, visible_line
    from anywire.cli.table import write_table

    path = file_of(options.config)
    config = load_config(path)
    output = Output()
    rows = list(_rows(config))
    if options.json:
        from anywire.wire.value import encode_value

        members = ("name", "wire", "shown", "state")
        servers = [dict(zip(members, row, strict=True)) for row in rows]
        output.document(encode_value({"file": str(path), "servers": servers}))
    elif rows:
        write_table(output, ("server", "wire", "runs or calls", "state"), rows)
    else:
        output.text(visible_line(f"{path} has no servers yet"))
    return 0


def _rows(config: Config) -> Iterator[tuple[str, str, str, str]]:
    for entry in config.entries:
        state = "disabled" if entry.disabled else ""
        yield entry.written_name, entry.wire, entry.shown, state
    for name, reason in config.refused.items():
        yield name, "", "", f"refused: {reason}"


def _remove(options: argparse.Namespace) -> int:
    from anywire.cli.output import Output, visible_line
    from anywire.config.editable import EditableFile

    path = file_of(options.config)
    if not path.exists():
        raise ConfigError(f"there is no file {path}")
    with EditableFile.locked(path) as file:
        if options.name not in file.names:
            raise ConfigError(f"{path} has no server {options.name!r}{nearest(options.name, file.names)}")
        file.remove(options.name)
    Output().text(visible_line(f"removed {options.name} from {path}"))
    return 0
