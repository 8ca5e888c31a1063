"""Servers on stdio, one fault each: `python -m tests.doctor.broken.lines FAULT`."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from typing import BinaryIO

from tests.doctor.broken.speak import ADD, PARSE_ERROR, Json, answer

Write = Callable[[Json], None]


def flushed(message: Json) -> None:
    """One message, one line."""
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def serve(reply: Callable[[Json], Json | None], write: Write = flushed, read: BinaryIO | None = None) -> None:
    """Answer each line until there are no more."""
    for line in read or sys.stdin.buffer:
        try:
            message = json.loads(line)
        except ValueError:
            write(PARSE_ERROR)
            continue
        told = reply(message)
        if told is not None:
            write(told)


def plain(message: Json) -> Json | None:
    """Nothing is wrong with this."""
    return answer(message, [ADD])


def plain_server() -> None:
    """Nothing is wrong."""
    serve(plain)


def banner() -> None:
    """Prints that it is ready, and what it does."""

    def logged(message: Json) -> Json | None:
        print("[db] connected", flush=True)
        return plain(message)

    print("✓ Weather server is running on stdio", flush=True)
    serve(logged)


def block_buffer() -> None:
    """Prints as a program does that never heard of pipes."""
    serve(plain, lambda message: print(json.dumps(message)))


def content_length() -> None:
    """Frames its messages as servers of editors do."""
    while head := sys.stdin.buffer.readline():
        if not head.lower().startswith(b"content-length:"):
            continue
        sys.stdin.buffer.readline()
        body = sys.stdin.buffer.read(int(head.split(b":")[1]))
        try:
            told = plain(json.loads(body))
        except ValueError:
            told = PARSE_ERROR
        if told is not None:
            text = json.dumps(told).encode()
            sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n%b" % (len(text), text))
            sys.stdout.buffer.flush()


def no_key() -> None:
    """Wants a key, and says so where nobody looks."""
    sys.exit("Error: the variable API_KEY is not set")


def wrong_door() -> None:
    """Writes its answers where its log belongs."""
    serve(plain, lambda message: print(json.dumps(message), file=sys.stderr, flush=True))


def pretty() -> None:
    """Writes for people to read."""
    serve(plain, lambda message: print(json.dumps(message, indent=2), flush=True))


def text_ids() -> None:
    """Makes a text of every id."""

    def told(message: Json) -> Json | None:
        reply = plain(message)
        return (
            {**reply, "id": str(reply["id"])} if reply is not None and message["method"] == "ping" else reply
        )

    serve(told)


def union() -> None:
    """Takes one of two kinds of arguments."""
    either = {"anyOf": [{"required": ["celsius"]}, {"required": ["fahrenheit"]}]}
    tool = {**ADD, "inputSchema": {"type": "object", **either}}
    serve(lambda message: answer(message, [tool]))


def nothing_in_list() -> None:
    """Has lost the schema of what is in a list."""
    schema = {"type": "object", "properties": {"numbers": {"type": "array", "items": None}}}
    serve(lambda message: answer(message, [{**ADD, "inputSchema": schema}]))


def no_handshake() -> None:
    """Serves the stateless era, and does not say so when asked."""

    def told(message: Json) -> Json | None:
        if "id" not in message:
            return None
        meta = message.get("params", {}).get("_meta", {})
        version = meta.get("io.modelcontextprotocol/protocolVersion")
        reply: Json = {"jsonrpc": "2.0", "id": message["id"]}
        if version != "2026-07-28":
            data = {"supported": ["2026-07-28"], "requested": str(version)}
            return {**reply, "error": {"code": -32022, "message": "Unsupported version", "data": data}}
        if "io.modelcontextprotocol/clientCapabilities" not in meta:
            return {**reply, "error": {"code": -32602, "message": "Invalid params"}}
        if message["method"] != "tools/list":
            return {**reply, "error": {"code": -32601, "message": "Method not found"}}
        result = {"tools": [ADD], "resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
        return {**reply, "result": result}

    serve(told)


def only_its_own() -> None:
    """Refuses whoever is newer than itself."""

    def told(message: Json) -> Json | None:
        if message.get("method") == "initialize" and message["params"]["protocolVersion"] == "2025-11-25":
            error = {"code": -32602, "message": "Unsupported protocol version"}
            return {"jsonrpc": "2.0", "id": message["id"], "error": error}
        return plain(message)

    serve(told)


def short_lines() -> None:
    """Reads as much at once as its library does by default."""
    limit = 64 * 1024

    def told(message: Json) -> Json | None:
        if len(json.dumps(message)) > limit:
            os._exit(1)
        return plain(message)

    serve(told)


def stays() -> None:
    """Does not see that its client has gone."""
    serve(plain)
    signal.pause()


if __name__ == "__main__":
    globals()[sys.argv[1]]()
