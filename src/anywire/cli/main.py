"""The command line: which subcommand, its options, and how failures end.

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 authorization needed, 4 the other side could not be reached,
5 the peer answered an error; 128 + n after signal n.  A failure is one sentence on stderr, with
`--json` one line `{"error": …}`.

Options stand anywhere behind the subcommand.  What stands behind `--` is a command to run, with its
own options.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence
from types import ModuleType

from anywire._version import __version__
from anywire.cli.failure import leave_closed_pipe, needs_authorization, tell_failure
from anywire.cli.parser import Commands, Parser, nearest
from anywire.errors import ConfigError, ConnectFailed, SpawnFailed
from anywire.transport.redact import show_command_line, show_word

__all__ = ("COMMANDS", "main", "whole_parser")

#: The subcommands; each is a module of `anywire.cli` with `add_parser` and `run`.
COMMANDS = (
    "list",
    "call",
    "read",
    "get",
    "complete",
    "listen",
    "ping",
    "doctor",
    "bridge",
    "serve",
    "check",
    "config",
    "show",
    "replay",
    "diff",
    "completion",
)

# Those that call a server.
_CLIENTS = ("list", "call", "read", "get", "complete", "listen", "ping")

_EPILOG = """examples:
  anywire list -- npx -y some-server                   what a server offers
  anywire call shout text=hello -- python server.py    call a tool
  anywire list --server notes                          one of a file of servers
  anywire read notes://today my_module:server          read a resource
  anywire doctor -- python server.py                   what is wrong with a server
  anywire bridge stdio+headers -- npx -y some-server   a Content-Length host, a newline server
  anywire serve my_package.my_module:server            run a Server on stdio
  anywire config add notes -- npx -y some-server       add to a file of servers
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command with these arguments (default: the process's) and return its exit code."""
    words, command = _split(list(sys.argv[1:] if arguments is None else arguments))
    options = argparse.Namespace(command=command)
    try:
        return _run(words, options)
    except KeyboardInterrupt:  # before or after the event loop, which handles it in order
        return 130
    except BrokenPipeError:
        return leave_closed_pipe()
    except Exception as error:  # noqa: BLE001 a user sees a sentence, never a traceback
        return _tell(error, words, options, _hint(words, command, error))


def _tell(error: Exception, words: list[str], options: argparse.Namespace, hint: str) -> int:
    """Tell a failure as the words want it, which may be what is wrong; return the exit code.

    `options` are those that could be read.
    """
    from anywire.cli.secrets import secrets_of

    secrets = secrets_of(options)
    if any("--log-format" in word for word in words):
        from anywire.cli.log import Log, wants_json_log

        if wants_json_log(words):
            log = Log(as_json=True)
            log.hide(secrets)
            return log.tell_failure(error, hint)
    return tell_failure(error, as_json="--json" in words, hint=hint, secrets=secrets)


def _run(words: list[str], options: argparse.Namespace) -> int:
    """Run the subcommand of these words, whose options are added to those there are."""
    name = words[0] if words else None
    if name not in COMMANDS:
        _refuse(words)
        (_top() if words[:1] == ["--version"] else _parser()).parse_args(words)  # ends here, or had no words
        raise ConfigError(f"say what to do: anywire {'|'.join(COMMANDS)} … (see 'anywire --help')")
    module = _module(name)
    read: argparse.Namespace = module.add_parser(_commands(_top())).read(words[1:])
    vars(options).update(vars(read))
    if getattr(options, "named_server", None) is not None or getattr(options, "config", None) is not None:
        from anywire.cli.named_server import take_server

        take_server(options)
    return int(module.run(options))


def _refuse(words: list[str]) -> None:
    """Refuse a first word that is neither a subcommand nor an option of the whole command."""
    if not words:
        return
    first, known = words[0], ["--help", "--version"]
    if not first.startswith("-"):
        raise ConfigError(
            f"there is no command {show_word(first)!r}{nearest(first, COMMANDS)}; "
            f"commands are: {', '.join(COMMANDS)}"
        )
    if first not in ("-h", *known):
        raise ConfigError(
            f"options stand behind the command, and {first.partition('=')[0]} is none of anywire's own"
        )


def _hint(words: list[str], command: list[str] | None, error: Exception) -> str:
    """Return what tells more about a server that could not be reached."""
    if needs_authorization(error):
        return "authorization needed: --header 'Authorization: Bearer ${TOKEN}'"
    unreachable = isinstance(error, ConnectFailed) and not isinstance(error, SpawnFailed)
    if not unreachable or words[0] not in _CLIENTS:
        return ""
    if command:
        return f"try: anywire doctor -- {show_command_line(command)}"
    url = next((word for word in words if word.startswith(("http://", "https://"))), "")
    # A key in a URL is not said again.
    return (
        f"try: anywire doctor {'URL' if '@' in url or '?' in url else show_command_line([url])}"
        if url
        else ""
    )


def _split(words: list[str]) -> tuple[list[str], list[str] | None]:
    """Divide the arguments at the first `--`: ours before it, the child's command after it."""
    if "--" not in words:
        return words, None
    at = words.index("--")
    return words[:at], words[at + 1 :]


def whole_parser() -> tuple[Parser, list[Parser]]:
    """Make the parser with all its subcommands, and give those as well."""
    parser = _top()
    commands = _commands(parser)
    return parser, [_module(name).add_parser(commands) for name in COMMANDS]


def _parser() -> Parser:
    """Make the whole parser, for help and for the reference."""
    return whole_parser()[0]


def _top() -> Parser:
    parser = Parser(
        prog="anywire",
        description="Any MCP client to any MCP server, over any wire.",
        epilog=_EPILOG,
    )
    parser.add_argument("--version", action="version", version=f"anywire {__version__}")
    return parser


def _commands(parser: Parser) -> Commands:
    return parser.add_subparsers(dest="subcommand", metavar="COMMAND", parser_class=Parser)


def _module(name: str) -> ModuleType:
    return importlib.import_module(f"anywire.cli.{name}")
