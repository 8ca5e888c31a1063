"""A bare pump of bytes between our stdio and a child's: `floor_pump.py COMMAND…`.

It is the least that a bridge on asyncio can do.
"""

# pyright: basic

import asyncio
import sys


class Pump(asyncio.Protocol):
    def __init__(self, to) -> None:
        self.to = to

    def data_received(self, data: bytes) -> None:
        self.to.write(data)

    def eof_received(self) -> None:
        self.to.close()


class Child(asyncio.SubprocessProtocol):
    def __init__(self, out, ended) -> None:
        self.out, self.ended = out, ended

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self.out.write(data)

    def process_exited(self) -> None:
        self.ended.set()


async def main() -> None:
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    out, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, sys.stdout)
    child, _ = await loop.subprocess_exec(lambda: Child(out, ended), *sys.argv[1:], stderr=None)
    await loop.connect_read_pipe(lambda: Pump(child.get_pipe_transport(0)), sys.stdin)
    await ended.wait()
    child.close()


asyncio.run(main())
