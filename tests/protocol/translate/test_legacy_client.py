"""A handshake client before a stateless server: what is said to either, without any wire."""

from __future__ import annotations

import json
from typing import Any

import pytest

from anywire.errors import LimitExceeded, RemoteProtocolError, TransportBroken, TransportClosed
from anywire.protocol.http.mirrored import Mirror
from anywire.protocol.revisions import MCP_PROTOCOL_VERSIONS
from anywire.wire.limits import DEFAULT_LIMITS
from anywire.wire.message import Fault, FaultKind
from tests.protocol.translate.stage import ALL, DISCOVERED, KEY, MODERN, Stage, plain, shaken

FORM: dict[str, Any] = {
    "method": "elicitation/create",
    "params": {"message": "Who?", "requestedSchema": {"type": "object"}},
}
MODEL: dict[str, Any] = {"method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 1}}
ROOTS: dict[str, Any] = {"method": "roots/list"}


def wanting(state: str | None = None, **requests: Any) -> dict[str, Any]:
    """A result that requires input."""
    wanted: dict[str, Any] = {"resultType": "input_required"}
    if requests:
        wanted["inputRequests"] = requests
    return wanted if state is None else wanted | {"requestState": state}


# The handshake.


@pytest.mark.parametrize("revision", MCP_PROTOCOL_VERSIONS)
def test_a_handshake_is_a_question_to_the_server_in_the_name_of_the_client(revision: str) -> None:
    stage = Stage()
    asked = stage.ask(7, "initialize", {"protocolVersion": revision, "capabilities": {"x": 1}})
    assert asked["method"] == "server/discover"
    assert asked["params"]["_meta"][KEY + "protocolVersion"] == MODERN
    assert asked["params"]["_meta"][KEY + "clientCapabilities"] == {"x": 1}
    stage.answer(asked, DISCOVERED | {"instructions": "Ask.", "odd": [1]})
    assert stage.said() == {
        "jsonrpc": "2.0",
        "id": 7,
        "result": {
            "protocolVersion": revision,
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "s", "version": "1"},
            "instructions": "Ask.",
            "odd": [1],
            "_meta": DISCOVERED["_meta"],
        },
    }


def test_the_client_is_named_to_the_server_as_it_named_itself() -> None:
    stage = Stage()
    stage.client(
        b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",'
        b'"capabilities":{"roots":{"listChanged":true},"n": 1.0e5},"clientInfo":{"name":"c", "z":12345678901234567890123}}}'
    )
    assert b'{"name":"c", "z":12345678901234567890123}' in stage.frames[0]
    assert b'{"roots":{"listChanged":true},"n": 1.0e5}' in stage.frames[0]


def test_an_unknown_revision_is_answered_with_the_latest_of_the_era() -> None:
    stage = Stage()
    stage.answer(stage.ask(1, "initialize", {"protocolVersion": "1999-01-01"}), DISCOVERED)
    assert stage.said()["result"]["protocolVersion"] == MCP_PROTOCOL_VERSIONS[0]


@pytest.mark.parametrize("params", [None, [], "null", {"capabilities": [], "clientInfo": 1}])
def test_a_handshake_without_sense_is_one_all_the_same(params: object) -> None:
    stage = Stage()
    stage.answer(stage.ask(1, "initialize", params), DISCOVERED)
    assert stage.said()["result"]["serverInfo"]["name"] == "s"


@pytest.mark.parametrize(
    "discovered", [{}, {"supportedVersions": ["2031-01-01"]}, {"supportedVersions": 1}, [], None]
)
def test_a_server_that_speaks_nothing_of_ours_refuses_the_handshake_with_a_sentence(
    discovered: object,
) -> None:
    stage = Stage()
    stage.answer(stage.ask(1, "initialize"), discovered)
    assert stage.said()["error"]["message"].startswith("the server cannot be used: ")


def test_a_server_without_a_name_has_an_empty_one_and_one_of_a_draft_its_own() -> None:
    for discovered, name in (({}, ""), ({"serverInfo": {"name": "d", "version": "1"}}, "d")):
        stage = Stage()
        stage.answer(stage.ask(1, "initialize"), {"supportedVersions": [MODERN]} | discovered)
        assert stage.said()["result"]["serverInfo"] == {"name": name, "version": "1" if name else ""}


