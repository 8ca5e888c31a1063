"""What the table says of a stateless client before a handshake server is what becomes of each feature there."""

from __future__ import annotations

import json
from typing import Any

import pytest

from anywire.protocol.revisions import MCP_PROTOCOL_VERSIONS
from anywire.protocol.translate.crossing import Crossing, Direction
from tests.bridge.crossing import Checks, name_of
from tests.bridge.downward import played as conversation
from tests.protocol.translate import virtual
from tests.protocol.translate.stage import KEY, MODERN
from tests.protocol.translate.virtual import Played, meta, refusal, request

check = Checks(Direction.DOWNWARD)
FORM: dict[str, Any] = {"message": "Who?", "requestedSchema": {"type": "object", "properties": {}}}
VISIT: dict[str, Any] = {"mode": "url", "message": "Go", "url": "https://a.example/", "elicitationId": "e"}
ACCEPT: dict[str, Any] = {"action": "accept", "content": {}}
LISTENED = "subscriptions/listen"
TOLD: dict[str, Any] = {"jsonrpc": "2.0", "method": "acme/told", "params": {"n": 1}}


def asks(method: str, params: Any = None, id: object = 7, **said: Any) -> Played:
    """A request that a server answers which has shaken hands."""
    return Played(request(method, params, id, **said)).greet()


def answered(played: Played, result: Any) -> Any:
    """The result that the client gets for one of the server."""
    return played.say({"id": played.last()["id"], "result": result}).answer()["result"]


def failed(played: Played, error: Any) -> Any:
    """The error that the client gets for one of the server."""
    return played.say({"id": played.last()["id"], "error": error}).answer()["error"]


@check("requests and results")
def requests_and_results() -> None:
    played = Played(request("acme/do", {"a": 1}))
    opening = json.loads(played.sent[0])
    assert opening["method"] == "initialize"
    assert opening["params"]["capabilities"] == virtual.CAPABLE
    assert played.greet().last()["params"] == {"a": 1}
    result = answered(played, {"b": 1})
    assert result.pop("_meta")[KEY + "serverInfo"]["name"] == "played"
    assert result == {"resultType": "complete", "b": 1}


@check("server/discover")
def server_discover() -> None:
    for revision in MCP_PROTOCOL_VERSIONS:
        played = Played(request("server/discover"))
        played.greet({"tools": {}}, revision, b',"instructions":"Ask."')
        result = played.answer()["result"]
        assert (result["supportedVersions"], result["instructions"]) == ([MODERN], "Ask.")
        assert result["capabilities"] == {"tools": {}}


@check("members of another revision")
def members_of_another_revision() -> None:
    result = answered(asks("tools/call", {"name": "t"}), {"content": [], "toolResult": 5})
    assert result["toolResult"] == 5


@check("how long results stay fresh")
def how_long_results_stay_fresh() -> None:
    for told in ({}, {"ttlMs": 9, "cacheScope": "public"}):
        result = answered(asks("tools/list"), {"tools": [], **told})
        expected = told or {"ttlMs": 0, "cacheScope": "private"}
        assert {name: result[name] for name in ("ttlMs", "cacheScope")} == expected
    assert "ttlMs" not in answered(asks("tools/call", {"name": "t"}), {"content": []})


@check("methods of the handshake era")
def methods_of_the_handshake_era() -> None:
    for method in ("initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"):
        assert refusal(request(method, {"uri": "a:b", "level": "info"}))["code"] == -32601


@check("progress")
def progress() -> None:
    for token in ("p", None):
        played = asks("tools/call", {"name": "t"}, **({} if token is None else {"progressToken": token}))
        played.say({"method": "notifications/progress", "params": {"progressToken": "q", "progress": 1}})
        told = [json.loads(each)["params"]["progressToken"] for each in played.told]
        assert told == ([] if token is None else [token])


@check("cancellation")
def cancellation() -> None:
    played = asks("tools/call", {"name": "t"})
    id = played.last()["id"]
    played.do(played.conversation.cancel("enough"))
    assert played.last()["params"] == {"requestId": id, "reason": "enough"}
    opening = Played(request("tools/list"))
    opening.do(opening.conversation.cancel("enough"))
    assert len(opening.sent) == 1
    assert opening.conversation.over
    waiting = asks("tools/call", {"name": "t"})
    id = waiting.last()["id"]
    waiting.ask("q", "roots/list").round()
    waiting.do(waiting.conversation.cancel("expired"))  # by the bridge, after `held_seconds`
    assert waiting.last()["params"]["requestId"] == id


