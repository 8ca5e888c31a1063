"""`anywire replay`: a recording as a server."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from anywire.cli.log import Log
from anywire.cli.parser import Commands, Parser
from anywire.cli.recorded import RECORDING_HELP, add_choice, read_scores, refuse_command
from anywire.cli.serving import add_guard_options, add_limit_options, listen, refuse_guard_options

if TYPE_CHECKING:
    from anywire.protocol.http.guard import Guard
    from anywire.record.player import Player
    from anywire.transport.http_server import HttpListener
    from anywire.wire.limits import Limits

__all__ = ("add_parser", "run")

_DESCRIPTION = """\
Be the server of a recording that --record made: answer as it answered, with its notifications and its
own questions where they stood. A request must be the recorded one, apart from ids, progress tokens and
_meta; another gets an error that says what was expected, and the exit code is 1."""

_EPILOG = """examples:
  anywire replay wire.ndjson
  anywire replay --lenient --session 2 wire.ndjson
  anywire replay --timing --http 127.0.0.1:8000 wire.ndjson
"""


def add_parser(commands: Commands) -> Parser:
    """Add the parser of `anywire replay`."""
    parser = commands.add_parser(
        "replay",
        prog="anywire replay",
        help="play a recording as a server",
        usage="anywire replay [options] FILE",
        description=_DESCRIPTION,
        epilog=_EPILOG,
    )
    parser.add_argument("recording", metavar="FILE", help=RECORDING_HELP)
    parser.add_argument(
        "--lenient",
        action="store_true",
        help="answer any request as the nearest recorded one of its method and name was, as often as it "
        "comes, for example: anywire replay --lenient wire.ndjson",
    )
    parser.add_argument(
        "--timing",
        action="store_true",
        help="take the time that it took then, for example: anywire replay --timing wire.ndjson",
    )
    add_choice(parser)
    parser.add_argument(
        "--http",
        metavar="HOST:PORT",
        help="serve Streamable HTTP there, at /mcp, such as --http 127.0.0.1:8000; port 0 takes a free one",
    )
    add_guard_options(parser)
    add_limit_options(parser)
    return parser


def run(options: argparse.Namespace) -> int:
    """Play the recording until the client leaves, or a signal ends it; return the exit code."""
    from anywire.cli.output import visible_line
    from anywire.errors import ConfigError
    from anywire.record.player import Player

    refuse_command(options, "replay")
    if options.http is None:
        refuse_guard_options(options)
    scores = read_scores(options.recording, options)
    if not any(score.requests for score in scores):
        raise ConfigError(f"{options.recording} has no request that a client could make")

    log = Log()
    report = log.reporter()
    player = Player(
        scores, lambda told: report(visible_line(told)), lenient=options.lenient, timing=options.timing
    )
    return _play_stdio(player, log) if options.http is None else _play_http(options, player, log)


def _play_stdio(player: Player, log: Log) -> int:
    from anywire.transport.run_process import run_process
    from anywire.transport.stdio_claim import claim_stdio
    from anywire.transport.stdio_server import StdioListener
    from anywire.wire.limits import DEFAULT_LIMITS

    claim = claim_stdio()
    with log.listening():
        run_process(lambda: player.play(StdioListener(claim).open()), DEFAULT_LIMITS)
    return 1 if player.refused else 0


def _play_http(options: argparse.Namespace, player: Player, log: Log) -> int:
    from anywire.bridge.endpoint import HttpAddress
    from anywire.bridge.metering.meters import Meters
    from anywire.transport.asgi_host import split_address

    meters = Meters()
    host, port = split_address(options.http)

    def make(guard: Guard, limits: Limits) -> HttpListener:
        from anywire.protocol.http.stateless import StatelessFace
        from anywire.transport.http_server import HttpListener

        listener = HttpListener(
            player.accept,
            lambda method: True,
            guard=guard,
            path="/mcp",
            stateless=StatelessFace(lambda method: True, lambda tool: ()),
            limits=limits,
        )
        meters.count_sessions = lambda: len(listener.sessions)
        return listener

    address = HttpAddress(host, port)
    return listen(options, address, make, close=player.close, log=log, meters=meters)
