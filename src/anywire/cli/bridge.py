"""`anywire bridge`: offer one wire, call another."""

from __future__ import annotations

import argparse
import os
import sys

from anywire.bridge.endpoint import child_environment, face_framing, target_framing
from anywire.bridge.relay import Relay
from anywire.errors import ConfigError
from anywire.transport.process import Command
from anywire.transport.run_process import run_process
from anywire.transport.stdio_client import StdioClientTransport
from anywire.transport.stdio_server import StdioListener
from anywire.wire.limits import DEFAULT_LIMITS

__all__ = ("bridge",)


def bridge(options: argparse.Namespace, command: list[str] | None) -> int:
    """Run the bridge that the options describe until one of its ends leaves; return the exit code."""
    face = face_framing(options.face)
    target = target_framing(options.target_framing)
    if not command:
        raise ConfigError("say what to call: anywire bridge FACE -- COMMAND [ARGUMENT ...]")
    child = Command(
        tuple(command), child_environment(options.env, os.environ), options.cwd, options.inherit_env
    )

    async def run() -> None:
        # Claimed here, so that a bridge which cannot even start leaves stdio alone.
        listener = StdioListener(framing=face)
        server = StdioClientTransport(child, framing=target, on_stderr=_pass_on)
        await Relay(listener.open(), server, _report).run()

    run_process(run, DEFAULT_LIMITS)
    return 0


def _pass_on(line: bytes) -> None:
    """Write a line of the server's stderr on ours, as it came."""
    sys.stderr.buffer.write(line + b"\n")
    sys.stderr.buffer.flush()


def _report(sentence: str) -> None:
    print(f"anywire: {sentence}", file=sys.stderr)
