"""`anywire bridge`: offer one wire, call another."""

from __future__ import annotations

import argparse

from anywire.cli.options import add_child_options
from anywire.cli.parser import Commands, Parser
from anywire.errors import ConfigError

__all__ = ("add_parser", "run")

_EPILOG = """examples:
  anywire bridge stdio+headers -- npx -y some-server
  anywire bridge stdio --target-framing headers -- ./server
  anywire bridge stdio --env API_KEY --cwd ../project -- python server.py
"""


def add_parser(commands: Commands) -> Parser:
    """Add the parser of `anywire bridge`."""
    parser = commands.add_parser(
        "bridge",
        prog="anywire bridge",
        help="offer one wire, call another",
        usage="anywire bridge FACE [options] -- COMMAND [ARGUMENT ...]",
        description="Offer FACE on this process's stdin and stdout and relay every message to COMMAND and "
        "back. The command gets a small environment (PATH, HOME, language); see --env.",
        epilog=_EPILOG,
    )
    parser.add_argument("face", metavar="FACE", help="what is offered: stdio or stdio+headers")
    parser.add_argument(
        "--target-framing",
        default="newline",
        metavar="FRAMING",
        help="how the command frames its messages: newline (default) or headers, "
        "such as --target-framing headers",
    )
    add_child_options(parser, with_framing=False)
    return parser


def run(options: argparse.Namespace) -> int:
    """Run the bridge that the options describe until one of its ends leaves; return the exit code."""
    import os

    from anywire.bridge.endpoint import child_environment, face_framing, target_framing
    from anywire.bridge.relay import Relay
    from anywire.cli.failure import write_stderr
    from anywire.transport.process import Command
    from anywire.transport.run_process import run_process
    from anywire.transport.stdio_client import StdioClientTransport
    from anywire.transport.stdio_server import StdioListener
    from anywire.wire.limits import DEFAULT_LIMITS

    face = face_framing(options.face)
    target = target_framing(options.target_framing)
    if not options.command:
        raise ConfigError("say what to call: anywire bridge FACE -- COMMAND [ARGUMENT ...]")
    child = Command(
        tuple(options.command),
        child_environment(options.env, os.environ),
        options.cwd,
        options.inherit_env,
    )

    def pass_on(line: bytes) -> None:
        write_stderr(line + b"\n")

    def report(sentence: str) -> None:
        write_stderr(f"anywire: {sentence}\n".encode("utf-8", "backslashreplace"))

    async def relay() -> None:
        # Claimed here, so that a bridge which cannot even start leaves stdio alone.
        listener = StdioListener(framing=face)
        server = StdioClientTransport(child, framing=target, on_stderr=pass_on)
        await Relay(listener.open(), server, report).run()

    run_process(relay, DEFAULT_LIMITS)
    return 0
