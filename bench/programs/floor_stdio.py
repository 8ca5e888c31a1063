"""A bare loop on stdio: it reads, decodes, encodes and writes, once for each chunk.  Its argument says how.

blocking    no event loop at all
inline      an event loop, and each reply made in place
task        an event loop, and a task for each request, which begins at once where Python has that
"""

# pyright: basic

import asyncio
import os
import select
import sys

from floor_message import answer

CHUNK = 1 << 16


def write(data: bytes) -> None:
    """Write all of it, waiting where the reader is slower: nothing else is to be done meanwhile."""
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[os.write(1, rest) :]
        except BlockingIOError:
            select.select([], [1], [])


class Lines:
    """Cuts chunks into lines."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []

    def cut(self, chunk: bytes) -> list[bytes]:
        head, found, tail = chunk.rpartition(b"\n")
        if not found:
            self.parts.append(chunk)
            return []
        if self.parts:
            head = b"".join((*self.parts, head))
        self.parts = [tail] if tail else []
        return head.split(b"\n")


def blocking() -> None:
    lines = Lines()
    while chunk := os.read(0, CHUNK):
        if out := [reply for line in lines.cut(chunk) if (reply := answer(line)) is not None]:
            out.append(b"")
            write(b"\n".join(out))


async def looping(tasks: bool) -> None:  # noqa: C901 a floor is written flat
    loop, lines, ended = asyncio.get_running_loop(), Lines(), asyncio.Event()
    out: list[bytes] = []
    running: set[asyncio.Task[None]] = set()
    eager = {"eager_start": True} if sys.version_info >= (3, 12) else {}

    def flush() -> None:
        write(b"\n".join((*out, b"")))
        out.clear()

    async def tool(line: bytes) -> bytes | None:
        return answer(line)

    async def handle(line: bytes) -> None:
        if (reply := await tool(line)) is not None:
            if not out:
                loop.call_soon(flush)
            out.append(reply)

    def read() -> None:
        chunk = os.read(0, CHUNK)
        if not chunk:
            loop.remove_reader(0)
            ended.set()
            return
        if not tasks:
            out.extend(reply for line in lines.cut(chunk) if (reply := answer(line)) is not None)
            if out:
                flush()
            return
        for line in lines.cut(chunk):
            task = asyncio.Task(handle(line), loop=loop, **eager)
            if not task.done():
                running.add(task)
                task.add_done_callback(running.discard)

    loop.add_reader(0, read)
    await ended.wait()


if __name__ == "__main__":
    if sys.argv[1] == "blocking":
        blocking()
    else:
        asyncio.run(looping(sys.argv[1] == "task"))
