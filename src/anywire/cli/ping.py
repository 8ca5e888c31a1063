"""`anywire ping`: is the server there, who is it, how quick is it."""

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
  anywire ping -- npx -y some-server
  anywire ping my_module:server
  anywire ping --json --timeout 90s -- python server.py
"""


def add_parser(commands: Commands) -> Parser:
    """Add the parser of `anywire ping`."""
    from anywire.cli.target import TARGET_HELP, TARGET_WORDS, add_target_options

    parser = commands.add_parser(
        "ping",
        prog="anywire ping",
        help="ask a server for a sign of life",
        usage=f"anywire ping [options] {TARGET_WORDS}",
        description="Start a server, ask who it is and for a sign of life, and tell how long each took.",
        epilog=_EPILOG,
    )
    parser.add_argument("target", nargs="?", metavar="TARGET", help=TARGET_HELP)
    add_target_options(
        parser,
        "how long to wait for the server to start and for its answer",
        "who answered and how long it took, in JSON",
    )
    return parser


def run(options: argparse.Namespace) -> int:
    """Ping the target; return the exit code."""
    import time

    from anywire.cli.target import converse
    from anywire.wire.value import encode_value

    began = time.monotonic()

    async def work(client: Client, output: Output, status: Status) -> None:
        opened = time.monotonic()
        await client.ping()
        answered = time.monotonic()
        start, ping = (opened - began) * 1000, (answered - opened) * 1000
        who = client.server.server_info
        if options.json:
            server = {"name": who.name, "version": who.version}
            document = {
                "server": server,
                "revision": client.revision,
                "start_ms": round(start, 1),
                "ping_ms": round(ping, 3),
            }
            output.document(encode_value(document))
        else:
            name = " ".join(filter(None, (who.name or "a server without a name", who.version)))
            output.text(f"{name}, revision {client.revision}: ready in {start:,.0f} ms, ping {ping:,.2f} ms")

    return converse(options, work)