def test_extensions_are_told_to_those_who_have_a_word_for_them() -> None:
    server: Any = {"extensions": {"a/b": {}}, "tasks": {}}
    assert Stage().shake_hands(server=server)["result"]["capabilities"] == {}
    knowing = Stage().shake_hands(server=server, client={"extensions": {}})
    assert knowing["result"]["capabilities"] == {"extensions": {"a/b": {}}}


# Requests.


def test_each_request_says_who_asks_and_keeps_its_bytes() -> None:
    stage = shaken()
    stage.client(
        b'{"id":"\\u0061", "x":1, "jsonrpc":"2.0","method":"tools/call","params":{"name":"t",'
        b'"arguments":{"n":12345678901234567890123,"f": 1.0e-5,"s":"\\ud83d"},"_meta":{"progressToken":"p"}}}'
    )
    frame = stage.frames[-1]
    assert frame.startswith(b'{"id":2, "x":1, "jsonrpc":"2.0","method":"tools/call"')
    assert b'"arguments":{"n":12345678901234567890123,"f": 1.0e-5,"s":"\\ud83d"}' in frame
    assert b'"progressToken":"p"' in frame
    stage.server(
        b'{"result":{"resultType":"complete","content":[],"b":12345678901234567890123,"s":"\\ud83d","ttlMs":1},'
        b'"id":2,"more":{"k": 1.0e-5},"jsonrpc":"2.0"}'
    )
    assert stage.frames[-1] == (
        b'{"result":{"content":[],"b":12345678901234567890123,"s":"\\ud83d","ttlMs":1},'
        b'"id":"\\u0061","more":{"k": 1.0e-5},"jsonrpc":"2.0"}'
    )


@pytest.mark.parametrize("id", ["1", "1.0", '"1"', '"\\ud800"', "123456789012345678901234567890", "-0"])
def test_a_reply_has_the_id_that_the_client_wrote(id: str) -> None:
    stage = shaken()
    stage.client(b'{"jsonrpc":"2.0","id":%b,"method":"x/y"}' % id.encode())
    stage.answer(stage.to_server.pop(), {})
    assert b'"id":%b,' % id.encode() in stage.frames[-1]


def test_what_may_be_kept_is_not_told_where_the_protocol_says_how_long() -> None:
    stage = shaken()
    asked = stage.ask(1, "resources/list")
    stage.answer(asked, {"resultType": "complete", "resources": [], "ttlMs": 9, "cacheScope": "public"})
    assert stage.said()["result"] == {"resources": []}


def test_methods_of_nobody_pass_with_an_envelope() -> None:
    stage = shaken()
    asked = stage.ask(1, "acme/do", {"deep": {"er": None}})
    assert asked["method"] == "acme/do"
    assert plain(asked) == {"deep": {"er": None}}
    stage.answer(asked, [1])
    assert stage.said()["result"] == [1]


@pytest.mark.parametrize("method", ["server/discover", "subscriptions/listen"])
def test_methods_of_the_other_era_are_not_found(method: str) -> None:
    stage = shaken()
    assert stage.ask(1, method) is None
    assert stage.said()["error"]["code"] == -32601


def test_params_that_are_no_object_are_refused_and_null_is_none() -> None:
    stage = shaken()
    assert stage.ask(1, "x/y", [1]) is None
    assert stage.said()["error"]["code"] == -32602
    stage.client(b'{"jsonrpc":"2.0","id":2,"method":"x/y","params":null}')
    assert plain(stage.to_server.pop()) == {}


def test_a_request_before_the_handshake_is_served() -> None:
    stage = Stage()
    asked = stage.ask(1, "tools/list")
    assert asked["params"]["_meta"][KEY + "clientCapabilities"] == {}


def test_a_ping_is_answered_at_once() -> None:
    stage = shaken()
    assert stage.ask(1, "ping") is None
    assert stage.said() == {"jsonrpc": "2.0", "id": 1, "result": {}}


def test_an_id_in_flight_is_refused_and_the_first_request_is_answered() -> None:
    stage = shaken()
    asked = stage.ask(1, "x/y")
    assert stage.ask(1, "x/y") is None
    assert stage.said()["error"]["code"] == -32600
    stage.answer(asked, {"n": 1})
    assert stage.said() == {"jsonrpc": "2.0", "id": 1, "result": {"n": 1}}


