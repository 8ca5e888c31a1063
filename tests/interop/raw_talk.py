"""One conversation with `scripts/twin.py`, as bytes: what is asked, and every body that came of it.

Whoever carries it, pipes or HTTP or a bridge between the two: the same bodies must arrive.  All of them are
ASCII, so that no framing may change a byte.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from tests.interop.raw_wires import HttpWire, Wire
from tests.interop.scripts.twin import ODD, members

STEP_WITHIN = 10.0

ABLE = r'{"sampling":{"x":1.0},"experimental":{"vendor/x":{"on":true}},"vendor-able":{"n":9007199254740993}}'
INFO = r'{"name":"raw","version":"1","x-info":[1.0]}'
META = {
    "legacy": r'"vendor.example/trace":{"id":18446744073709551616},"":[]',
    "modern": r'"io.modelcontextprotocol/protocolVersion":"2026-07-28","vendor.example/trace":'
    r'{"id":18446744073709551616},"io.modelcontextprotocol/clientCapabilities":'
    + ABLE
    + r',"":[],"io.modelcontextprotocol/clientInfo":'
    + INFO,
}
SAID = r'{"role":"assistant","content":{"type":"text","text":"\ud83d","x":1.0},"model":"m","x-said":9007199254740993}'
LISTEN = '"notifications":{"toolsListChanged":true,"resourceSubscriptions":["x:\\/\\/1"]}'


@dataclass
class RawTalk:
    """A conversation that is under way; `heard` holds the bodies that came of each step."""

    wire: Wire
    era: str
    direct: dict[str, list[bytes]] = field(default_factory=dict[str, list[bytes]])
    """What came where nothing was in between, which says how much there is to wait for."""
    heard: dict[str, list[bytes]] = field(default_factory=dict[str, list[bytes]])

    def request(self, id: str, method: str, params: str = "", meta: str = "") -> bytes:
        """A request with members that nobody knows."""
        meta = META[self.era] + (f",{meta}" if meta else "")
        members = f'{params},"x-params":1.50' if params else '"x-params":1.50'
        return (
            f'{{"x-top":[1.0],"jsonrpc":"2.0","id":{id},"method":"{method}",'
            f'"params":{{{members},"_meta":{{{meta}}}}},"zzz":9007199254740993}}'
        ).encode()

    def ask(self, step: str, id: str, method: str, params: str = "", meta: str = "") -> None:
        """Send a request and take all that comes of it."""
        self.wire.send(self.request(id, method, params, meta))
        self.take(step, id)

    def call(self, step: str, id: str, arguments: str = "{}", params: str = "", meta: str = "") -> None:
        """Call the tool that the step is named for."""
        self.ask(step, id, "tools/call", named(step, arguments, params), meta)

    def take(self, step: str, id: str | None) -> None:
        """Take what comes until the reply (None: one message), and as much as came without a bridge."""
        got: list[bytes] = []
        done = False
        while not done or len(got) < len(self.direct.get(step, ())):
            try:
                body = self.wire.receive(within=STEP_WITHIN)
            except AssertionError as error:
                raise AssertionError(f"{step}: {error}; came: {got}") from None
            got.append(body)
            message: dict[str, Any] = json.loads(body)
            if "method" not in message:
                done = id is None or message.get("id") == json.loads(id)
            elif "id" in message:
                id_of_question = json.dumps(message["id"])
                answer = f'{{"jsonrpc":"2.0","id":{id_of_question},"result":{SAID},"x-top":1.50}}'
                self.wire.send(answer.encode())
            else:
                done = done or id is None
        self.heard[step] = sorted(got)

    def tell(self, method: str, params: str) -> None:
        """Send a notification."""
        self.wire.send(f'{{"jsonrpc":"2.0","method":"{method}","params":{{{params}}},"x-top":1.50}}'.encode())

    def cancel(self, id: str, why: str = '"x":1.0') -> None:
        """Give up a request, as the wire and the era have it."""
        if self.era == "modern" and isinstance(self.wire, HttpWire):
            self.wire.leave(id)
        else:
            self.tell("notifications/cancelled", f'"requestId":"{id}",{why}')


def result_of(body: bytes) -> dict[str, str]:
    """The members of a reply's result, each as the text it is."""
    return members(members(body.decode("ascii"))["result"])


