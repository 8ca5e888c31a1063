"""A control channel to a program that is started: that of a coding agent, or one with servers in it."""

from __future__ import annotations

from anywire.errors import AnywireError
from anywire.transport.attempt import Attempt
from anywire.transport.control.channel import Lines
from anywire.transport.process import ChildProcess
from anywire.transport.stdio_client import StdioClientTransport

__all__ = ("ChildChannel",)


class ChildChannel(Lines, StdioClientTransport):
    """The stdin and stdout of a child, which is owned to its end.

    When it leaves by itself, `on_close` gets a `ProcessExited` with its exit code and last words.
    """

    def receive(self, chunk: bytes) -> None:
        """Take output of the child."""
        self._deliver(self._framer.feed(chunk))

    def _why_it_ended(self, attempt: Attempt, child: ChildProcess) -> AnywireError:
        return child.exit_error()
