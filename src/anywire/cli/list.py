"""`anywire list`: what tools a server has."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from anywire.cli.headers import add_header_options
from anywire.cli.options import add_child_options, add_json, add_timeout, add_verbose
from anywire.cli.parser import Commands, Parser

if TYPE_CHECKING:
    from anywire.cli.output import Output
    from anywire.cli.status import Status
    from anywire.client.client import Client

__all__ = ("add_parser", "run")

_EPILOG = """examples:
  anywire list -- npx -y some-server
  anywire list my_module:server
  anywire list --json -- python server.py | jq '.[].name'
  anywire list --timeout 1m --env API_KEY -- python server.py
"""


def add_parser(commands: Commands) -> Parser:
    """Add the parser of `anywire list`."""
    from anywire.cli.target import TARGET_HELP, TARGET_WORDS

    parser = commands.add_parser(
        "list",
        prog="anywire list",
        help="list the tools of a server",
        usage=f"anywire list [options] {TARGET_WORDS}",
        description="List the tools of a server: name, parameters (optional ones in brackets), purpose.",
        epilog=_EPILOG,
    )
    parser.add_argument("target", nargs="?", metavar="TARGET", help=TARGET_HELP)
    add_json(parser, "a JSON array of the tools as the server gave them")
    add_timeout(parser, "how long to wait for the server to start and for each answer")
    add_child_options(parser)
    add_header_options(parser)
    add_verbose(parser, "pass the server's stderr on")
    return parser


def run(options: argparse.Namespace) -> int:
    """List the tools of the target; return the exit code."""
    from anywire.cli.target import converse

    async def work(client: Client, output: Output, status: Status) -> None:
        from anywire.cli.tools import list_tools, rows_of

        tools = await list_tools(client)
        if options.json:
            output.document(b"[" + b",".join(tools) + b"]")
        elif not tools:
            status.say("the server has no tools")
        else:
            from anywire.cli.table import write_table

            write_table(output, ("name", "parameters", "description"), rows_of(tools))

    return converse(options, work)
