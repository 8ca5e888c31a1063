"""`anywire get`: get the messages of a prompt."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from anywire.cli.parser import Commands, Parser

if TYPE_CHECKING:
    from anywire.cli.output import Output
    from anywire.cli.status import Status
    from anywire.client.client import Client

__all__ = ("add_parser", "run")

_DESCRIPTION = """\
Get a prompt and print its messages. The target comes last.

A single message of the user's is printed as it is, for a pipe into a model; else each message stands
below the role of who says it. What is not text stands in brackets."""

_EPILOG = """examples:
  anywire get review language=python my_module:server
  anywire get summary topic=otters style='short and dry' -- npx -y some-server
  anywire get review --json language=rust https://host.example/mcp | jq '.messages[].role'
"""


def add_parser(commands: Commands) -> Parser:
    """Add the parser of `anywire get`."""
    from anywire.cli.target import TARGET_HELP, TARGET_WORDS, add_target_options

    parser = commands.add_parser(
        "get",
        prog="anywire get",
        help="get a prompt of a server",
        usage=f"anywire get PROMPT [NAME=VALUE ...] [options] {TARGET_WORDS}",
        description=_DESCRIPTION,
        epilog=_EPILOG,
    )
    parser.add_argument("prompt", metavar="PROMPT", help="the name of the prompt, such as review")
    parser.add_argument(
        "arguments", nargs="*", metavar="NAME=VALUE", help="an argument, a text, such as language=python"
    )
    parser.add_argument("target", nargs="?", metavar="TARGET", help=TARGET_HELP)
    add_target_options(
        parser,
        "how long to wait for the server to start and for its answer",
        "the result as it came",
    )
    return parser


def run(options: argparse.Namespace) -> int:
    """Get a prompt of the target; return the exit code."""
    from anywire.cli.arguments import read_texts
    from anywire.cli.target import converse, split_target

    arguments = read_texts(split_target(options, "anywire get PROMPT [NAME=VALUE ...]"))

    async def work(client: Client, output: Output, status: Status) -> None:
        from anywire.cli.offers import PROMPT_OFFER, note_unknown
        from anywire.errors import PeerError

        try:
            result = await client.get_prompt(options.prompt, arguments, on_progress=status.progress)
        except PeerError as error:
            await note_unknown(client, error, PROMPT_OFFER, options.prompt)
            raise
        finally:
            status.clear()
        if options.json:
            output.document(result.raw)
        else:
            output.text(_text_of(result.raw))

    return converse(options, work)


def _text_of(raw: bytes) -> str:
    """Return the messages of a result as text."""
    from anywire.cli.content import block_text
    from anywire.cli.plain import items_of, members_of
    from anywire.wire.value import decode_value

    messages = [members_of(each) for each in items_of(decode_value(raw, dict[str, Any]).get("messages"))]
    texts = [(str(each.get("role")), block_text(members_of(each.get("content")))) for each in messages]
    if len(texts) == 1 and texts[0][0] == "user":
        return texts[0][1]
    return "\n\n".join(f"[{role}]\n{text}" for role, text in texts)
