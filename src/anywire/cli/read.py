"""`anywire read`: read a resource."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from anywire.cli.parser import Commands, Parser

if TYPE_CHECKING:
    from anywire.cli.output import Output
    from anywire.cli.status import Status
    from anywire.client.client import Client
    from anywire.client.result import ResourceResult

__all__ = ("add_parser", "run")

_DESCRIPTION = """\
Read a resource and print what it holds.

Text is printed as it is. What is not text goes byte for byte into a file or a pipe; a terminal is told
of what type it is, and how large. Of several parts a terminal shows each below its URI."""

_EPILOG = """examples:
  anywire read notes://today my_module:server
  anywire read file:///srv/logo.png -- npx -y some-server > logo.png
  anywire read users://7 --json https://host.example/mcp | jq '.contents[].mimeType'
"""


def add_parser(commands: Commands) -> Parser:
    """Add the parser of `anywire read`."""
    from anywire.cli.target import TARGET_HELP, TARGET_WORDS, add_target_options

    parser = commands.add_parser(
        "read",
        prog="anywire read",
        help="read a resource of a server",
        usage=f"anywire read URI [options] {TARGET_WORDS}",
        description=_DESCRIPTION,
        epilog=_EPILOG,
    )
    parser.add_argument(
        "uri", metavar="URI", help="the resource, listed or of a template, such as notes://today"
    )
    parser.add_argument("target", nargs="?", metavar="TARGET", help=TARGET_HELP)
    add_target_options(
        parser,
        "how long to wait for the server to start and for its answer",
        "the result as it came",
    )
    return parser


def run(options: argparse.Namespace) -> int:
    """Read a resource of the target; return the exit code."""
    from anywire.cli.target import converse

    async def work(client: Client, output: Output, status: Status) -> None:
        from anywire.cli.offers import RESOURCE_OFFER, note_unknown
        from anywire.errors import PeerError

        try:
            result = await client.read_resource(options.uri, on_progress=status.progress)
        except PeerError as error:
            await note_unknown(client, error, RESOURCE_OFFER, options.uri)
            raise
        finally:
            status.clear()
        if options.json:
            output.document(result.raw)
        elif output.is_terminal:
            _show(output, result)
        else:
            output.document(_bytes_of(result), end=b"")

    return converse(options, work)


def _bytes_of(result: ResourceResult) -> bytes:
    """Return what the resource holds, one part behind the other, each text of several on lines of its own.

    Raises `RemoteProtocolError` for what is neither text nor base64.
    """
    from anywire.errors import RemoteProtocolError
    from anywire.protocol.types.resources import TextResourceContents

    parts: list[bytes] = []
    try:
        for part in result.contents:
            if not isinstance(part, TextResourceContents):
                parts.append(part.data)
                continue
            text = part.text.encode("utf-8", "backslashreplace")
            whole = part is result.contents[-1] or text.endswith(b"\n")
            parts.append(text if whole else text + b"\n")
    except ValueError as error:
        raise RemoteProtocolError(f"what the server gave is not base64: {error}") from error
    return b"".join(parts)


def _show(output: Output, result: ResourceResult) -> None:
    """Show a person what the resource holds."""
    import msgspec

    from anywire.cli.content import resource_text
    from anywire.protocol.types.resources import TextResourceContents

    first = result.contents[0] if len(result.contents) == 1 else None
    if isinstance(first, TextResourceContents):
        output.text(first.text)
    else:
        output.text("\n".join(resource_text(msgspec.to_builtins(part)) for part in result.contents))
