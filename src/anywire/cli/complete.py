"""`anywire complete`: what an argument of a prompt or a variable of a template may be."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from anywire.cli.parser import Commands, Parser

if TYPE_CHECKING:
    from anywire.cli.output import Output
    from anywire.cli.status import Status
    from anywire.client.client import Client

__all__ = ("add_parser", "run")

_DESCRIPTION = """\
Ask a server for the values of an argument that begin as typed, and print one a line. The target comes
last. name=value tells the arguments that are known already, which the server may want to know.

A name is a prompt's; what has :// or { in it is the URI template of a resource."""

_EPILOG = """examples:
  anywire complete review language py my_module:server
  anywire complete 'users://{id}' id '' -- npx -y some-server
  anywire complete travel city Lis country=Portugal --json https://host.example/mcp
"""


def add_parser(commands: Commands) -> Parser:
    """Add the parser of `anywire complete`."""
    from anywire.cli.target import TARGET_HELP, TARGET_WORDS, add_target_options

    parser = commands.add_parser(
        "complete",
        prog="anywire complete",
        help="ask a server what an argument may be",
        usage=f"anywire complete PROMPT_OR_TEMPLATE ARGUMENT VALUE [NAME=VALUE ...] [options] {TARGET_WORDS}",
        description=_DESCRIPTION,
        epilog=_EPILOG,
    )
    parser.add_argument(
        "of", metavar="PROMPT_OR_TEMPLATE", help="whose argument, such as review or 'users://{id}'"
    )
    parser.add_argument("argument", metavar="ARGUMENT", help="which argument, such as language")
    parser.add_argument("value", metavar="VALUE", help="what of it is typed already, such as py or ''")
    parser.add_argument(
        "arguments", nargs="*", metavar="NAME=VALUE", help="another argument, such as country=Portugal"
    )
    parser.add_argument("target", nargs="?", metavar="TARGET", help=TARGET_HELP)
    add_target_options(
        parser,
        "how long to wait for the server to start and for its answer",
        "the result as it came",
    )
    return parser


def run(options: argparse.Namespace) -> int:
    """Ask the target for values; return the exit code."""
    from anywire.cli.arguments import read_texts
    from anywire.cli.target import converse, split_target

    usage = "anywire complete PROMPT_OR_TEMPLATE ARGUMENT VALUE [NAME=VALUE ...]"
    known = read_texts(split_target(options, usage))

    async def work(client: Client, output: Output, status: Status) -> None:
        raw = await _ask(client, options, known)
        if options.json:
            output.document(raw)
        else:
            _show(raw, output, status)

    return converse(options, work)


async def _ask(client: Client, options: argparse.Namespace, known: dict[str, str]) -> bytes:
    from anywire.client.completing import complete_params
    from anywire.protocol.features import Feature, has

    told = known if has(Feature.COMPLETION_CONTEXT, client.revision) else None
    params = complete_params(options.of, options.argument, options.value, told)
    return await client.request("completion/complete", params)


def _show(raw: bytes, output: Output, status: Status) -> None:
    """Print the values; say when there are none, and when there are more."""
    import msgspec

    from anywire.errors import RemoteProtocolError
    from anywire.protocol.types.completion import CompleteResult
    from anywire.protocol.types.reading import read

    try:
        completion = read(raw, CompleteResult).completion
    except msgspec.MsgspecError as error:
        raise RemoteProtocolError(f"the server's completion cannot be read: {error}") from error
    values, total = completion.values, completion.total
    output.text("".join(f"{value}\n" for value in values))
    if isinstance(total, int) and total > len(values):
        status.say(f"{len(values)} of {total} values are shown")
    elif completion.has_more is True:
        status.say("there are more values than these")
    elif not values:
        status.say("there are no such values")
