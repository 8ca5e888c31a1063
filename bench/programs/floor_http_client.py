"""Bare aiohttp as a client, with the JSON that a call takes: `floor_http_client.py URL ERA SECONDS`."""

# pyright: basic

import asyncio
import itertools

import aiohttp
import msgspec
from client_load import ERA, REVISION, TARGET, TEXT, measure

HEADERS = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
META = {
    "io.modelcontextprotocol/protocolVersion": REVISION,
    "io.modelcontextprotocol/clientInfo": {"name": "floor", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


class Text(msgspec.Struct, tag_field="type", tag="text"):
    text: str


class Result(msgspec.Struct):
    content: list[Text]


class Reply(msgspec.Struct):
    id: int
    result: Result


async def main() -> None:
    encode, decode = msgspec.json.Encoder().encode, msgspec.json.Decoder(Reply).decode
    ids, params = itertools.count(1), {"name": "echo", "arguments": {"text": TEXT}}
    headers = HEADERS | {"mcp-protocol-version": "2025-11-25"}
    if ERA == "modern":
        headers |= {"mcp-protocol-version": REVISION, "mcp-method": "tools/call", "mcp-name": "echo"}
        params |= {"_meta": META}
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

        async def call() -> None:
            body = encode({"jsonrpc": "2.0", "id": next(ids), "method": "tools/call", "params": params})
            async with session.post(TARGET, data=body, headers=headers) as response:
                read = await response.read()
            reply = decode(read if read.startswith(b"{") else read.partition(b"data: ")[2])
            assert reply.result.content[0].text == TEXT

        await measure(call)


asyncio.run(main())
