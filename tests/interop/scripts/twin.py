"""A server that no SDK had a hand in, on stdio: `twin.py legacy|modern newline|headers [noise]`.

It says odd things wherever one may be said, and each value of a client's message that it gives back is
the text that came.  Its twin of the other era offers the same; with `noise` it says something first
that is no message.  Calls of `meet` are answered when so many are there, the last first; `slow` takes a
while, `crash` ends the process with code 3.
"""

from __future__ import annotations

import json
import os
import re
import sys
import threading
from collections.abc import Callable, Iterator

VERSION = "io.modelcontextprotocol/protocolVersion"
DEEP = '{"a":[' * 30 + "1" + "]}" * 30
ODD = (
    r'{"big":[9007199254740993,-9007199254740995,18446744073709551616,123456789012345678901234567890],'
    r'"small":1.0e-5,"forms":[1E400,-0,-0.0,1.10,100e-2,0.1000000000000000055511151231],"":1," ":2,'
    r'"\u0061":3,"__proto__":{},"constructor":null,"a.b":4,"q\"\\\/\b":5,"jsonrpc":6,"id":7,"method":"m",'
    r'"result":8,"cut":"cut \ud83d here","\udc00":["\udfff\ud800"],"twice":1,"twice":2,"deep":' + DEEP + "}"
)
TOP = r'"x-top":1.50,"\u007a":{"n":9007199254740993}'
META = r'"vendor.example/meta":{"id":18446744073709551616,"f":1.0e-5}'
INFO = r'{"name":"twin","version":"1","x-info":[1.0]}'
ABLE = (
    r'{"tools":{"listChanged":true,"x":1.0},"resources":{"listChanged":true,"subscribe":true},'
    r'"prompts":{"listChanged":true},"logging":{"x":2},"completions":{},'
    r'"experimental":{"vendor/y":{"n":1.0e-5}},"vendor-able":{"n":9007199254740993}}'
)
CURSOR = r'"page \u0032\/\ud83d"'
NAMES = (
    "mirror",
    "odd",
    "broken",
    "busy",
    "think",
    "hold",
    "held",
    "seen",
    "tell",
    "meet",
    "slow",
    "large",
    "crash",
)
QUESTION = (
    r'{"messages":[{"role":"user","content":{"type":"text","text":"Why?","x":1.0},"x":1}],"maxTokens":9,'
    r'"temperature":1.0e-5,"metadata":{"n":9007199254740993},"x-params":[1.50]}'
)
ERROR = r'{"code":-31999,"message":"no \ud83d","data":' + ODD + r',"x-error":1.50}'


def tool(name: str) -> str:
    """A tool as it is listed."""
    schema = r'{"type":"object","x-schema":{"maximum":9007199254740993,"multipleOf":1.0e-5}}'
    return f'{{"name":"{name}","inputSchema":{schema},"x-tool":1.50,"_meta":{{{META}}}}}'


#: What lists and the like give: members of their results.
CANNED = {
    "resources/list": r'"resources":[{"uri":"x:\/\/1","name":"one","size":4,"x":1.50}],"x-list":1.50',
    "resources/templates/list": r'"resourceTemplates":[{"uriTemplate":"x://{id}","name":"some","x":1.50}]',
    "resources/read": r'"contents":[{"uri":"x://1","text":"cut \ud83d","x":1.50,"_meta":{"n":1.0}}],"x-read":1.0',
    "prompts/list": r'"prompts":[{"name":"p","arguments":[{"name":"a","x":1.50}],"x":1.50}]',
    "prompts/get": r'"messages":[{"role":"user","content":{"type":"text","text":"\ud83d"},"x":1.50}],"x":1.0',
    "completion/complete": r'"completion":{"values":["\ud83d","\u0061"],"total":2,"x":1.50},"x":1.0',
    "$vendor/Thing": r'"thing":' + ODD,
}
#: Results of these say in the stateless era how long they stay fresh.
CACHED = (
    *("server/discover", "tools/list", "prompts/list"),
    *("resources/list", "resources/templates/list", "resources/read"),
)

_scan = json.JSONDecoder(strict=False).raw_decode
_blank = re.compile(r"[ \t\r\n]*")


def members(text: str) -> dict[str, str]:
    """The members of an object, each as the text it is."""

    def skip(at: int) -> int:
        found = _blank.match(text, at)
        return found.end() if found else at

    found: dict[str, str] = {}
    at = skip(text.index("{") + 1)
    while text[at] != "}":
        name, at = _scan(text, at)
        at = skip(skip(at) + 1)
        _, end = _scan(text, at)
        found[name] = text[at:end]
        at = skip(end)
        at = skip(at + 1) if text[at] == "," else at
    return found


