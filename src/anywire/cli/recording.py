"""`--record`: what goes over a wire, written down as it goes."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from anywire.errors import ConfigError

if TYPE_CHECKING:
    from anywire.record.recorder import Recorder
    from anywire.transport.contract import Transport

__all__ = ("Taps", "add_record_options", "recording")


def add_record_options(parser: argparse.ArgumentParser, *, for_long: bool = False) -> None:
    """Add what says where the wire is recorded; `for_long`: by a command that runs for long."""
    parser.add_argument(
        "--record",
        metavar="FILE",
        help="record what goes over the wire, such as --record wire.ndjson (see anywire show)",
    )
    parser.add_argument(
        "--record-secrets",
        action="store_true",
        help="and its secrets, for example: --record F --record-secrets",
    )
    if for_long:
        parser.add_argument(
            "--record-limit",
            type=_bytes,
            metavar="BYTES",
            help="how large it becomes before it goes on anew (104857600), such as --record-limit 9000000",
        )


class Taps:
    """Puts a tap on each transport that is made, where something is recorded."""

    def __init__(self, recorder: Recorder | None) -> None:
        self._recorder = recorder

    def to_server(self, transport: Transport, server: str = "") -> Transport:
        """Return a transport to a server with its tap; `server` is its name, if not that of the wire."""
        if self._recorder is None:
            return transport
        from anywire.protocol.methods import Direction
        from anywire.record.tap import Tap

        name = server or str(getattr(transport, "name", "the server"))
        return Tap(transport, self._recorder.session(name), Direction.TO_SERVER)

    def maker(self, make: Callable[[], Transport], server: str = "") -> Callable[[], Transport]:
        """Return what makes transports to a server with their taps."""
        return make if self._recorder is None else lambda: self.to_server(make(), server)

    def hide(self, values: Iterable[str]) -> None:
        """Let none of these values be written down."""
        if self._recorder is not None:
            self._recorder.know(values)

    def hide_for_now(self, values: Iterable[str]) -> None:
        """Let none of these values be written down while they are in use: those of one client's requests."""
        if self._recorder is not None:
            self._recorder.know(values, passing=True)

    def of_server(self, server: str) -> Callable[[Transport], Transport] | None:
        """Return what puts a tap on the transport of each client of ours; None where nothing is recorded.

        Requests that stand for themselves, each on a transport of its own, are one conversation.
        """
        recorder = self._recorder
        if recorder is None:
            return None
        from anywire.protocol.methods import Direction
        from anywire.record.tap import Tap
        from anywire.transport.http_call import HttpCallTransport

        calls = None

        def tap(transport: Transport) -> Transport:
            nonlocal calls
            if isinstance(transport, HttpCallTransport):
                calls = calls or recorder.session(server)
                return Tap(transport, calls.call(), Direction.TO_CLIENT)
            return Tap(transport, recorder.session(server), Direction.TO_CLIENT)

        return tap


@contextmanager
def recording(
    options: argparse.Namespace, hidden: Iterable[str] = (), tell: Callable[[str], None] | None = None
) -> Generator[Taps]:
    """Open the recording that the options ask for, and close it at the end.

    `hidden` are secrets, besides those that the options give; `tell` hears of a recording that ends early.
    Raises `ConfigError` for a file that cannot be written.
    """
    limit = getattr(options, "record_limit", None)
    if options.record is None:
        if limit is not None or options.record_secrets:
            name = "--record-secrets" if options.record_secrets else "--record-limit"
            raise ConfigError(f"{name} says how --record records, and there is none")
        yield Taps(None)
        return
    if options.record == "-":
        raise ConfigError("--record takes a file; stdout is for the wire or for the answer")
    from anywire.record.recorder import DEFAULT_RECORD_BYTES, Recorder

    recorder = Recorder(
        options.record,
        tell=tell or _tell,
        limit=limit or DEFAULT_RECORD_BYTES,
        hidden=(*hidden, *_given(options)),
        with_secrets=options.record_secrets,
    )
    try:
        yield Taps(recorder)
    finally:
        recorder.close()


def _given(options: argparse.Namespace) -> Iterator[str]:
    """Yield the values of headers and variables that the options name: any of them may be a secret."""
    from anywire.cli.headers import headers_of
    from anywire.transport.redact import secrets_in_words, speaks_of_a_secret

    for word in getattr(options, "env", ()):
        name, equals, value = word.partition("=")
        yield value if equals else os.environ.get(name, "")
    if hasattr(options, "header_file"):
        yield from headers_of(options).values()
    yield os.environ.get(getattr(options, "token_env", None) or "", "")
    yield from secrets_in_words(options.command or ())
    if getattr(options, "inherit_env", False):
        yield from (value for name, value in os.environ.items() if speaks_of_a_secret(name))


def _tell(sentence: str) -> None:
    from anywire.cli.failure import write_stderr

    write_stderr(f"anywire: {sentence}\n".encode("utf-8", "backslashreplace"))


def _bytes(text: str) -> int:
    """Read a number of bytes.  For argparse's `type`."""
    if not (text.isascii() and text.isdigit() and 4 <= len(text) < 16):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of bytes from 1000 on, such as 10000000")
    return int(text)
