"""`anywire config import`: take the servers that editors have into a file."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from anywire.cli.parser import Parser
from anywire.cli.servers_file import add_config_option, file_of

if TYPE_CHECKING:
    from anywire.config.importing import Found, Gathered

__all__ = ("add_command", "run")

_EPILOG = """examples:
  anywire config import
  anywire config import --dry-run
  anywire config import claude-desktop cursor --config servers.json
"""


def add_command(parser: Parser) -> None:
    """Add the parser of `anywire config import`."""
    from anywire.config.places import EDITORS

    command = parser.add_command(
        "import",
        help="take the servers of editors into a file",
        usage="anywire config import [EDITOR ...] [--config FILE] [--dry-run]",
        description="Look where editors and agents keep their servers, say what was found, and add it to a "
        "file of servers. A server whose name is there already is left alone. Variables stay variables; "
        "what an editor asks for becomes one.",
        epilog=_EPILOG,
    )
    command.add_argument(
        "editors",
        nargs="*",
        metavar="EDITOR",
        help=f"whose servers, such as cursor; by default those of all: {', '.join(EDITORS)}",
    )
    add_config_option(command)
    command.add_argument(
        "--dry-run",
        action="store_true",
        help="say what was found and write nothing, for example: anywire config import --dry-run",
    )


def run(options: argparse.Namespace) -> int:
    """Import the servers of the editors that the options name; return the exit code."""
    import os
    import sys
    from contextlib import nullcontext

    from anywire.cli.output import Output, visible_line
    from anywire.config.editable import EditableFile
    from anywire.config.importing import gather
    from anywire.config.places import paths_of, system_of

    path, project = file_of(options.config), Path.cwd()
    output = Output()
    own = os.path.realpath(path)
    places = [
        (editor, place)
        for editor, place in paths_of(tuple(options.editors), os.environ, project, system_of(sys.platform))
        if os.path.realpath(place) != own
    ]
    opened = nullcontext(EditableFile.open(path)) if options.dry_run else EditableFile.locked(path)
    with opened as file:
        gathered = gather(places, file.names, file.dialect, os.environ, project, path)
        if gathered.servers and not options.dry_run:
            file.add(gathered.servers)
    output.text("\n".join(map(visible_line, _lines(gathered, path, dry=options.dry_run))))
    return 0


def _lines(gathered: Gathered, path: Path, *, dry: bool) -> Iterator[str]:
    from anywire.cli.config_add import ADVICE

    secrets = False
    for editor, place, servers in gathered.files:
        yield f"{editor}: {place}" + ("" if servers else " has no servers")
        for found in servers:
            yield f"  {_told(found)}"
            secrets = secrets or bool(found.secrets)
    for editor, _, reason in gathered.unread:
        yield f"{editor}: {reason}"
    if not gathered.files and not gathered.unread:
        yield "no file of an editor was found"
    if secrets:
        yield f"Secrets were taken as they are; {ADVICE}."
    count = len(gathered.servers)
    what = f"{count or 'no'} server{'' if count == 1 else 's'}"
    yield f"{what} would be added to {path}" if dry else f"{what} added to {path}"


def _told(found: Found) -> str:
    match found.fate:
        case "taken":
            secret = f" (seems to be a secret: {', '.join(found.secrets)})" if found.secrets else ""
            return f"+ {found.name}{secret}"
        case "there":
            return f"= {found.name}: there is one of this name already, which is left alone"
        case "left":
            return f"- {found.name}: {found.reason}"
