"""`anywire call`: call a tool."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from anywire.cli.parser import Commands, Parser, nearest
from anywire.errors import AnywireError, ConfigError, PeerError

if TYPE_CHECKING:
    from anywire.cli.arguments import Arguments
    from anywire.cli.output import Output
    from anywire.cli.status import Status
    from anywire.client.client import Client
    from anywire.client.options import ClientOptions
    from anywire.client.result import ToolResult

__all__ = ("add_parser", "run")

_DESCRIPTION = """\
Call a tool and print what it gives. The target comes last.
key=value is text where the tool's input schema allows text, and else the number, boolean, array or
object that the schema asks for. key:=json is JSON as it stands. Both win over the members of --input.
What the server asks a person is asked at the terminal; where there is none, it is declined."""

_EPILOG = """examples:
  anywire call shout text=hello -- python server.py
  anywire call divide dividend=1 divisor=3 my_module:server
  anywire call search query=otters 'tags:=["river", "sea"]' --json -- npx -y some-server
  anywire call search --input arguments.json --root ~/photos -- npx -y some-server
"""


def add_parser(commands: Commands) -> Parser:
    """Add the parser of `anywire call`."""
    from anywire.cli.target import TARGET_HELP, TARGET_WORDS, add_target_options

    parser = commands.add_parser(
        "call",
        prog="anywire call",
        help="call a tool of a server",
        usage=f"anywire call TOOL [KEY=VALUE | KEY:=JSON ...] [options] {TARGET_WORDS}",
        description=_DESCRIPTION,
        epilog=_EPILOG,
    )
    parser.add_argument("tool", metavar="TOOL", help="the name of the tool, such as shout")
    parser.add_argument(
        "arguments", nargs="*", metavar="KEY=VALUE", help="an argument, such as text=hello or 'tags:=[1, 2]'"
    )
    parser.add_argument("target", nargs="?", metavar="TARGET", help=TARGET_HELP)
    parser.add_argument(
        "--input",
        metavar="FILE",
        help="a file with a JSON object of arguments, such as --input arguments.json; - is stdin",
    )
    parser.add_argument(
        "--root",
        action="append",
        default=[],
        metavar="PATH",
        help="a folder that the server may work in, such as --root ~/photos; may be repeated",
    )
    add_target_options(
        parser,
        "how long to wait for the server to start, and for an answer or progress",
        "the result as the server gave it, in JSON",
    )
    return parser


def run(options: argparse.Namespace) -> int:
    """Call a tool of the target; return the exit code."""
    from anywire.cli.arguments import read_arguments
    from anywire.cli.target import converse, split_target

    words = split_target(options, "anywire call TOOL [KEY=VALUE ...]")
    arguments = read_arguments(words, _read_input(options.input))
    roots = [_root(path) for path in options.root]

    def saying(status: Status, keyboard: int) -> ClientOptions:
        from anywire.cli.asking import Asking

        elicit = Asking(status, keyboard).elicit
        return {"on_log": status.log, "on_elicit": elicit, "roots": roots or None}

    async def work(client: Client, output: Output, status: Status) -> None:
        call = _Call(client, options.tool)
        try:
            result = await call.run(arguments, status)
        except PeerError as error:
            await call.explain(error)
            raise
        await call.show(result, output, as_json=options.json)

    return converse(options, work, saying)


def _root(path: str) -> str:
    """Check a path of `--root`.  Raises `ConfigError`."""
    from pathlib import Path

    found = Path(path).expanduser()
    if not found.exists():
        raise ConfigError(f"--root: there is no {path}")
    return str(found)


def _read_input(name: str | None) -> bytes | None:
    """Read the file of `--input`.  Raises `ConfigError`."""
    import sys
    from pathlib import Path

    if name is None:
        return None
    try:
        return sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    except (OSError, AttributeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "there is none"
        raise ConfigError(f"--input {name} cannot be read: {reason}") from error


class _Call:
    """One call of one tool."""

    def __init__(self, client: Client, tool: str) -> None:
        self._client = client
        self._tool = tool
        self._names: list[str] | None = None

    async def run(self, arguments: Arguments, status: Status) -> ToolResult:
        """Call the tool; the schema is asked for when a word needs it."""
        schema = await self._schema() if arguments.typed else None
        try:
            return await self._client.call_tool(
                self._tool, arguments.against(schema), on_progress=status.progress
            )
        finally:
            status.clear()

    async def show(self, result: ToolResult, output: Output, *, as_json: bool) -> None:
        """Print a result.  Raises `ToolFailed` for one that says so."""
        from anywire.cli.content import result_text
        from anywire.cli.failure import ToolFailed

        if as_json:
            output.document(result.raw)
        if result.is_error:
            failed = ToolFailed(f"tool {self._tool!r} failed: {result_text(result)}")
            await self.explain(failed)
            raise failed
        if not as_json:
            output.text(result_text(result))

    async def explain(self, error: AnywireError) -> None:
        """Note with an error that there is no such tool, and which may be meant."""
        try:
            if self._names is None:
                await self._schema()
        except AnywireError:
            return  # the server's first error is the one that counts
        if self._names and self._tool not in self._names:
            error.add_note(f"the server lists no tool {self._tool!r}{nearest(self._tool, self._names)}")

    async def _schema(self) -> object:
        from anywire.cli.offers import TOOL_OFFER, find, list_offers

        tool, self._names = find(TOOL_OFFER, await list_offers(self._client, TOOL_OFFER), self._tool)
        return None if tool is None else tool.get("inputSchema")
