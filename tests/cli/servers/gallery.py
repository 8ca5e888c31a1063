"""A server with something of every kind, and one that asks and tells."""

from __future__ import annotations

import sys

from tests.cli.servers.healthy import Healthy, Json

PNG = "iVBORw0KGgowMTI="  # 11 bytes
RESOURCES: list[Json] = [
    {"uri": "notes://today", "name": "today", "mimeType": "text/plain", "description": "Today.\nAll day."},
    {"uri": "notes://picture", "name": "picture"},
]
TEMPLATES: list[Json] = [{"uriTemplate": "notes://{day}/x", "name": "by day", "title": "A day"}]
PROMPTS: list[Json] = [
    {
        "name": "review",
        "description": "Ask for a review.",
        "arguments": [{"name": "style"}, {"name": "language", "required": True}],
    }
]
CONTENTS: dict[str, list[Json]] = {
    "notes://today": [{"uri": "notes://today", "text": "milk\x1b[31m, é🙂"}],
    "notes://picture": [{"uri": "notes://picture", "mimeType": "image/png", "blob": PNG}],
    "notes://both": [{"uri": "notes://a", "text": "one"}, {"uri": "notes://b", "blob": "AAH/"}],
    "notes://damaged": [{"uri": "notes://damaged", "blob": "A"}],
}
FORM: Json = {
    "type": "object",
    "properties": {
        "drink": {"type": "string", "enum": ["tea", "coffee"]},
        "cups": {"type": "integer", "maximum": 9},
        "sugar": {"type": "boolean", "default": False},
        "note": {"type": "string"},
    },
    "required": ["drink", "cups"],
}


class Gallery(Healthy):
    def __init__(self) -> None:
        super().__init__()
        self.capabilities = {
            "tools": {},
            "resources": {"subscribe": True},
            "prompts": {},
            "completions": {},
            "logging": {},
        }
        self.calling: object = None

    def receive(self, line: bytes) -> None:
        if b'"result"' in line and self.calling is not None:  # the answer to what was asked
            answer = line.decode().partition('"result":')[2].strip().removesuffix("}")
            self.reply(self.calling, {"result": {"content": [{"type": "text", "text": answer}]}})
        super().receive(line)

    def request(self, message: Json) -> None:
        name = message.get("params", {}).get("name")
        if message["method"] == "tools/call" and name in ("form", "visit", "roots"):
            self.calling = message["id"]
            self.ask(name)
            return
        super().request(message)
        if message["method"] == "resources/subscribe":
            self.tell_all(message["params"]["uri"])

    def ask(self, name: str) -> None:
        params: Json = {"message": "What would\nyou like?", "requestedSchema": FORM}
        if name == "visit":
            params = {
                "mode": "url",
                "message": "Log in",
                "url": "https://host.example/",
                "elicitationId": "1",
            }
        method = "roots/list" if name == "roots" else "elicitation/create"
        self.write(
            {"jsonrpc": "2.0", "id": "q", "method": method, "params": {} if name == "roots" else params}
        )

    def answer(self, method: str, params: Json) -> Json:
        match method:
            case "resources/list":
                return {"result": {"resources": RESOURCES}}
            case "resources/templates/list":
                return {"result": {"resourceTemplates": TEMPLATES}}
            case "prompts/list":
                return {"result": {"prompts": PROMPTS}}
            case "resources/read" if params["uri"] in CONTENTS:
                return {"result": {"contents": CONTENTS[params["uri"]]}}
            case "resources/read":
                return {"error": {"code": -32002, "message": "Resource not found"}}
            case "prompts/get" if params["name"] == "review":
                return self.prompt(params)
            case "prompts/get":
                return {"error": {"code": -32602, "message": "no such prompt"}}
            case "completion/complete":
                return self.complete(params)
            case "logging/setLevel" | "resources/subscribe" | "resources/unsubscribe":
                return {"result": {}}
            case _:
                return super().answer(method, params)

    def prompt(self, params: Json) -> Json:
        text = f"Review {params['arguments']['language']}"
        messages = [{"role": "user", "content": {"type": "text", "text": text}}]
        if "style" in params["arguments"]:
            picture = {"type": "image", "mimeType": "image/png", "data": PNG}
            messages.append({"role": "assistant", "content": picture})
        return {"result": {"messages": messages}}

    def complete(self, params: Json) -> Json:
        known = params.get("context", {}).get("arguments", {})
        values = [params["ref"].get("name") or params["ref"]["uri"], *map("=".join, known.items())]
        values += [each for each in ("python", "rust") if each.startswith(params["argument"]["value"])]
        if params["argument"]["name"] == "nothing":
            values = []
        total = {"total": 500, "hasMore": True} if params["argument"]["name"] == "many" else {}
        return {"result": {"completion": {"values": values, **total}}}

    def tell_all(self, uri: str) -> None:
        """Everything there is to tell, and then the end unless the listener is to end it."""
        self.tell("notifications/tools/list_changed", {})
        self.tell("notifications/resources/updated", {"uri": uri})
        self.tell("notifications/message", {"level": "info", "logger": "box", "data": "two\nlines"})
        self.tell("notifications/elicitation/complete", {"elicitationId": "1"})
        self.tell("notifications/odd", {"a": 1.50})
        if uri == "notes://end":
            sys.exit()
        if uri == "notes://crash":
            sys.exit("the gallery fell down")

    def tell(self, method: str, params: Json) -> None:
        self.write({"jsonrpc": "2.0", "method": method, "params": params})


if __name__ == "__main__":
    Gallery().run()
