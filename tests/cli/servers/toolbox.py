"""A server with a tool for each way in which a call can go."""

from __future__ import annotations

import sys
import time

from tests.cli.servers.healthy import Healthy, Json

PICTURE = "aGVsbG8sIHdvcmxkIQ=="  # 13 bytes
STRUCTURED = '{"celsius": 21.50, "big": 123456789012345678901234567890, "wind": {"from": "SW"}}'

TOOLS: list[Json] = [
    {
        "name": "show",
        "description": "Show the arguments.\n\nAs they came.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "text": {"type": "string"},
                "count": {"type": "integer"},
                "share": {"type": "number"},
                "loud": {"type": "boolean"},
                "tags": {"type": "array", "items": {}},
                "extra": {"type": "object"},
            },
            "required": ["text"],
        },
    },
    {"name": "fail", "description": "Fail.", "inputSchema": {"type": "object"}},
    {"name": "picture", "description": "Give a picture.", "inputSchema": {"type": "object"}},
    {"name": "weather", "description": "Give structured content.", "inputSchema": {"type": "object"}},
    {"name": "steps", "description": "Report progress and log.", "inputSchema": {"type": "object"}},
    {"name": "wait", "description": "Never end.", "inputSchema": {"type": "object"}},
    {"name": "crash", "description": "End the server.", "inputSchema": {"type": "object"}},
]


class Toolbox(Healthy):
    def __init__(self) -> None:
        super().__init__()
        self.tools = TOOLS
        print("the toolbox is open", file=sys.stderr, flush=True)

    def receive(self, line: bytes) -> None:
        self.line = line.decode().strip()
        super().receive(line)

    def request(self, message: Json) -> None:
        if message["method"] == "tools/call" and message["params"]["name"] == "weather":
            # By hand, for the spelling of its numbers.
            result = f'{{"content": [{{"type": "text", "text": "21.5 degrees"}}], "structuredContent": {STRUCTURED}}}'
            reply = f'{{"jsonrpc": "2.0", "id": {message["id"]}, "result": {result}}}\n'
            self.write_bytes(reply.encode())
        else:
            super().request(message)

    def answer(self, method: str, params: Json) -> Json:
        if method != "tools/call":
            return super().answer(method, params)
        match params["name"]:
            case "show":
                return self.text(self.line.partition('"arguments":')[2])
            case "fail":
                return {"result": {"content": [{"type": "text", "text": "out of paper"}], "isError": True}}
            case "picture":
                blocks = [
                    {"type": "text", "text": "a picture:"},
                    {"type": "image", "mimeType": "image/png", "data": PICTURE},
                ]
                return {"result": {"content": blocks}}
            case "steps":
                return self.steps(params["_meta"]["progressToken"])
            case "wait":
                self.progress(params["_meta"]["progressToken"], 1, "waiting")
                time.sleep(600)
                return self.text("done")
            case "crash":
                sys.exit("the toolbox fell down")
            case name:
                return {"error": {"code": -32602, "message": f"no tool {name}", "data": {"tool": name}}}

    def text(self, text: str) -> Json:
        return {"result": {"content": [{"type": "text", "text": text}]}}

    def steps(self, token: object) -> Json:
        self.progress(token, 1, "first")
        params = {"level": "warning", "logger": "box", "data": "a screw is loose"}
        self.write({"jsonrpc": "2.0", "method": "notifications/message", "params": params})
        self.progress(token, 2, None)
        return self.text("done")

    def progress(self, token: object, progress: int, message: str | None) -> None:
        params = {"progressToken": token, "progress": progress, "total": 2, "message": message}
        told = {name: value for name, value in params.items() if value is not None}
        self.write({"jsonrpc": "2.0", "method": "notifications/progress", "params": told})


if __name__ == "__main__":
    Toolbox().run()
