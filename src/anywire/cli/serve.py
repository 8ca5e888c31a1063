"""`anywire serve`: run a Server on stdio."""

from __future__ import annotations

import argparse

from anywire.cli.parser import Commands, Parser
from anywire.errors import ConfigError

__all__ = ("add_parser", "run")

_EPILOG = """examples:
  anywire serve my_package.my_module:server
  anywire serve ./server.py:server
"""


def add_parser(commands: Commands) -> Parser:
    """Add the parser of `anywire serve`."""
    parser = commands.add_parser(
        "serve",
        prog="anywire serve",
        help="run a Server on stdio",
        usage="anywire serve MODULE:SERVER",
        description="Run a Server on this process's stdin and stdout, in the framing that the client speaks.",
        epilog=_EPILOG,
    )
    parser.add_argument(
        "target",
        metavar="MODULE:SERVER",
        help="what to run, such as my_package.tools:server or ./file.py:server",
    )
    return parser


def run(options: argparse.Namespace) -> int:
    """Load the server that `options.target` names and serve it; return the exit code."""
    from anywire.cli.load import load_server
    from anywire.transport.stdio_claim import claim_stdio

    if options.command is not None:
        raise ConfigError("serve takes module:server, not a command after '--'")
    claim_stdio()
    load_server(options.target).run()
    return 0
