"""A model on HTTP that knows its moves: `fake_model.py PORT LOG TOOL ARGUMENTS [TOOL ARGUMENTS]...`.

It speaks the Messages API as far as a coding agent needs it. Asked with the next TOOL on offer it calls it
with its ARGUMENTS, which are JSON; when it has the results of all it is content and ends the turn. Each
request is a JSON line in LOG. Whoever takes it for a proxy to somewhere else is written down and refused.
"""

from __future__ import annotations

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

port, log, *words = sys.argv[1:]
moves = list(zip(words[::2], words[1::2], strict=True))
writing = threading.Lock()


def answer(asked: dict[str, Any]) -> dict[str, Any]:
    """The one content block that answers a request."""
    blocks = [
        block for each in asked["messages"] if isinstance(each["content"], list) for block in each["content"]
    ]
    done = sum(block["type"] == "tool_result" for block in blocks)
    if done >= len(moves):
        return {"type": "text", "text": "The tool has answered."}
    tool, arguments = moves[done]
    if any(offered["name"] == tool for offered in asked.get("tools", ())):
        return {"type": "tool_use", "id": f"toolu_{done + 1}", "name": tool, "input": json.loads(arguments)}
    return {"type": "text", "text": f"I was not offered {tool}."}


def streamed(block: dict[str, Any], message: dict[str, Any]) -> bytes:
    """The same answer as the events that bring it piece by piece."""
    if block["type"] == "text":
        empty: dict[str, Any] = {**block, "text": ""}
        delta = {"type": "text_delta", "text": block["text"]}
    else:
        empty = {**block, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    stopped = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    begun: dict[str, Any] = {**message, "content": [], "stop_reason": None}
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": begun},
        {"type": "content_block_start", "index": 0, "content_block": empty},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": stopped, "usage": {"output_tokens": 1}},
        {"type": "message_stop"},
    ]
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events).encode()


class Model(BaseHTTPRequestHandler):
    """One request at a time on each connection."""

    protocol_version = "HTTP/1.1"

    def note(self, body: object = None) -> None:
        line = json.dumps({"method": self.command, "path": self.path, "body": body})
        with writing, Path(log).open("a", encoding="utf-8") as lines:
            lines.write(f"{line}\n")

    def reply(self, status: int, content_type: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_POST(self) -> None:
        asked: dict[str, Any] = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.note(asked)
        if self.path.partition("?")[0] != "/v1/messages":
            self.reply(404, "application/json", b"{}")
            return
        block = answer(asked)
        message: dict[str, Any] = {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": asked["model"],
            "content": [block],
            "stop_reason": "tool_use" if block["type"] == "tool_use" else "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }
        if asked.get("stream"):
            self.reply(200, "text/event-stream", streamed(block, message))
        else:
            self.reply(200, "application/json", json.dumps(message).encode())

    def do_GET(self) -> None:
        self.note()
        self.reply(404, "application/json", b"{}")

    def do_CONNECT(self) -> None:
        self.note()
        self.close_connection = True
        self.reply(403, "text/plain", b"")

    def do_HEAD(self) -> None:
        self.do_GET()

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: the log is LOG."""


ThreadingHTTPServer(("127.0.0.1", int(port)), Model).serve_forever()