def named(step: str, arguments: str = "{}", params: str = "") -> str:
    """The parameters of a call of the tool with the step's name."""
    return f'"name":"{step.partition(" ")[0]}","arguments":{arguments}' + (f",{params}" if params else "")


def converse(talk: RawTalk) -> None:
    """Take every step with a twin, but for the one that ends it."""
    open_talk(talk)
    list_and_read(talk)
    talk.call("mirror", '"m \\u0031"', ODD)
    talk.call("odd", "9007199254740993")
    talk.call("broken", "1.0")
    talk.ask("a custom method", '""', "$vendor/Thing", f'"value":{ODD}')
    talk.ask("an unknown method", "0", "vendor/nobody")
    talk.call("no such tool", "1")
    level = '"io.modelcontextprotocol/logLevel":"debug",' if talk.era == "modern" else ""
    talk.call("busy", '"1"', meta=f'{level}"progressToken":"t \\u0031"')
    think(talk)
    listen(talk)
    give_up(talk)


def open_talk(talk: RawTalk) -> None:
    """Shake hands, or ask who is there."""
    if talk.era == "modern":
        talk.ask("opening", '"open"', "server/discover")
        return
    opening = f'"protocolVersion":"2025-11-25","capabilities":{ABLE},"clientInfo":{INFO}'
    talk.ask("opening", '"open"', "initialize", opening)
    talk.tell("notifications/initialized", '"x":1.0')
    talk.ask("ping", "1E2", "ping")
    talk.ask("level", "5", "logging/setLevel", '"level":"debug"')


def list_and_read(talk: RawTalk) -> None:
    """Both pages of the tools, and of everything else one."""
    talk.ask("page 1", "10", "tools/list")
    [page] = talk.heard["page 1"]
    cursor = result_of(page)["nextCursor"]
    talk.ask("page 2", "11", "tools/list", f'"cursor":{cursor}')
    talk.ask("resources", "12", "resources/list")
    talk.ask("templates", "13", "resources/templates/list")
    talk.ask("resource", "14", "resources/read", '"uri":"x://1"')
    talk.ask("prompts", "15", "prompts/list")
    talk.ask("prompt", "16", "prompts/get", '"name":"p","arguments":{"a":"\\u0061"}')
    completing = '"ref":{"type":"ref/prompt","name":"p","x":1.0},"argument":{"name":"a","value":"\\ud83d"}'
    talk.ask("completion", "17", "completion/complete", completing)


def think(talk: RawTalk) -> None:
    """Answer a question of the server's: a request of its own, or a result that asks."""
    talk.call("think", "20")
    if talk.era == "modern":
        asked = result_of(talk.heard["think"][0])
        answers = ",".join(f"{json.dumps(key)}:{SAID}" for key in members(asked["inputRequests"]))
        again = f'"inputResponses":{{{answers}}},"requestState":{asked["requestState"]}'
        talk.call("think again", "21", params=again)


def listen(talk: RawTalk) -> None:
    """Hear of changes."""
    if talk.era == "modern":
        talk.wire.send(talk.request('"l 1"', "subscriptions/listen", LISTEN))
        talk.take("listen", None)
    else:
        talk.ask("listen", "30", "resources/subscribe", '"uri":"x:\\/\\/1"')
        talk.tell("vendor/seen", '"n":1.0e-5')
        talk.call("seen", "31")
    talk.call("tell", "32")


def give_up(talk: RawTalk) -> None:
    """Cancel a call: it is never answered, and the server knows why."""
    talk.wire.send(talk.request('"h 1"', "tools/call", named("hold"), '"progressToken":7'))
    talk.take("hold", None)
    talk.cancel("h 1", '"reason":"changed \\ud83d","x":1.0')
    for _ in range(100):
        talk.call("held", "40")
        if b'"value":[0,' in talk.heard["held"][0]:
            break
    if talk.era == "modern":
        talk.cancel("l 1")
