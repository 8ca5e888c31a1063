"""`anywire config add`: put a server into a file, with its secrets left in the environment."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from anywire.cli.options import add_era, duration
from anywire.cli.parser import Parser
from anywire.cli.servers_file import add_config_option, file_of
from anywire.errors import ConfigError

__all__ = ("ADVICE", "add_command", "run")

#: What is said of a secret that stands in a file as it is.
ADVICE = "write ${NAME} in its place and set the variable NAME, and no secret is in the file"

_EPILOG = """examples:
  anywire config add notes -- npx -y some-server
  anywire config add search --env API_KEY --env DEBUG=1 --cwd ../search -- python search.py
  anywire config add board https://host.example/mcp --header 'Authorization: Bearer ${TOKEN}'
  anywire config add old sse+https://host.example/sse --header X-Api-Key
  anywire config add files --allow 'read_*' --deny write_file -- npx -y some-file-server
"""


def add_command(parser: Parser) -> None:
    """Add the parser of `anywire config add`."""
    command = parser.add_command(
        "add",
        help="put a server into a file",
        usage="anywire config add NAME [options] (URL | -- COMMAND [ARGUMENT ...])",
        description="Put a server into a file of servers, which is made if it is not there. Variables, "
        "written ${NAME}, are left for when the file is read: no secret need be in it. Nothing is started.",
        epilog=_EPILOG,
    )
    command.add_argument("name", metavar="NAME", help="what to call the server, such as notes")
    command.add_argument(
        "target",
        nargs="?",
        metavar="URL",
        help="the server over HTTP, such as https://host.example/mcp (sse+https://… for an old one), if it "
        "is no command",
    )
    add_config_option(command)
    _add_wire_options(command)
    add_era(command)
    for name, what in (("--allow", "let through"), ("--deny", "hidden")):
        command.add_argument(
            name,
            action="append",
            default=[],
            metavar="PATTERN",
            help=f"what is {what}, such as {name} 'read_*' or {name} 'resource:file:*'; may be repeated",
        )


def _add_wire_options(command: Parser) -> None:
    """Add what says how the server is started or called."""
    command.add_argument(
        "--env",
        action="append",
        default=[],
        metavar="NAME[=VALUE]",
        help="a variable for the command, such as --env DEBUG=1, or one whose value the environment has, "
        "such as --env API_KEY, which is written as ${API_KEY}; may be repeated",
    )
    command.add_argument(
        "--header",
        action="append",
        default=[],
        metavar="'NAME[: VALUE]'",
        help="a header for each request to the URL, such as --header 'Authorization: Bearer ${TOKEN}'; "
        "--header X-Api-Key is written with ${X_API_KEY} for its value; may be repeated",
    )
    command.add_argument("--cwd", metavar="FOLDER", help="where the command runs, such as --cwd ../project")
    command.add_argument(
        "--framing",
        choices=("newline", "headers"),
        default=None,
        metavar="FRAMING",
        help="how the command frames its messages: newline (default) or headers, such as --framing headers",
    )
    command.add_argument(
        "--start-timeout",
        type=duration,
        default=None,
        metavar="DURATION",
        help="how long its start may take, such as --start-timeout 90s",
    )


def run(options: argparse.Namespace) -> int:
    """Add the server that the options describe; return the exit code."""
    from msgspec.structs import replace

    from anywire.cli.failure import write_stderr
    from anywire.cli.output import Output, visible_line
    from anywire.config.dialect import MCP_SERVERS
    from anywire.config.draft import read_draft
    from anywire.config.editable import EditableFile
    from anywire.config.expansion import Surroundings, expand
    from anywire.config.own_bridge import runs_this_file
    from anywire.config.writing import literal_secrets, written_members

    name: str = options.name
    if not name or not name.isprintable():
        raise ConfigError("NAME is no name for a server: it is empty, or has a character that nobody sees")
    draft = read_draft(_members(options), MCP_SERVERS)
    path = file_of(options.config)
    # What no variable can change is wrong already now.
    entry = expand(name, replace(draft, disabled=True), Surroundings({}, Path.cwd()))
    if runs_this_file(entry, path):
        raise ConfigError(f"{name} would run the bridge of {path}, which cannot offer itself")
    with EditableFile.locked(path) as file:
        if name in file.names:
            raise ConfigError(f"{path} has a server {name!r} already; 'anywire config remove' takes it out")
        file.add({name: written_members(draft, file.dialect)})
    Output().text(visible_line(f"added {name} to {path}"))
    for where in literal_secrets(draft):
        sentence = f"anywire: {where} of {name} seems to be a secret, and is in the file now; {ADVICE}"
        write_stderr(f"{visible_line(sentence)}\n".encode("utf-8", "backslashreplace"))
    return 0


def _members(options: argparse.Namespace) -> dict[str, object]:
    """Return the members of the server as most editors write them.  Raises `ConfigError`."""
    members: dict[str, object] = {**_what(options)}
    given: dict[str, object] = {
        "cwd": None if options.cwd is None else str(Path(options.cwd).expanduser().absolute()),
        "framing": options.framing,
        "startup_timeout_sec": options.start_timeout,
        "era": None if options.era == "auto" else options.era,
        "allow": options.allow or None,
        "deny": options.deny or None,
    }
    return members | {name: value for name, value in given.items() if value is not None}


def _what(options: argparse.Namespace) -> dict[str, object]:
    from anywire.transport.redact import show_word

    url: str | None = options.target
    if options.command and url is not None:
        raise ConfigError("there are two servers, the URL and the command behind '--'; give one")
    if options.command:
        if options.header:
            raise ConfigError("--header is for a URL")
        command, *arguments = options.command
        return {"command": command, "args": arguments, "env": dict(map(_variable, options.env))}
    if url is None:
        raise ConfigError("say which server: anywire config add NAME (URL | -- COMMAND [ARGUMENT ...])")
    if not url.startswith(("http://", "https://", "sse+http://", "sse+https://", "${")):
        raise ConfigError(
            f"{show_word(url)!r} is no URL; a command stands behind '--': anywire config add NAME -- …"
        )
    for option in ("env", "cwd", "framing"):
        if getattr(options, option):
            raise ConfigError(f"--{option} is for a command behind '--'")
    kind = "sse" if url.startswith("sse+") else "http"
    headers = dict(map(_header, options.header))
    return {"type": kind, "url": url.removeprefix("sse+"), "headers": headers}


def _variable(word: str) -> tuple[str, str]:
    name, equals, value = word.partition("=")
    if not name:
        raise ConfigError("--env '=…' names no variable; write NAME=VALUE or NAME")
    return name, value if equals else f"${{{name}}}"


def _header(word: str) -> tuple[str, str]:
    name, colon, value = word.partition(":")
    if not re.fullmatch(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+", name.strip()):
        raise ConfigError("--header names no header; write 'Name: Value' or Name")
    variable = re.sub(r"[^A-Za-z0-9]", "_", name.strip()).upper()
    return name.strip(), value.strip() if colon else f"${{{variable}}}"
