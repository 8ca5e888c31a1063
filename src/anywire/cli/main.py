"""The command line: which subcommand, its options, and how failures end.

Exit codes: 0 done, 1 failed, 2 wrong usage, 4 the other side could not be reached; 128 + n after
signal n.  A failure is one sentence on stderr.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import NoReturn

from anywire._version import __version__
from anywire.errors import AnywireError, ConfigError, ConnectFailed

__all__ = ("main",)

_EPILOG = """examples:
  anywire bridge stdio+headers -- npx -y some-server   a Content-Length host, a newline server
  anywire bridge stdio --target-framing headers -- ./server
  anywire serve my_package.my_module:server            run a Server on stdio
"""


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one sentence."""

    def error(self, message: str) -> NoReturn:
        raise ConfigError(f"{message} (see '{self.prog} --help')")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command with these arguments (default: the process's) and return its exit code."""
    words, command = _split(list(sys.argv[1:] if arguments is None else arguments))
    try:
        options = _parser().parse_args(words)
        if options.subcommand == "serve":
            from anywire.cli.serve import serve

            _refuse_command(command)
            return serve(options)
        from anywire.cli.bridge import bridge

        return bridge(options, command)
    except ConfigError as error:
        return _say(error, 2)
    except ConnectFailed as error:
        return _say(error, 4)
    except AnywireError as error:
        return _say(error, 1)


def _say(error: AnywireError, code: int) -> int:
    print(f"anywire: {error}", file=sys.stderr)
    return code


def _split(words: list[str]) -> tuple[list[str], list[str] | None]:
    """Divide the arguments at the first `--`: ours before it, the child's command after it."""
    if "--" not in words:
        return words, None
    at = words.index("--")
    return words[:at], words[at + 1 :]


def _refuse_command(command: list[str] | None) -> None:
    if command is not None:
        raise ConfigError("serve takes module:server, not a command after '--'")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="anywire",
        description="Any MCP client to any MCP server, over any wire.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"anywire {__version__}")
    commands = parser.add_subparsers(
        dest="subcommand", required=True, metavar="COMMAND", parser_class=_Parser
    )
    serve = commands.add_parser("serve", help="run a Server on stdio", description=_SERVE)
    serve.add_argument(
        "target", metavar="MODULE:SERVER", help="such as my_package.tools:server or ./file.py:server"
    )
    bridge = commands.add_parser(
        "bridge",
        help="offer one wire, call another",
        description=_BRIDGE,
        usage="anywire bridge FACE [options] -- COMMAND [ARGUMENT ...]",
    )
    bridge.add_argument("face", metavar="FACE", help="what is offered: stdio or stdio+headers")
    bridge.add_argument(
        "--target-framing",
        default="newline",
        metavar="FRAMING",
        help="how the command frames its messages: newline (default) or headers",
    )
    bridge.add_argument(
        "--env",
        action="append",
        default=[],
        metavar="NAME[=VALUE]",
        help="set a variable for the command, or let one of ours through; may be repeated",
    )
    bridge.add_argument("--inherit-env", action="store_true", help="give the command our whole environment")
    bridge.add_argument("--cwd", metavar="FOLDER", help="where the command runs")
    return parser


_SERVE = "Run a Server on this process's stdin and stdout, in the framing that the client speaks."
_BRIDGE = (
    "Offer FACE on this process's stdin and stdout and relay every message to COMMAND and back. "
    "The command gets a small environment (PATH, HOME, language); see --env."
)