@check("sampling, elicitation, roots")
def sampling_elicitation_roots() -> None:
    for method, params in (
        ("tools/call", {"name": "t"}),
        ("prompts/get", {"name": "p"}),
        ("resources/read", {"uri": "a:b"}),
    ):
        played = asks(method, params)
        own = played.last()["id"]
        played.ask("q", "elicitation/create", FORM).ask("r", "roots/list")
        wanted = played.round()
        assert [each["method"] for each in wanted.values()] == ["elicitation/create", "roots/list"]
        both: list[dict[str, Any]] = [ACCEPT, {"roots": []}]
        played.come_back(dict(zip(wanted, both, strict=True)))
        replies = [json.loads(sent) for sent in played.sent[-2:]]
        assert {each["id"]: each["result"] for each in replies} == {"q": ACCEPT, "r": {"roots": []}}
        played.say({"id": own, "result": {}})
        assert played.answer()["id"] == 8
    played = asks("tools/call", {"name": "t"}, capabilities={})
    played.ask("q", "roots/list")
    assert "did not declare the capability 'roots'" in played.last()["error"]["message"]


@check("questions during other methods")
def questions_during_other_methods() -> None:
    for method in ("tools/list", "completion/complete", "acme/do"):
        played = asks(method).ask("q", "roots/list")
        assert (played.last()["id"], played.last()["error"]["code"]) == ("q", -32601)


@check("elicitation at an address")
def elicitation_at_an_address() -> None:
    played = asks("tools/call", {"name": "t"}).ask("q", "elicitation/create", VISIT)
    [question] = played.round().values()
    assert "elicitationId" not in question["params"]
    played.say({"method": "notifications/elicitation/complete", "params": {"elicitationId": "e"}})
    assert played.told == []
    wants = {"code": -32042, "message": "m", "data": {"elicitations": [VISIT]}}
    for action in ("accept", "decline"):
        played = asks("tools/call", {"name": "t"})
        played.say({"id": played.last()["id"], "error": wants})
        sent = len(played.sent)
        played.come_back({key: {"action": action} for key in played.round()})
        if action == "accept":
            assert [json.loads(each)["method"] for each in played.sent[sent:]] == ["tools/call"]
        else:
            assert played.answer()["error"]["code"] == -32603
    unable = asks("tools/call", {"name": "t"}, capabilities={})
    error = failed(unable, wants)
    assert (error["code"], error["data"]["requiredCapabilities"]) == (-32021, {"elicitation": {"url": {}}})


@check("log messages")
def log_messages() -> None:
    for wanted, heard in (("warning", ["error"]), (None, [])):
        played = asks("tools/call", {"name": "t"}, level=wanted)
        if wanted is not None:
            assert (played.last()["method"], played.last()["params"]) == (
                "logging/setLevel",
                {"level": "warning"},
            )
            played.say({"id": played.last()["id"], "result": {}})
        assert played.last()["method"] == "tools/call"
        for level in ("info", "error"):
            played.say({"method": "notifications/message", "params": {"level": level, "data": 1}})
        assert [json.loads(each)["params"]["level"] for each in played.told] == heard


@check("changed lists")
def changed_lists() -> None:
    wanted = {"toolsListChanged": True, "promptsListChanged": True}
    played = Played(request(LISTENED, {"notifications": wanted}))
    played.greet({"tools": {"listChanged": True}, "prompts": {}})
    acknowledged = json.loads(played.told.pop())
    assert acknowledged["params"]["notifications"] == {"toolsListChanged": True}
    played.say({"method": "notifications/tools/list_changed"})
    assert json.loads(played.told.pop())["params"]["_meta"] == {KEY + "subscriptionId": 7}
    played.do(played.conversation.lose(None))
    assert played.answer()["result"]["resultType"] == "complete"