def test_more_requests_than_may_be_unanswered_are_refused() -> None:
    stage = Stage(limits=DEFAULT_LIMITS.replace(requests_in_flight=1))
    stage.ask(1, "x/y")
    stage.ask(2, "x/y")
    assert "more than 1 requests" in stage.said()["error"]["message"]


def test_a_reply_under_a_folded_id_is_taken_and_one_of_nobody_is_not() -> None:
    stage = shaken()
    asked = stage.ask(1, "x/y")
    stage.server({"jsonrpc": "2.0", "id": 99, "result": {}})
    stage.server({"jsonrpc": "2.0", "id": str(asked["id"]), "result": {}})
    stage.server({"jsonrpc": "2.0", "id": asked["id"], "result": {}})
    assert stage.said()["id"] == 1


def test_results_of_kinds_that_nobody_knows_are_errors() -> None:
    stage = shaken()
    for kind in ("task", 5):
        stage.answer(stage.ask(1, "tools/call"), {"resultType": kind, "taskId": "x"})
        assert repr(kind if isinstance(kind, str) else None) in stage.said()["error"]["message"]
    knowing = shaken(client={"extensions": {}})
    knowing.answer(knowing.ask(1, "tools/call"), {"resultType": "task", "taskId": "x"})
    assert knowing.said()["result"] == {"resultType": "task", "taskId": "x"}


# Errors.


@pytest.mark.parametrize(
    ("method", "error", "told"),
    [
        (
            "resources/read",
            {"code": -32602, "data": {"uri": "a:b"}},
            {"code": -32002, "data": {"uri": "a:b"}},
        ),
        ("resources/read", {"code": -32602, "message": "m"}, {"code": -32602, "message": "m"}),
        ("tools/call", {"code": -32602, "data": {"uri": "a:b"}}, {"code": -32602, "data": {"uri": "a:b"}}),
        ("tools/call", {"code": -31000, "message": "m", "x": 1}, {"code": -31000, "message": "m", "x": 1}),
    ],
)
def test_errors_have_the_codes_of_the_clients_era(method: str, error: Any, told: Any) -> None:
    stage = shaken()
    asked = stage.ask(1, method)
    stage.server({"jsonrpc": "2.0", "id": asked["id"], "error": error})
    assert stage.said() == {"jsonrpc": "2.0", "id": 1, "error": told}


@pytest.mark.parametrize(("code", "other"), [(-32020, -32603), (-32021, -32600), (-32022, -32602)])
def test_refusals_that_only_one_era_has_get_a_sentence_and_keep_their_data(code: int, other: int) -> None:
    stage = shaken()
    asked = stage.ask(1, "tools/call")
    stage.server({"jsonrpc": "2.0", "id": asked["id"], "error": {"code": code, "message": "m", "data": [1]}})
    error = stage.said()["error"]
    assert (error["code"], error["data"]) == (other, [1])
    assert error["message"].startswith("the server ")
    assert error["message"].endswith(": m")


