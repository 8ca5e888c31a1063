"""`anywire list`: what a server offers."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from anywire.cli.parser import Commands, Parser

if TYPE_CHECKING:
    from anywire.cli.output import Output
    from anywire.cli.status import Status
    from anywire.client.client import Client

__all__ = ("add_parser", "run")

_EPILOG = """examples:
  anywire list -- npx -y some-server
  anywire list my_module:server
  anywire list --json -- python server.py | jq '.tools[].name'
  anywire list --timeout 1m --env API_KEY -- python server.py
"""


def add_parser(commands: Commands) -> Parser:
    """Add the parser of `anywire list`."""
    from anywire.cli.target import TARGET_HELP, TARGET_WORDS, add_target_options

    parser = commands.add_parser(
        "list",
        prog="anywire list",
        help="list what a server offers",
        usage=f"anywire list [options] {TARGET_WORDS}",
        description="List what a server offers: tools, resources, templates of resources and prompts, with "
        "their parameters (optional ones in brackets) and their purpose.",
        epilog=_EPILOG,
    )
    parser.add_argument("target", nargs="?", metavar="TARGET", help=TARGET_HELP)
    add_target_options(
        parser,
        "how long to wait for the server to start and for each answer",
        "a JSON object of tools, resources, resourceTemplates and prompts, each an array as it came",
    )
    return parser


def run(options: argparse.Namespace) -> int:
    """List what the target offers; return the exit code."""
    from anywire.cli.target import converse

    async def work(client: Client, output: Output, status: Status) -> None:
        from anywire.cli.offers import list_all

        found = await list_all(client)
        if options.json:
            lists = (b'"%b":[%b]' % (member.encode(), b",".join(items)) for member, items in found.items())
            output.document(b"{" + b",".join(lists) + b"}")
        elif any(found.values()):
            _show(output, found)
        else:
            status.say("the server has no tools, resources or prompts")

    return converse(options, work)


def _show(output: Output, found: dict[str, list[bytes]]) -> None:
    """Write a table for each kind of which there are some."""
    from anywire.cli.offers import OFFERS, rows_of
    from anywire.cli.table import write_table

    shown = [offer for offer in OFFERS if found[offer.member]]
    for offer in shown:
        if offer is not shown[0]:
            output.document(b"")
        write_table(output, offer.head, rows_of(offer, found[offer.member]))
