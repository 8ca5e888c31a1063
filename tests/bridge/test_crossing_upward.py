"""What the table says of a handshake client before a stateless server is what becomes of each feature there."""

from __future__ import annotations

from typing import Any

import pytest

from anywire.protocol.methods import METHODS
from anywire.protocol.revisions import MCP_PROTOCOL_VERSIONS
from anywire.protocol.translate.crossing import CROSSINGS, Crossing, Direction
from anywire.wire.limits import DEFAULT_LIMITS
from tests.bridge.crossing import Checks, name_of
from tests.protocol.translate.stage import DISCOVERED, KEY, MODERN, Stage, plain, shaken

check = Checks(Direction.UPWARD)
FORM: dict[str, Any] = {"message": "Who?", "requestedSchema": {"type": "object", "properties": {}}}
ACCEPT: dict[str, Any] = {"action": "accept", "content": {}}
LISTENED = "subscriptions/listen"
TOLD: dict[str, Any] = {"jsonrpc": "2.0", "method": "acme/told", "params": {"n": 1}}


def wanting(**questions: Any) -> dict[str, Any]:
    """A result that requires input."""
    return {"resultType": "input_required", "requestState": "S", "inputRequests": questions}


@check("initialize")
def initialize() -> None:
    for revision, answered in (("2025-03-26", "2025-03-26"), ("1999-01-01", MCP_PROTOCOL_VERSIONS[0])):
        stage = Stage()
        asked = stage.ask(1, "initialize", {"protocolVersion": revision, "capabilities": {"sampling": {}}})
        assert asked["method"] == "server/discover"
        assert asked["params"]["_meta"][KEY + "clientCapabilities"]["sampling"] == {}
        stage.answer(asked, DISCOVERED)
        assert stage.said()["result"]["protocolVersion"] == answered


@check("requests and results")
def requests_and_results() -> None:
    stage = shaken()
    asked = stage.ask(1, "tools/list", {"acme": 1})
    assert plain(asked) == {"acme": 1}
    assert asked["params"]["_meta"][KEY + "protocolVersion"] == MODERN
    told: dict[str, Any] = {"tools": [], "ttlMs": 1, "cacheScope": "public", "resultType": "complete"}
    stage.answer(asked, told)
    assert stage.said()["result"] == {"tools": []}
    stage.answer(stage.ask(2, "acme/do"), told)
    assert stage.said()["result"] == {"tools": [], "ttlMs": 1, "cacheScope": "public"}


@check("members of another revision")
def members_of_another_revision() -> None:
    stage = shaken(revision="2024-11-05")
    asked = stage.ask(1, "tools/call", {"name": "t"})
    result = {"content": [], "structuredContent": [1], "icons": [{"src": "a:b"}]}
    stage.answer(asked, result)
    assert stage.said()["result"] == result


@check("methods of the stateless era")
def methods_of_the_stateless_era() -> None:
    for method in ("server/discover", LISTENED):
        stage = shaken()
        assert stage.ask(1, method, {"notifications": {}}) is None
        assert stage.said()["error"]["code"] == -32601


@check("progress")
def progress() -> None:
    stage = shaken()
    asked = stage.ask(1, "tools/call", {"name": "t", "_meta": {"progressToken": "p"}})
    assert asked["params"]["_meta"]["progressToken"] == "p"
    told = {
        "jsonrpc": "2.0",
        "method": "notifications/progress",
        "params": {"progressToken": "p", "progress": 1},
    }
    stage.server(told)
    assert stage.said() == told
    stage.client(told)
    assert stage.to_server == []


@check("cancellation")
def cancellation() -> None:
    stage = shaken()
    asked = stage.ask("c", "tools/call")
    stage.notify("notifications/cancelled", {"requestId": "c"})
    assert stage.to_server.pop()["params"]["requestId"] == asked["id"]
    stage.answer(stage.ask("d", "tools/call"), wanting(a={"method": "roots/list"}))
    question = stage.said()
    stage.notify("notifications/cancelled", {"requestId": "d"})
    assert stage.said()["params"]["requestId"] == question["id"]