def test_an_error_that_names_no_request_is_that_of_the_only_one() -> None:
    stage = shaken()
    stage.ask(1, "x/y")
    stage.server({"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "m"}})
    assert stage.said() == {"jsonrpc": "2.0", "id": 1, "error": {"code": -32700, "message": "m"}}
    stage.server({"jsonrpc": "2.0", "error": {"code": -32700, "message": "m"}})
    assert len(stage.noise) == 1


# Rounds of input.


def test_what_a_call_needs_is_asked_of_the_client_all_at_once() -> None:
    stage = shaken()
    stage.related.clear()
    first = stage.ask("call", "tools/call", {"name": "t", "arguments": {"a": 1}})
    stage.answer(first, wanting("state", form=FORM, model=MODEL, roots=ROOTS))
    questions = stage.to_client[:]
    stage.to_client.clear()
    assert [each["method"] for each in questions] == [each["method"] for each in (FORM, MODEL, ROOTS)]
    assert [each.get("params") for each in questions] == [FORM["params"], MODEL["params"], None]
    assert [each["id"] for each in questions] == ["q-1", "q-2", "q-3"]
    assert stage.related == [b'"call"'] * 3
    answers: list[Any] = [{"action": "decline"}, {"role": "user", "model": "m"}, {"roots": []}]
    for question, answer in reversed(list(zip(questions, answers, strict=True))):
        assert not stage.to_server
        stage.reply(question, answer)
    again = stage.to_server.pop()
    assert again["id"] != first["id"]
    assert plain(again) == {
        "name": "t",
        "arguments": {"a": 1},
        "requestState": "state",
        "inputResponses": dict(zip(("form", "model", "roots"), answers, strict=True)),
    }
    stage.answer(again, {"resultType": "complete", "content": []})
    assert stage.said() == {"jsonrpc": "2.0", "id": "call", "result": {"content": []}}


def test_questions_and_answers_keep_their_bytes() -> None:
    stage = shaken()
    asked = stage.ask(1, "tools/call")
    stage.server(
        b'{"jsonrpc":"2.0","id":%d,"result":{"resultType":"input_required","requestState":"\\u0061\\ud83d",'
        b'"inputRequests":{ "\\ud83dk" :{"params":{"message":"\\ud83d","n": 1.0e-5},"method":"elicitation/create"}}}}'
        % asked["id"]
    )
    assert b'"params":{"message":"\\ud83d","n": 1.0e-5}' in stage.frames[-1]
    stage.client(
        b'{"jsonrpc":"2.0","id":"q-1","result":{"action":"accept", "content":{"big":12345678901234567890123}}}'
    )
    assert b'"requestState":"\\u0061\\ud83d"' in stage.frames[-1]
    assert (
        b'"inputResponses":{"\\ud83dk":{"action":"accept", "content":{"big":12345678901234567890123}}}'
        in stage.frames[-1]
    )


def test_a_state_alone_is_sent_back_at_once_but_not_for_ever() -> None:
    stage = shaken(limits=DEFAULT_LIMITS.replace(rounds=3))
    asked = stage.ask(1, "tools/call", {"name": "t"})
    for round in range(3):
        stage.answer(asked, wanting(str(round)))
        asked = stage.to_server.pop()
        assert plain(asked) == {"name": "t", "requestState": str(round)}
    stage.answer(asked, wanting("x"))
    assert "asked 3 times already" in stage.said()["error"]["message"]


def test_a_state_does_not_outlive_its_round() -> None:
    stage = shaken()
    stage.answer(stage.ask(1, "tools/call"), wanting("first"))
    stage.answer(stage.to_server.pop(), wanting(roots=ROOTS))
    stage.reply(stage.said(), {"roots": []})
    assert plain(stage.to_server.pop()) == {"inputResponses": {"roots": {"roots": []}}}


def test_a_client_that_refuses_one_question_is_asked_no_more_and_its_call_says_why() -> None:
    stage = shaken()
    stage.answer(stage.ask(1, "tools/call"), wanting(a=MODEL, b=ROOTS))
    stage.to_client.clear()
    stage.client({"jsonrpc": "2.0", "id": "q-1", "error": {"code": -1, "message": "User rejected"}})
    taken_back, reply = stage.to_client
    assert taken_back["method"] == "notifications/cancelled"
    assert taken_back["params"]["requestId"] == "q-2"
    assert reply["id"] == 1
    assert "did not answer sampling/createMessage: User rejected" in reply["error"]["message"]
    stage.client({"jsonrpc": "2.0", "id": "q-2", "result": {"roots": []}})
    assert not stage.to_server


UNDECLARED: list[tuple[Any, Any, str]] = [
    ({}, MODEL, "sampling"),
    ({}, FORM, "elicitation"),
    ({}, ROOTS, "roots"),
    ({"sampling": {}}, {"method": MODEL["method"], "params": {"tools": []}}, "sampling.tools"),
    ({"elicitation": {}}, {"method": FORM["method"], "params": {"mode": "url"}}, "elicitation.url"),
    ({"elicitation": {"url": {}}}, FORM, "elicitation.form"),
]


@pytest.mark.parametrize(("declared", "question", "missing"), UNDECLARED)
def test_a_client_is_not_asked_what_it_did_not_declare(declared: Any, question: Any, missing: str) -> None:
    stage = shaken(client=declared)
    stage.answer(stage.ask(1, "tools/call"), wanting(a=question))
    assert f"did not declare {missing!r}" in stage.said()["error"]["message"]


def test_a_visit_has_an_id_in_the_revision_that_wants_one() -> None:
    visit = {"method": "elicitation/create", "params": {"mode": "url", "url": "https://a.example/"}}
    stage = shaken()
    stage.answer(stage.ask(1, "tools/call"), wanting(a=visit))
    assert stage.said()["params"] == {"mode": "url", "url": "https://a.example/", "elicitationId": "q-1"}


@pytest.mark.parametrize(
    "wanted",
    [
        {},
        {"requestState": 5},
        {"inputRequests": []},
        {"inputRequests": None},
        {"inputRequests": {"a": {"method": "tools/call"}}},
        {"inputRequests": {"a": 1}},
        {"inputRequests": {str(n): ROOTS for n in range(101)}},
    ],
)
def test_input_that_cannot_be_asked_for_fails_the_call(wanted: Any) -> None:
    stage = shaken()
    stage.answer(stage.ask(1, "tools/call"), {"resultType": "input_required"} | wanted)
    assert stage.said()["error"]["message"].startswith("tools/call needs input first, and ")


def test_a_client_that_does_not_answer_in_time_has_its_call_fail() -> None:
    stage = shaken()
    stage.answer(stage.ask(1, "tools/call"), wanting(a=ROOTS))
    stage.to_client.clear()
    stage.pass_time(DEFAULT_LIMITS.input_seconds - 1)
    assert stage.to_client == []
    stage.pass_time(2)
    taken_back, reply = stage.to_client
    assert taken_back["params"]["requestId"] == "q-1"
    assert "did not answer roots/list within 1800 s" in reply["error"]["message"]
    assert stage.machine.deadline() is None


def test_rounds_of_different_calls_do_not_meet() -> None:
    stage = shaken()
    calls = [stage.ask(n, "tools/call", {"name": str(n)}) for n in range(5)]
    for n, call in enumerate(calls):
        stage.answer(call, wanting(f"s{n}", x=ROOTS))
    for n, question in reversed(list(enumerate(stage.to_client))):
        stage.reply(question, {"roots": [{"uri": f"file:///{n}"}]})
        again = plain(stage.to_server.pop())
        assert again == {
            "name": str(n),
            "requestState": f"s{n}",
            "inputResponses": {"x": {"roots": [{"uri": f"file:///{n}"}]}},
        }


# Cancelling.


def test_a_call_that_is_taken_back_is_taken_back_from_the_server_under_its_id_there() -> None:
    stage = shaken()
    asked = stage.ask("mine", "tools/call")
    stage.notify("notifications/cancelled", {"requestId": "mine", "reason": "enough", "x": 1})
    assert stage.to_server.pop()["params"] == {"requestId": asked["id"], "reason": "enough", "x": 1}
    stage.answer(asked, {})
    stage.notify("notifications/cancelled", {"requestId": "mine"})
    assert (stage.to_server, stage.to_client) == ([], [])


def test_a_call_that_is_taken_back_between_rounds_takes_its_questions_back() -> None:
    stage = shaken()
    stage.answer(stage.ask(1, "tools/call"), wanting(a=ROOTS, b=FORM))
    stage.to_client.clear()
    stage.notify("notifications/cancelled", {"requestId": 1})
    assert [each["params"]["requestId"] for each in stage.to_client] == ["q-1", "q-2"]
    assert stage.to_server == []


def test_a_handshake_cannot_be_taken_back() -> None:
    stage = Stage()
    asked = stage.ask(1, "initialize")
    stage.notify("notifications/cancelled", {"requestId": 1})
    stage.answer(asked, DISCOVERED)
    assert "result" in stage.said()


# Notifications.


@pytest.mark.parametrize("method", ["notifications/roots/list_changed", "notifications/progress"])
def test_what_no_stateless_server_can_hear_is_dropped(method: str) -> None:
    stage = shaken()
    stage.notify(method, {"progressToken": 1})
    assert stage.to_server == []


def test_a_notification_of_nobody_passes_as_it_is() -> None:
    stage = shaken()
    stage.client(b'{"jsonrpc":"2.0", "method":"acme/told","params":[1.0]}')
    assert stage.frames[-1] == b'{"jsonrpc":"2.0", "method":"acme/told","params":[1.0]}'
    assert stage.to_server


@pytest.mark.parametrize("method", ["notifications/message", "notifications/progress", "acme/told"])
def test_what_the_server_tells_passes_as_it_is(method: str) -> None:
    stage = shaken()
    frame = b'{"jsonrpc":"2.0", "method":"%b","params":{"n": 1.0e-5}}' % method.encode()
    stage.server(frame)
    assert stage.frames[-1] == frame
    assert stage.to_client


# The log level.


def test_a_level_that_was_set_goes_with_each_request_and_before_that_it_is_info() -> None:
    stage = shaken(server={"logging": {}})
    assert stage.ask(1, "tools/list")["params"]["_meta"][KEY + "logLevel"] == "info"
    assert stage.ask(2, "logging/setLevel", {"level": "error"}) is None
    assert stage.said()["result"] == {}
    assert stage.ask(3, "tools/list")["params"]["_meta"][KEY + "logLevel"] == "error"
    stage.ask(4, "logging/setLevel", {"level": "loud"})
    assert stage.said()["error"]["code"] == -32602


def test_a_server_that_does_not_log_is_asked_for_no_level() -> None:
    stage = shaken()
    assert KEY + "logLevel" not in stage.ask(1, "tools/list")["params"]["_meta"]
    stage.ask(2, "logging/setLevel", {"level": "error"})
    assert stage.said()["error"]["code"] == -32601


# Batches.


def requests(*ids: object, method: str = "x/y") -> list[Any]:
    return [{"jsonrpc": "2.0", "id": id, "method": method} for id in ids]


def test_a_batch_is_taken_apart_and_answered_as_one() -> None:
    stage = shaken(revision="2025-03-26")
    told = {"jsonrpc": "2.0", "method": "acme/told"}
    stage.client([*requests(1, 2), told, *requests(3, method="ping")])
    first, second, _ = stage.to_server
    stage.answer(second, {"n": 2})
    assert stage.to_client == []
    stage.answer(first, {"n": 1})
    assert {each["id"]: each["result"] for each in stage.said()} == {1: {"n": 1}, 2: {"n": 2}, 3: {}}


def test_a_batch_waits_for_nothing_that_was_taken_back_or_failed() -> None:
    stage = shaken(revision="2025-03-26")
    stage.client(requests(1, 2, 3))
    first, second, third = stage.to_server
    stage.answer(first, {})
    stage.notify("notifications/cancelled", {"requestId": 2})
    assert stage.to_client == []
    stage.take(stage.machine.failed(b"%d" % third["id"], TransportBroken("cut"), stage.now))
    assert [each["id"] for each in stage.said()] == [1]
    assert [id for id, _ in stage.failed] == [b"3"]
    stage.answer(second, {})
    assert stage.to_client == []


def test_in_a_batch_what_cannot_be_is_refused_and_the_rest_is_served() -> None:
    stage = shaken(revision="2025-03-26")
    stage.client(
        b'[{"jsonrpc":"2.0","id":1,"method":"initialize"},{"jsonrpc":"2.0","id":2},{"jsonrpc":"2.0","id":3,"method":"ping"}]'
    )
    assert [each["id"] for each in stage.said()] == [1, 2, 3]


@pytest.mark.parametrize("revision", [each for each in MCP_PROTOCOL_VERSIONS if each != "2025-03-26"])
def test_in_other_revisions_an_array_is_refused(revision: str) -> None:
    stage = shaken(revision=revision)
    stage.client(requests(1))
    assert stage.said()["error"]["code"] == -32600
    stage.client([{"jsonrpc": "2.0", "id": 1, "result": {}}])
    assert (stage.to_server, stage.to_client) == ([], [])


def test_answers_may_come_as_an_array() -> None:
    stage = shaken(revision="2025-03-26")
    stage.answer(stage.ask(1, "tools/call"), wanting(a=ROOTS, b=MODEL))
    stage.client([{"jsonrpc": "2.0", "id": f"q-{n}", "result": {}} for n in (1, 2)])
    assert set(plain(stage.to_server.pop())["inputResponses"]) == {"a", "b"}


# Over HTTP.


def test_tools_whose_marks_cannot_be_are_left_out_where_headers_repeat_them() -> None:
    mirrors: dict[str, Any] = {}
    stage = shaken(mirrors=mirrors)
    mark = {"type": "object", "properties": {"a": {"type": "string", "x-mcp-header": "A"}}}
    bad = {"type": "object", "properties": {"a": {"type": "array", "x-mcp-header": "A"}}}
    tools = [{"name": "good", "inputSchema": mark}, {"name": "bad", "inputSchema": bad}, {"odd": 1}]
    stage.answer(stage.ask(1, "tools/list"), {"tools": tools, "nextCursor": "2"})
    assert [each.get("name") for each in stage.said()["result"]["tools"]] == ["good", None]
    assert mirrors == {"good": [Mirror("mcp-param-a", ("a",))]}
    assert "bad" in str(stage.noise[0])
    stage.answer(stage.ask(2, "tools/list", {"cursor": "2"}), {"tools": []})
    assert "good" in mirrors
    stage.answer(stage.ask(3, "tools/list"), {"tools": []})
    assert mirrors == {}


# What goes wrong.


def test_everything_in_flight_fails_when_the_server_is_gone_and_so_does_what_comes_later() -> None:
    stage = shaken(server={"resources": {"subscribe": True}})
    stage.ask(1, "tools/call")
    stage.answer(stage.ask(2, "tools/call"), wanting(a=ROOTS))
    stage.ask(3, "resources/subscribe", {"uri": "a:b"})
    stage.to_client.clear()
    gone = TransportBroken("gone")
    stage.take(stage.machine.close(gone))
    assert stage.failed == [(b"1", gone), (b"2", gone), (b"3", gone)]
    assert [each["params"]["requestId"] for each in stage.to_client] == ["q-1"]
    stage.take(stage.machine.close())
    stage.ask(4, "tools/call")
    stage.notify("acme/told")
    assert stage.failed[3:] == [(b"4", gone)]
    assert stage.to_server == []
    assert stage.machine.deadline() is None


def test_without_a_reason_the_end_is_an_end_in_order() -> None:
    stage = shaken()
    stage.ask(1, "tools/call")
    stage.take(stage.machine.close())
    assert isinstance(stage.failed[0][1], TransportClosed)


def test_a_request_that_was_sent_in_vain_fails_under_the_id_of_the_client() -> None:
    stage = shaken()
    asked = stage.ask("mine", "x/y")
    stage.take(stage.machine.failed(b"%d" % asked["id"], TransportBroken("cut"), stage.now))
    stage.take(stage.machine.failed(b"%d" % asked["id"], TransportBroken("cut"), stage.now))
    assert [(id, str(error)) for id, error in stage.failed] == [(b'"mine"', "cut")]


@pytest.mark.parametrize(
    ("kind", "error"),
    [(FaultKind.TOO_LARGE, LimitExceeded), (FaultKind.INVALID_REQUEST, RemoteProtocolError)],
)
def test_a_reply_that_is_none_fails_its_request(kind: FaultKind, error: type[Exception]) -> None:
    stage = shaken()
    asked = stage.ask("mine", "x/y")
    fault = Fault(kind, "odd", id=b"%d" % asked["id"], is_reply=True)
    stage.take(stage.machine.from_server(fault, stage.now))
    assert [(id, type(each)) for id, each in stage.failed] == [(b'"mine"', error)]


def test_noise_of_the_server_is_handed_on_without_ids_that_mean_something_else() -> None:
    stage = shaken()
    stage.ask(77, "x/y")
    fault = Fault(FaultKind.INVALID_REQUEST, "odd", id=b"77", is_reply=True)
    stage.take(stage.machine.from_server(fault, stage.now))
    stage.server({"jsonrpc": "2.0", "id": 1, "method": "roots/list"})
    noise, request = stage.noise
    assert isinstance(noise, Fault)
    assert noise.id is None
    assert "roots/list" in str(request)
    assert stage.failed == []


@pytest.mark.parametrize(
    "frame",
    [
        b'{"jsonrpc":"2.0","id":2,"result":null}',
        b'{"jsonrpc":"2.0","id":2,"result":"x"}',
        b'{"jsonrpc":"2.0","id":2,"error":"boom"}',
        b'{"jsonrpc":"2.0","id":2,"error":{"code":"x"}}',
        b'[{"jsonrpc":"2.0","id":2,"result":{}}]',
    ],
)
def test_odd_replies_are_replies(frame: bytes) -> None:
    stage = shaken()
    stage.ask("mine", "tools/call")
    stage.server(frame)
    expected = json.loads(frame)
    assert stage.said() == (expected[0] if isinstance(expected, list) else expected) | {"id": "mine"}


def test_all_of_a_client_can_be_asked_for() -> None:
    stage = shaken(client=ALL)
    assert stage.ask(1, "x/y")["params"]["_meta"][KEY + "clientCapabilities"] == ALL