class Ask:
    """A request: its id and its params as they came."""

    def __init__(self, text: str, envelope: dict[str, str]) -> None:
        self.text = text
        self.id = envelope["id"]
        self.method: str = json.loads(envelope["method"])
        params = envelope.get("params", "{}")
        self.params = members(params) if params.startswith("{") else {}
        self.meta = members(self.params.get("_meta", "{}"))


class Twin:
    """A conversation: what was asked, what waits, what was told."""

    def __init__(self, stateless: bool, write: Callable[[str], None]) -> None:
        self.stateless = stateless
        self.write = write
        self.opening = "null"
        self.waiting: dict[str, Ask] = {}
        self.listening: dict[str, Ask] = {}
        self.held: dict[str, Ask] = {}
        self.meeting: list[Ask] = []
        self.cancelled: list[str] = []
        self.seen: list[str] = []

    # What comes.

    def receive(self, text: str) -> None:
        envelope = members(text)
        if "method" not in envelope:
            self.answered(envelope)
        elif "id" not in envelope:
            self.told(text, json.loads(envelope["method"]), envelope.get("params", "{}"))
        else:
            self.asked(Ask(text, envelope))

    def told(self, text: str, method: str, params: str) -> None:
        if method == "notifications/cancelled":
            id = members(params)["requestId"]
            if self.held.pop(id, None) is not None:
                self.cancelled.append(params)
            self.listening.pop(id, None)
        elif method.startswith("vendor/"):
            self.seen.append(text)

    def asked(self, ask: Ask) -> None:
        if self.stateless and VERSION not in ask.meta:
            self.fail(ask, '{"code":-32602,"message":"who asks?"}')
        elif ask.method in ("server/discover" if self.stateless else "initialize", "ping"):
            self.open(ask)
        elif ask.method == "tools/list":
            self.page(ask)
        elif ask.method in CANNED:
            self.reply(ask, CANNED[ask.method])
        elif ask.method == "tools/call":
            self.call(ask)
        elif ask.method == "subscriptions/listen" and self.stateless:
            self.listening[ask.id] = ask
            self.tell_listener(
                ask, "subscriptions/acknowledged", f'"notifications":{ask.params["notifications"]}'
            )
        elif ask.method in ("logging/setLevel", "resources/subscribe", "resources/unsubscribe"):
            self.reply(ask, '"x-done":1.0')
        else:
            self.fail(ask, f'{{"code":-32601,"message":"no method","data":{json.dumps(ask.method)}}}')

    def open(self, ask: Ask) -> None:
        if ask.method == "ping":
            self.reply(ask, '"x-pong":1.0')
            return
        self.opening = ask.text
        shared = f'"capabilities":{ABLE},"instructions":"Ask \\ud83d.","x-result":{ODD}'
        if self.stateless:
            self.reply(ask, f'"supportedVersions":["2026-07-28"],{shared}')
        else:
            self.reply(ask, f'"protocolVersion":{ask.params["protocolVersion"]},"serverInfo":{INFO},{shared}')

    def page(self, ask: Ask) -> None:
        first = "cursor" not in ask.params
        if not first and json.loads(ask.params["cursor"]) != json.loads(CURSOR):
            self.fail(ask, '{"code":-32602,"message":"no such cursor"}')
            return
        tools = ",".join(map(tool, NAMES[:6] if first else NAMES[6:]))
        self.reply(ask, f'"tools":[{tools}],"x-list":{ODD}' + (f',"nextCursor":{CURSOR}' if first else ""))

    # What goes.

    def reply(self, ask: Ask, members: str) -> None:
        meta = META
        if self.stateless:
            meta = f'"io.modelcontextprotocol/serverInfo":{INFO},{META}'
            fresh = ',"ttlMs":0,"cacheScope":"private"' if ask.method in CACHED else ""
            kind = "" if members.startswith('"resultType"') else '"resultType":"complete",'
            members = f"{kind}{members}{fresh}"
        self.write(f'{{{TOP},"jsonrpc":"2.0","id":{ask.id},"result":{{{members},"_meta":{{{meta}}}}}}}')

    def fail(self, ask: Ask, error: str) -> None:
        self.write(f'{{{TOP},"jsonrpc":"2.0","id":{ask.id},"error":{error}}}')

    def tell(self, method: str, members: str) -> None:
        self.write(f'{{"jsonrpc":"2.0",{TOP},"method":"{method}","params":{{{members},"x-params":{ODD}}}}}')

    def tell_listener(self, ask: Ask, what: str, members: str = '"x":1.0') -> None:
        meta = f'"_meta":{{"io.modelcontextprotocol/subscriptionId":{ask.id},{META}}}'
        self.tell(f"notifications/{what}", f"{members},{meta}")

    def text(self, ask: Ask, value: str) -> None:
        """Reply to a call with a value that is the text it came as."""
        self.reply(ask, f'"content":[],"structuredContent":{{"value":{value}}},"x-result":1.50')

    # Tools.

    def call(self, ask: Ask) -> None:
        name = json.loads(ask.params["name"])
        function = getattr(self, f"tool_{name}", None) if name in NAMES else None
        if function is None:
            self.fail(ask, '{"code":-32602,"message":"no such tool"}')
        else:
            function(ask)

    def tool_mirror(self, ask: Ask) -> None:
        self.text(ask, f"[{ask.text},{self.opening}]")

    def tool_odd(self, ask: Ask) -> None:
        self.text(ask, ODD)

    def tool_broken(self, ask: Ask) -> None:
        self.fail(ask, ERROR)

    def tool_busy(self, ask: Ask) -> None:
        token = ask.meta.get("progressToken", "null")
        for step in ("0.50", "1.0e0"):
            self.tell("notifications/progress", f'"progressToken":{token},"progress":{step},"total":2.0')
        self.tell("vendor/event", '"n":1.0e-5')
        if not self.stateless or "io.modelcontextprotocol/logLevel" in ask.meta:
            self.tell("notifications/message", f'"level":"warning","logger":"twin","data":{ODD}')
        self.text(ask, '"done"')

    def tool_think(self, ask: Ask) -> None:
        if not self.stateless:
            self.waiting["q 1"] = ask
            self.write(
                f'{{"jsonrpc":"2.0","id":"q 1","method":"sampling/createMessage","params":{QUESTION},{TOP}}}'
            )
        elif "inputResponses" in ask.params:
            self.text(ask, members(ask.params["inputResponses"])["k 1"])
        else:
            question = f'{{"k 1":{{"method":"sampling/createMessage","params":{QUESTION}}}}}'
            self.reply(
                ask, f'"resultType":"input_required","inputRequests":{question},"requestState":"s\\/\\ud83d"'
            )

    def answered(self, envelope: dict[str, str]) -> None:
        ask = self.waiting.pop(json.loads(envelope["id"]), None)
        if ask is not None:
            self.text(ask, envelope.get("result") or envelope["error"])

    def tool_hold(self, ask: Ask) -> None:
        self.held[ask.id] = ask
        self.tell(
            "notifications/progress", f'"progressToken":{ask.meta.get("progressToken", "null")},"progress":1'
        )

    def tool_held(self, ask: Ask) -> None:
        self.text(ask, f"[{len(self.held)},{','.join(self.cancelled) or 'null'}]")

    def tool_seen(self, ask: Ask) -> None:
        self.text(ask, f"[{','.join(self.seen)}]")

    def tool_tell(self, ask: Ask) -> None:
        if self.stateless:
            for listener in self.listening.values():
                self.tell_listener(listener, "tools/list_changed")
                self.tell_listener(listener, "resources/updated", r'"uri":"x:\/\/1"')
        else:
            self.tell("notifications/tools/list_changed", f'"x":1.0,"_meta":{{{META}}}')
            self.tell("notifications/resources/updated", rf'"uri":"x:\/\/1","_meta":{{{META}}}')
        self.text(ask, '"told"')

    def tool_meet(self, ask: Ask) -> None:
        self.meeting.append(ask)
        if len(self.meeting) == int(members(ask.params["arguments"])["many"]):
            while self.meeting:
                met = self.meeting.pop()
                self.text(met, members(met.params["arguments"])["baggage"])

    def tool_slow(self, ask: Ask) -> None:
        seconds = float(members(ask.params["arguments"])["seconds"])
        threading.Timer(seconds, self.text, (ask, '"slept"')).start()

    def tool_crash(self, ask: Ask) -> None:
        print("the database is gone", file=sys.stderr, flush=True)
        os._exit(3)

    def tool_large(self, ask: Ask) -> None:
        size = int(members(ask.params["arguments"])["size"])
        self.text(ask, '"' + "x" * size + '"')


def lines() -> Iterator[bytes]:
    """Bodies in lines."""
    while line := sys.stdin.buffer.readline():
        yield line


def blocks() -> Iterator[bytes]:
    """Bodies behind headers."""
    while header := sys.stdin.buffer.readline():
        while not header.endswith(b"\r\n\r\n"):
            header += sys.stdin.buffer.readline()
        length = re.search(rb"(?i)content-length: *(\d+)", header)
        assert length is not None, header
        yield sys.stdin.buffer.read(int(length[1]))


def main(era: str, framing: str, noise: str = "") -> None:
    writing = threading.Lock()

    def write(text: str) -> None:
        body = text.encode("utf-8")
        data = body + b"\n" if framing == "newline" else b"Content-Length: %d\r\n\r\n" % len(body) + body
        with writing:
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()

    if noise:
        sys.stdout.buffer.write(b"Starting the twin...\n")
    twin = Twin(era == "modern", write)
    for body in lines() if framing == "newline" else blocks():
        twin.receive(body.decode("utf-8").strip())


if __name__ == "__main__":
    main(*sys.argv[1:])
