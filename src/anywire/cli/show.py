"""`anywire show`: a recorded conversation, for people and for programs."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from anywire.cli.options import add_json
from anywire.cli.parser import Commands, Parser
from anywire.cli.recorded import RECORDING_HELP, add_choice, chosen, read_recording, refuse_command

if TYPE_CHECKING:
    from anywire.cli.show_views import View
    from anywire.record.story import Told

__all__ = ("add_parser", "run")

_DESCRIPTION = """\
Print a recording that --record made: requests, replies with how long they took and how large they
were, progress, and whatever was never answered. Rounds of one call are put together where the server's
state, or what was asked, shows that they belong together. What is cut or cannot be read is told."""

_EPILOG = """examples:
  anywire show wire.ndjson
  anywire show -f wire.ndjson
  anywire show --method tools/call --full wire.ndjson | less
  anywire show --json wire.ndjson | jq 'select(.milliseconds > 1000)'
"""


def add_parser(commands: Commands) -> Parser:
    """Add the parser of `anywire show`."""
    parser = commands.add_parser(
        "show",
        prog="anywire show",
        help="print a recorded conversation",
        usage="anywire show [options] FILE",
        description=_DESCRIPTION,
        epilog=_EPILOG,
    )
    parser.add_argument("recording", metavar="FILE", help=RECORDING_HELP)
    parser.add_argument(
        "-f",
        "--follow",
        action="store_true",
        help="go on with what is added to the file, for example: anywire show -f wire.ndjson",
    )
    add_choice(parser)
    parser.add_argument(
        "--method",
        metavar="TEXT",
        help="only requests and notifications with that in their method, and what belongs to them, "
        "such as --method tools/",
    )
    parser.add_argument(
        "--full",
        action="store_true",
        help="shorten nothing, and leave out nothing of _meta, for example: anywire show --full wire.ndjson",
    )
    add_json(parser, "a line for each thing that happened")
    return parser


def run(options: argparse.Namespace) -> int:
    """Print the recording; return the exit code."""
    from anywire.cli.output import Output
    from anywire.cli.show_views import JsonView, TextView
    from anywire.errors import ConfigError
    from anywire.record.entry import Unreadable
    from anywire.record.story import Teller

    refuse_command(options, "show")
    output, teller = Output(), Teller()
    view: View = JsonView(output) if options.json else TextView(output, full=options.full)
    for found in read_recording(options.recording, follow=options.follow):
        for each in found:
            if isinstance(each, Unreadable):
                view.unreadable(each)
            elif chosen(options, each):
                for told in teller.take(each):
                    if _is_meant(told, options.method):
                        view.told(told)
        view.flush()
    if not teller.sessions and (options.session is not None or options.server is not None):
        raise ConfigError(f"{options.recording} has no such conversation in it")
    view.end([each for each in teller.open if options.method is None or options.method in each.method])
    return 0


def _is_meant(told: Told, method: str | None) -> bool:
    """Say whether a thing is a message of such a method, or belongs to one."""
    if method is None:
        return True
    own = getattr(told.message, "method", "")
    return method in own or (told.about is not None and method in told.about.method)
