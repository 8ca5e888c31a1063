"""The least that calls a server on stdio: `floor_stdio_client.py COMMAND ERA SECONDS`.

A future for each call, one write for each turn of the loop.
"""

# pyright: basic

import asyncio

import msgspec
from client_load import COMMAND, TEXT, measure

LINE = b'{"jsonrpc":"2.0","id":%d,"method":"%b","params":%b}\n'
PARAMS = {"name": "echo", "arguments": {"text": TEXT}}
INITIALIZE = b'{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"floor","version":"1"}}'


class Text(msgspec.Struct, tag_field="type", tag="text"):
    text: str


class Result(msgspec.Struct):
    content: list[Text]


class Reply(msgspec.Struct):
    id: int
    result: msgspec.Raw


class Wire(asyncio.SubprocessProtocol):
    writer: asyncio.WriteTransport

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.waiting: dict[int, asyncio.Future[msgspec.Raw]] = {}
        self.last, self.tail, self.out = 0, b"", []
        self.decode = msgspec.json.Decoder(Reply).decode

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        *lines, self.tail = (self.tail + data).split(b"\n")
        for line in lines:
            reply = self.decode(line)
            self.waiting.pop(reply.id).set_result(reply.result)

    def ask(self, method: bytes, params: bytes) -> asyncio.Future[msgspec.Raw]:
        self.last += 1
        if not self.out:
            self.loop.call_soon(self.flush)
        self.out.append(LINE % (self.last, method, params))
        future = self.waiting[self.last] = self.loop.create_future()
        return future

    def flush(self) -> None:
        self.writer.write(b"".join(self.out))
        self.out.clear()


async def main() -> None:
    transport, wire = await asyncio.get_running_loop().subprocess_exec(Wire, *COMMAND, stderr=None)
    writer = transport.get_pipe_transport(0)
    assert isinstance(writer, asyncio.WriteTransport)
    wire.writer = writer
    encode, decode = msgspec.json.Encoder().encode, msgspec.json.Decoder(Result).decode
    await wire.ask(b"initialize", INITIALIZE)

    async def call() -> None:
        result = decode(await wire.ask(b"tools/call", encode(PARAMS)))
        assert result.content[0].text == TEXT

    await measure(call)
    transport.close()


asyncio.run(main())
