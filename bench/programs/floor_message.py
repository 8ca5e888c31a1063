"""The least that answers correctly: the envelope is decoded, the arguments are, and the reply is encoded."""

# pyright: basic

import msgspec
from msgspec import Raw, Struct

MODERN = b"io.modelcontextprotocol/protocolVersion"
INITIALIZED = (
    b'{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},'
    b'"serverInfo":{"name":"floor","version":"1"}}'
)
DISCOVERED = (
    b'{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},'
    b'"serverInfo":{"name":"floor","version":"1"},"ttlMs":0,"cacheScope":"private"}'
)
TOOLS = (
    b'{"resultType":"complete","tools":[{"name":"echo","inputSchema":{"type":"object","properties":{"text":'
    b'{"type":"string"}},"required":["text"]}}],"ttlMs":60000,"cacheScope":"private"}'
)


class Envelope(Struct):
    method: str = ""
    id: Raw = Raw(b"")
    params: Raw = Raw(b"{}")


class Call(Struct):
    name: str
    arguments: Raw


class Echo(Struct):
    text: str


class Length(Struct):
    length: int


class Text(Struct, tag_field="type", tag="text"):
    text: str


class Result(Struct):
    content: list[Text]
    resultType: str = "complete"  # noqa: N815 as it stands on the wire


decode = msgspec.json.Decoder(Envelope).decode
decode_call = msgspec.json.Decoder(Call).decode
decode_echo = msgspec.json.Decoder(Echo).decode
decode_length = msgspec.json.Decoder(Length).decode
encode = msgspec.json.Encoder().encode
texts: dict[int, str] = {}


def tool(params: Raw) -> bytes:
    call = decode_call(params)
    if call.name == "echo":
        return encode(Result([Text(decode_echo(call.arguments).text)]))
    length = decode_length(call.arguments).length
    return encode(Result([Text(texts.setdefault(length, "x" * length))]))


def answer(line: bytes | memoryview) -> bytes | None:
    """The reply to a request; None to whatever is none."""
    message = decode(line)
    if not message.id:
        return None
    match message.method:
        case "tools/call":
            result = tool(message.params)
        case "initialize":
            result = INITIALIZED
        case "server/discover":
            result = DISCOVERED
        case "tools/list":
            result = TOOLS
        case "ping":
            result = b"{}"
        case _:
            error = b'{"code":-32601,"message":"Method not found"}'
            return b'{"jsonrpc":"2.0","id":%b,"error":%b}' % (bytes(message.id), error)
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (bytes(message.id), result)
