"""Write down what a client sends, and leave it as it is.

`tap.py LOG -- COMMAND…` becomes COMMAND, whose stdin comes by way of LOG: the client has the very process
it asked for. `tap.py LOG PORT TO` passes on to the port TO what arrives at PORT, with a log for each
connection. What was passed on is in the log.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import sys
from collections.abc import Callable
from pathlib import Path


def tap_stdin(log: str, command: list[str]) -> None:
    """Let a child read the stdin, and become the command that reads what it passes on."""
    outlet, inlet = os.pipe()
    if os.fork():
        os.dup2(outlet, 0)
        os.close(outlet)
        os.close(inlet)
        os.execvp(command[0], command)
    os.close(outlet)
    os.dup2(2, 1)
    with Path(log).open("ab", buffering=0) as written, contextlib.suppress(BrokenPipeError):
        while data := os.read(0, 65536):
            written.write(data)
            os.write(inlet, data)


async def tap_port(log: str, port: int, to: int) -> None:
    """Relay each connection, for ever; the first one's log is LOG.0."""
    numbers = itertools.count()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        onward_reader, onward_writer = await asyncio.open_connection("127.0.0.1", to)
        with Path(f"{log}.{next(numbers)}").open("ab", buffering=0) as written:
            await asyncio.gather(
                pump(reader, onward_writer, written.write), pump(onward_reader, writer, lambda data: None)
            )

    async with await asyncio.start_server(connected, "127.0.0.1", port) as listening:
        await listening.serve_forever()


async def pump(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, note: Callable[[bytes], object]
) -> None:
    """Pass on what comes, to its end, each piece after it was noted."""
    with contextlib.suppress(ConnectionError):
        while data := await reader.read(65536):
            note(data)
            writer.write(data)
            await writer.drain()
    writer.close()


if __name__ == "__main__":
    if sys.argv[2] == "--":
        tap_stdin(sys.argv[1], sys.argv[3:])
    else:
        asyncio.run(tap_port(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
