"""A quick server for HTTP clients to call: `floor_http.py PORT json|stream`.

Of the head of a request it reads no more than its length.
"""

# pyright: basic, reportMissingImports=false

import asyncio
import sys
from typing import cast

from floor_message import answer

STREAM = sys.argv[2] == "stream"
KIND = b"text/event-stream" if STREAM else b"application/json"
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: " + KIND + b"\r\ncontent-length: %d\r\n\r\n%b"
ACCEPTED = b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n"
NOT_ALLOWED = b"HTTP/1.1 405 Method Not Allowed\r\ncontent-length: 0\r\n\r\n"


class Connection(asyncio.Protocol):
    def __init__(self) -> None:
        self.buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self.buffer = self.buffer + data if self.buffer else data
        while self.buffer:
            end = self.buffer.find(b"\r\n\r\n")
            if end < 0:
                return
            length, found = 0, self.buffer[:end].lower().partition(b"content-length:")[2]
            if found:
                length = int(found.split(b"\r\n", 1)[0])
            if len(self.buffer) < end + 4 + length:
                return
            posted = self.buffer.startswith(b"POST")
            body, self.buffer = self.buffer[end + 4 : end + 4 + length], self.buffer[end + 4 + length :]
            reply = answer(body) if body else None
            if reply is not None:
                if STREAM:
                    reply = b"event: message\ndata: %b\n\n" % reply
                self.transport.write(HEAD % (len(reply), reply))
            else:
                self.transport.write(ACCEPTED if posted else NOT_ALLOWED)


async def main() -> None:
    server = await asyncio.get_running_loop().create_server(Connection, "127.0.0.1", int(sys.argv[1]))
    await server.serve_forever()


try:
    import uvloop
except ImportError:
    asyncio.run(main())
else:
    uvloop.run(main())
