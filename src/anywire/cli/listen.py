"""`anywire listen`: what a server tells without being asked."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, get_args

from anywire.cli.parser import Commands, Parser, nearest

if TYPE_CHECKING:
    from anywire.cli.output import Output
    from anywire.cli.status import Status
    from anywire.client.client import Client
    from anywire.client.event import ClientEvent
    from anywire.client.options import ClientOptions

__all__ = ("add_parser", "run")

_DESCRIPTION = """\
Print what a server tells without being asked, a line each: changed lists, changed resources, log
messages and the rest. Ends with the server, or with Ctrl-C. Over HTTP a connection that is lost is
opened again."""

_EPILOG = """examples:
  anywire listen -- npx -y some-server
  anywire listen --resource notes://today --resource notes://all my_module:server
  anywire listen --log info --json https://host.example/mcp | jq .params
"""


def add_parser(commands: Commands) -> Parser:
    """Add the parser of `anywire listen`."""
    from anywire.cli.target import TARGET_HELP, TARGET_WORDS, add_target_options

    parser = commands.add_parser(
        "listen",
        prog="anywire listen",
        help="print what a server tells",
        usage=f"anywire listen [options] {TARGET_WORDS}",
        description=_DESCRIPTION,
        epilog=_EPILOG,
    )
    parser.add_argument("target", nargs="?", metavar="TARGET", help=TARGET_HELP)
    parser.add_argument(
        "--resource",
        action="append",
        default=[],
        metavar="URI",
        help="a resource to be told of when it changes, such as --resource notes://today; may be repeated",
    )
    parser.add_argument(
        "--log",
        type=_level,
        default=None,
        metavar="LEVEL",
        help="ask for log messages of this level and above, such as --log debug, info or warning",
    )
    add_target_options(
        parser,
        "how long to wait for the server to start and to agree",
        "each notification as it came, a line of JSON each",
    )
    return parser


def run(options: argparse.Namespace) -> int:
    """Listen to the target; return the exit code."""
    from anywire.cli.target import converse

    async def work(client: Client, output: Output, status: Status) -> None:
        from anywire.errors import ProcessExited

        events = client.listen(resources=options.resource)
        if options.log is not None:
            await client.set_log_level(options.log)
        await events.open()
        status.say(f"listening to {client.server.server_info.name or 'a server without a name'}")
        # The subscriptions end with the conversation: who leaves does not wait for more.
        try:
            async for event in events:
                if options.json:
                    output.document(_json_of(event))
                else:
                    output.text(_line_of(event))
        except ProcessExited as error:
            if error.returncode != 0:
                raise

    return converse(options, work, _tell_nothing)


def _tell_nothing(status: Status, keyboard: int) -> ClientOptions:
    """Log messages are among the events."""
    return {}


def _line_of(event: ClientEvent) -> str:
    """Return an event as one line."""
    from anywire.cli.output import visible_line
    from anywire.client import event as kinds

    match event:
        case kinds.ListChanged():
            line = f"{event.which} changed"
        case kinds.ResourceUpdated():
            line = f"resource {event.uri} changed"
        case kinds.LogMessage():
            source = f" ({event.logger})" if event.logger else ""
            line = f"log {event.level}{source}: {_data(event.data)}"
        case kinds.ElicitationCompleted():
            line = f"elicitation {event.elicitation_id} completed"
        case kinds.OtherNotification():
            line = f"{event.method} {event.raw.decode('utf-8', 'replace')}"
        case kinds.EventsMissed():
            line = f"{event.count} events missed"
    return visible_line(line)


def _data(data: object) -> str:
    from anywire.wire.value import encode_value

    return data if isinstance(data, str) else encode_value(data).decode()


def _json_of(event: ClientEvent) -> bytes:
    """Return an event as one line of JSON: its method and its params as they came."""
    from anywire.client import event as kinds
    from anywire.wire.value import encode_value

    match event:
        case kinds.EventsMissed():
            return encode_value({"missed": event.count})
        case kinds.ListChanged():
            method = f"notifications/{event.which}/list_changed"
        case kinds.ResourceUpdated():
            method = "notifications/resources/updated"
        case kinds.LogMessage():
            method = "notifications/message"
        case kinds.ElicitationCompleted():
            method = "notifications/elicitation/complete"
        case kinds.OtherNotification():
            method = event.method
    # Between JSON's tokens a line break means nothing.
    params = event.raw.translate(None, b"\r\n")
    return b'{"method":%b,"params":%b}' % (encode_value(method), params)


def _level(name: str) -> str:
    """Check the name of a level.  For argparse's `type`."""
    from anywire.protocol.types.logging import LogLevel

    levels = get_args(LogLevel)
    if name not in levels:
        raise argparse.ArgumentTypeError(
            f"there is no level {name!r}{nearest(name, levels)}; levels are: {', '.join(levels)}"
        )
    return name