@check("sampling, elicitation, roots")
def sampling_elicitation_roots() -> None:
    stage = shaken(limits=DEFAULT_LIMITS.replace(rounds=1, input_seconds=5))
    questions: dict[str, Any] = {
        "a": {"method": "roots/list"},
        "b": {"method": "elicitation/create", "params": FORM},
    }
    stage.answer(stage.ask(1, "tools/call", {"name": "t"}), wanting(**questions))
    asked, stage.to_client = stage.to_client, []
    assert [each["method"] for each in asked] == ["roots/list", "elicitation/create"]
    stage.reply(asked[0], {"roots": []})
    stage.reply(asked[1], ACCEPT)
    again = stage.to_server.pop()
    assert plain(again)["inputResponses"] == {"a": {"roots": []}, "b": ACCEPT}
    stage.answer(again, wanting(**questions))
    assert "asked 1 times already" in stage.said()["error"]["message"]
    stage.answer(stage.ask(2, "tools/call"), wanting(a=questions["a"]))
    stage.client({"jsonrpc": "2.0", "id": stage.said()["id"], "error": {"code": 1, "message": "no"}})
    assert "did not answer roots/list: no" in stage.said()["error"]["message"]
    stage.answer(stage.ask(3, "tools/call"), wanting(a=questions["a"]))
    stage.to_client.clear()
    stage.pass_time(5)
    assert "did not answer roots/list within 5 s" in stage.to_client[-1]["error"]["message"]
    undeclared = shaken(client={})
    undeclared.answer(undeclared.ask(1, "tools/call"), wanting(a=questions["a"]))
    assert "did not declare 'roots'" in undeclared.said()["error"]["message"]


@check("elicitation at an address")
def elicitation_at_an_address() -> None:
    for revision, has_id in (("2025-11-25", True), ("2025-06-18", False)):
        stage = shaken(revision=revision)
        visit = {"mode": "url", "message": "Go", "url": "https://a.example/"}
        stage.answer(stage.ask(1, "tools/call"), wanting(a={"method": "elicitation/create", "params": visit}))
        said = stage.said()
        if has_id:
            assert said["params"] == visit | {"elicitationId": said["id"]}
        else:  # which has no visits
            assert "did not declare 'elicitation.url'" in said["error"]["message"]


@check("log messages")
def log_messages() -> None:
    stage = shaken(server={"logging": {}})
    for level in ("info", "error"):
        assert stage.ask(1, "tools/list")["params"]["_meta"][KEY + "logLevel"] == level
        stage.ask(2, "logging/setLevel", {"level": "error"})
        assert stage.said()["result"] == {}
        stage.notify("notifications/cancelled", {"requestId": 1})
        stage.to_server.clear()
    assert KEY + "logLevel" not in shaken().ask(1, "tools/list")["params"]["_meta"]


