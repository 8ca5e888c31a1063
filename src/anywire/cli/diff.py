"""`anywire diff`: where two recordings differ."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from anywire.cli.options import add_json
from anywire.cli.parser import Commands, Parser
from anywire.cli.recorded import RECORDING_HELP, add_choice, read_scores, refuse_command

if TYPE_CHECKING:
    from anywire.record.differing import Finding

__all__ = ("add_parser", "run")

_DESCRIPTION = """\
Compare two recordings that --record made, conversation by conversation: the requests, their answers and
what was said meanwhile. Ids, progress tokens and times do not count, and what was left out as a secret
is equal to anything. The exit code is 0 where they say the same, 1 where they do not."""

_EPILOG = """examples:
  anywire diff before.ndjson after.ndjson
  anywire diff --session 1 before.ndjson after.ndjson
  anywire diff --json before.ndjson after.ndjson | jq -r .what
"""


def add_parser(commands: Commands) -> Parser:
    """Add the parser of `anywire diff`."""
    parser = commands.add_parser(
        "diff",
        prog="anywire diff",
        help="compare two recorded conversations",
        usage="anywire diff [options] FILE FILE",
        description=_DESCRIPTION,
        epilog=_EPILOG,
    )
    parser.add_argument("first", metavar="FILE", help=RECORDING_HELP)
    parser.add_argument("second", metavar="FILE", help="another, such as after.ndjson")
    add_choice(parser)
    add_json(parser, "a line for each difference")
    return parser


def run(options: argparse.Namespace) -> int:
    """Print the differences; return the exit code."""
    from anywire.cli.output import Output, visible_line
    from anywire.record.differing import compare
    from anywire.wire.value import encode_value

    refuse_command(options, "diff")
    output, code = Output(), 0
    for finding in compare(read_scores(options.first, options), read_scores(options.second, options)):
        code = 1
        if options.json:
            output.document(encode_value(finding))
        else:
            output.text(visible_line(_sentence(finding, options.first, options.second)))
    return code


def _sentence(finding: Finding, first: str, second: str) -> str:
    lines = (first, finding.first), (second, finding.second)
    places = [f"{name}:{line}" for name, line in lines if line is not None]
    return f"session {finding.session}: {finding.what}" + (f" ({', '.join(places)})" if places else "")