@check("resource subscriptions")
def resource_subscriptions() -> None:
    played = asks(LISTENED, {"notifications": {"resourceSubscriptions": ["a:a", "b:b"]}})
    first, second = (json.loads(sent) for sent in played.sent[-2:])
    assert (first["method"], first["params"]) == ("resources/subscribe", {"uri": "a:a"})
    played.say({"id": first["id"], "error": {"code": 1, "message": "no"}})
    assert played.told == []
    played.say({"id": second["id"], "result": {}})
    granted = json.loads(played.told.pop())["params"]["notifications"]
    assert granted == {"resourceSubscriptions": ["b:b"]}
    played.do(played.conversation.cancel("enough"))
    assert (played.last()["method"], played.last()["params"]) == ("resources/unsubscribe", {"uri": "b:b"})


@check("ping")
def ping() -> None:
    for method in ("tools/list", "tools/call"):
        played = asks(method, {"name": "t"}).ask("p", "ping")
        assert played.last() == {"jsonrpc": "2.0", "id": "p", "result": {}}


@check("errors")
def errors() -> None:
    error = failed(asks("resources/read", {"uri": "a:b"}), {"code": -32002, "message": "m"})
    assert error == {"code": -32602, "message": "m", "data": {"uri": "a:b"}}
    error = {"code": -32002, "message": "m", "data": [1]}
    assert failed(asks("resources/read", {"uri": "a:b"}), error) == error | {"code": -32602}
    error = {"code": -31000, "message": "m", "data": {"why": 1}, "x": 2}
    assert failed(asks("tools/call", {"name": "t"}), error) == error


@check("extensions")
def extensions() -> None:
    played = Played(request("server/discover", capabilities={"extensions": {"a/b": {}}}))
    assert json.loads(played.sent[0])["params"]["capabilities"] == {"extensions": {"a/b": {}}}
    played.greet({"extensions": {"c/d": {}}})
    assert played.answer()["result"]["capabilities"] == {"extensions": {"c/d": {}}}
    assert answered(asks("tools/call", {"name": "t"}), {"resultType": "odd"})["resultType"] == "odd"


@check("tasks of 2025-11-25")
def tasks_of_2025_11_25() -> None:
    played = Played(request("server/discover", capabilities={"tasks": {}, "roots": {}}))
    assert json.loads(played.sent[0])["params"]["capabilities"] == {"roots": {}}
    played.greet({"tasks": {}, "tools": {}})
    assert played.answer()["result"]["capabilities"] == {"tools": {}}
    assert refusal(request("tools/call", {"name": "t", "task": {}}))["code"] == -32602
    question: dict[str, Any] = FORM | {"task": {}}
    asked = asks("tools/call", {"name": "t"}).ask("q", "elicitation/create", question)
    assert asked.last()["error"]["code"] == -32602


@check("notifications of no revision")
def notifications_of_no_revision() -> None:
    played = asks("tools/call", {"name": "t"}).say(TOLD)
    assert [json.loads(each) for each in played.told] == [TOLD]
    listening = asks(LISTENED, {"notifications": {"toolsListChanged": True}})
    listening.told.clear()
    listening.say(TOLD)
    assert listening.told == []


@check("batches")
async def batches() -> None:
    async with conversation() as (bridge, client):
        asked = [{"jsonrpc": "2.0", "id": id, "method": "x/y", "params": {"_meta": meta()}} for id in (1, 2)]
        await client.send(asked)
        refusals = await client.receive_many(2)
        assert [(each["id"], each["error"]["code"]) for each in refusals] == [(1, -32600), (2, -32600)]
        assert bridge.behind.connections == []


@check("notifications of the client")
async def notifications_of_the_client() -> None:
    async with conversation() as (bridge, client):
        await client.ask(1, "tools/call", {"name": "t", "_meta": meta()})
        server = await bridge.greeted()
        await server.receive()
        await client.notify("acme/told")
        await client.notify("notifications/roots/list_changed")
        await client.notify("notifications/progress", {"progressToken": 1, "progress": 1})
        await server.expect_silence()
        await client.notify("notifications/cancelled", {"requestId": 1})
        assert (await server.receive())["method"] == "notifications/cancelled"


@pytest.mark.parametrize("row", check.rows, ids=name_of)
async def test_each_row_is_as_it_says(row: Crossing) -> None:
    await check.make(row)


def test_each_row_has_its_check() -> None:
    assert check.lonely == set()