@check("changed lists")
def changed_lists() -> None:
    stage = shaken(server={"tools": {"listChanged": True}, "prompts": {}})
    listen = stage.to_server.pop()
    assert (listen["method"], plain(listen)["notifications"]) == (LISTENED, {"toolsListChanged": True})
    tag = {"_meta": {KEY + "subscriptionId": listen["id"]}}
    stage.server({"jsonrpc": "2.0", "method": "notifications/tools/list_changed", "params": tag})
    assert stage.said() == {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
    stage.answer(listen, {})
    stage.pass_time(DEFAULT_LIMITS.reconnect_seconds)
    assert stage.to_server.pop()["method"] == LISTENED
    assert stage.to_client == []


@check("resource subscriptions")
def resource_subscriptions() -> None:
    stage = shaken(server={"resources": {"subscribe": True, "listChanged": True}})
    first = stage.to_server.pop()
    _acknowledge(stage, first)
    second = stage.ask(1, "resources/subscribe", {"uri": "a:b"})
    filter = {"resourcesListChanged": True, "resourceSubscriptions": ["a:b"]}
    assert plain(second)["notifications"] == filter
    assert stage.to_client == stage.to_server == []
    _acknowledge(stage, second)
    assert stage.said()["result"] == {}
    assert stage.to_server.pop()["params"]["requestId"] == first["id"]
    third = stage.ask(2, "resources/subscribe", {"uri": "c:d"})
    _acknowledge(stage, third, resourceSubscriptions=["a:b"])
    assert stage.said()["error"]["message"] == "the server will not tell of changes of c:d"


def _acknowledge(stage: Stage, listen: Any, **less: Any) -> None:
    granted = plain(listen)["notifications"] | less
    params = {"_meta": {KEY + "subscriptionId": listen["id"]}, "notifications": granted}
    stage.server({"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": params})


@check("ping")
def ping() -> None:
    stage = shaken()
    assert stage.ask(1, "ping") is None
    assert stage.said()["result"] == {}


@check("batches")
def batches() -> None:
    stage = shaken(revision="2025-03-26")
    stage.client([{"jsonrpc": "2.0", "id": id, "method": "x/y"} for id in (1, 2)])
    for asked in stage.to_server:
        stage.answer(asked, {})
    assert [each["id"] for each in stage.said()] == [1, 2]


@check("errors")
def errors() -> None:
    stage = shaken()
    rows: list[tuple[str, Any, int]] = [
        ("resources/read", {"code": -32602, "message": "m", "data": {"uri": "a:b"}}, -32002),
        ("resources/read", {"code": -32602, "message": "m", "data": 5}, -32602),
        ("tools/call", {"code": -32021, "message": "m", "data": {"requiredCapabilities": {}}}, -32600),
        ("tools/call", {"code": -31000, "message": "m", "data": [1]}, -31000),
    ]
    for method, error, code in rows:
        asked = stage.ask(1, method)
        stage.server({"jsonrpc": "2.0", "id": asked["id"], "error": error})
        told = stage.said()["error"]
        assert (told["code"], told["data"]) == (code, error["data"])
        assert told["message"].endswith("m")
        assert (len(told["message"]) > 1) == (error["code"] == -32021)


@check("extensions")
def extensions() -> None:
    declares: dict[str, Any] = {"extensions": {"a/b": {}}}
    for declared, knows in ((declares, True), ({}, False)):
        stage = Stage()
        answer = stage.shake_hands(server={"extensions": {"c/d": {}}}, client=declared)
        assert ("extensions" in answer["result"]["capabilities"]) == knows
        asked = stage.ask(1, "tools/call")
        assert ("extensions" in asked["params"]["_meta"][KEY + "clientCapabilities"]) == knows
        stage.answer(asked, {"resultType": "odd"})
        assert ("result" in stage.said()) == knows


@check("arguments in headers")
def arguments_in_headers() -> None:
    mirrors: dict[str, Any] = {}
    stage = shaken(mirrors=mirrors)

    def marked(type: str) -> Any:
        return {"type": "object", "properties": {"a": {"type": type, "x-mcp-header": "A"}}}

    tools = [{"name": name, "inputSchema": marked(name)} for name in ("string", "array")]
    stage.answer(stage.ask(1, "tools/list"), {"tools": tools})
    assert [each["name"] for each in stage.said()["result"]["tools"]] == list(mirrors) == ["string"]


@check("tasks of 2025-11-25")
def tasks_of_2025_11_25() -> None:
    stage = Stage()
    answer = stage.shake_hands(server={"tasks": {}, "tools": {}}, client={"tasks": {}, "roots": {}})
    assert answer["result"]["capabilities"] == {"tools": {}}
    capabilities = stage.ask(1, "tools/list")["params"]["_meta"][KEY + "clientCapabilities"]
    assert capabilities == {"roots": {}}


@check("changed roots")
def changed_roots() -> None:
    stage = shaken()
    stage.notify("notifications/roots/list_changed")
    assert stage.to_server == stage.to_client == []


@check("notifications of no revision")
def notifications_of_no_revision() -> None:
    stage = shaken()
    stage.client(TOLD)
    assert stage.to_server == [TOLD]
    stage.server(TOLD)
    assert stage.said() == TOLD


@check("requests of the server")
def requests_of_the_server() -> None:
    stage = shaken()
    stage.server({"jsonrpc": "2.0", "id": 1, "method": "roots/list"})
    assert "a request of its own (roots/list)" in str(stage.noise.pop())
    assert stage.to_server == stage.to_client == []


@pytest.mark.parametrize("row", check.rows, ids=name_of)
async def test_each_row_is_as_it_says(row: Crossing) -> None:
    await check.make(row)


def test_each_row_has_its_check() -> None:
    assert check.lonely == set()


def test_every_method_that_only_one_era_has_is_in_the_table() -> None:
    """By its name, or by the name of what it belongs to."""
    families = {
        "sampling/createMessage": "sampling",
        "elicitation/create": "elicitation",
        "roots/list": "roots",
        "notifications/initialized": "initialize",
        "notifications/roots/list_changed": "changed roots",
        "notifications/elicitation/complete": "its completion",
        "notifications/subscriptions/acknowledged": LISTENED,
    }
    told = " ".join(f"{row.feature} {row.sentence}" for row in CROSSINGS)
    handshake = frozenset(MCP_PROTOCOL_VERSIONS)
    for name, method in METHODS.items():
        revisions = method.to_server | method.to_client
        if revisions <= handshake or not revisions & handshake:
            assert families.get(name, "tasks" if "tasks" in name else name) in told, name
