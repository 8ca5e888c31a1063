"""What a request of a stateless client becomes before a handshake server, and what its answer becomes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from anywire.errors import DeadlineExceeded, RemoteProtocolError, TransportBroken
from anywire.protocol.methods import METHODS
from anywire.protocol.revisions import MCP_PROTOCOL_VERSIONS
from anywire.protocol.translate.modern_client import Retry, read_request
from anywire.wire.limits import DEFAULT_LIMITS
from anywire.wire.message import Fault, FaultKind, Request
from tests.protocol.translate.virtual import (
    ALL,
    CAPABLE,
    REVISION,
    SERVER_INFO,
    Played,
    conversation,
    message,
    meta,
    refusal,
    request,
)

CALL = {"name": "t", "arguments": {"a": 1}}
DONE: dict[str, Any] = {"id": 2, "result": {"content": []}}


def raw_request(frame: bytes) -> Request:
    made = message(frame)
    assert isinstance(made, Request)
    return made


# The handshake.


def test_a_request_shakes_hands_with_what_it_says_of_its_client() -> None:
    """Also with what nobody here knows; the tasks of the handshake era are not offered."""
    info = b'{"name":"c","version":"2","odd":1.0e-5}'
    frame = (
        b'{"jsonrpc":"2.0","id":"a","method":"tools/list","params":{"_meta":{'
        b'"io.modelcontextprotocol/protocolVersion":"2026-07-28",'
        b'"io.modelcontextprotocol/clientCapabilities":{"x":{"big":12345678901234567890123},"tasks":{},"roots":{}},'
        b'"io.modelcontextprotocol/clientInfo":%b}}}' % info
    )
    played = Played(raw_request(frame))
    assert played.sent == [
        b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",'
        b'"capabilities":{"x":{"big":12345678901234567890123},"roots":{}},"clientInfo":%b}}' % info
    ]


def test_a_client_that_does_not_say_who_it_is_has_a_name_all_the_same() -> None:
    """The handshake wants one."""
    played = Played(request("tools/list"))
    assert played.last()["params"]["clientInfo"] == {"name": "unknown", "version": "0"}


@pytest.mark.parametrize("revision", MCP_PROTOCOL_VERSIONS)
def test_whatever_revision_the_server_answers_the_request_follows(revision: str) -> None:
    """With `notifications/initialized` before it."""
    played = Played(request("tools/call", CALL)).greet(revision=revision)
    assert [json.loads(sent) for sent in played.sent[1:]] == [
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": CALL},
    ]
    assert played.say(DONE).answer()["id"] == 7


@pytest.mark.parametrize(
    ("revision", "sentence"),
    [
        ('"2031-01-01"', "played: it answered initialize with the unknown revision '2031-01-01'"),
        ('"2026-07-28"', "played: it answered initialize with the unknown revision '2026-07-28'"),
        ("5", "played: its answer to initialize names no revision"),
        ("null", "played: its answer to initialize names no revision"),
    ],
)
def test_a_server_of_no_known_revision_fails_the_request(revision: str, sentence: str) -> None:
    """In one sentence."""
    played = Played(request("tools/list"))
    played.say(b'{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":%b}}' % revision.encode())
    (error,) = played.failures
    assert (type(error), str(error), played.conversation.over) == (RemoteProtocolError, sentence, True)
    assert len(played.sent) == 1


def test_a_refused_handshake_is_the_answer() -> None:
    """With the code and the data of the server, and what it refused."""
    played = Played(request("tools/list"))
    played.say({"id": 1, "error": {"code": -32000, "message": "go away", "data": [1.50], "x": 1}})
    assert played.answer()["error"] == {
        "code": -32000,
        "message": "played refused the handshake: go away",
        "data": [1.5],
        "x": 1,
    }


def test_a_server_that_does_not_shake_hands_in_time_fails_the_request() -> None:
    """Time is told from outside."""
    played = Played(request("tools/list"))
    assert played.conversation.opening
    played.do(played.conversation.expire(60.0))
    (error,) = played.failures
    assert (type(error), str(error)) == (DeadlineExceeded, "played has not shaken hands within 60 s")


def test_a_log_level_is_set_before_the_request_is_made() -> None:
    """The server may take its requests in any order."""
    played = Played(request("tools/call", CALL, level="error")).greet()
    assert played.last()["method"] == "logging/setLevel"
    assert played.last()["params"] == {"level": "error"}
    played.say({"id": 2, "error": {"code": -32603, "message": "not today"}})
    assert played.last() == {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": CALL}


@pytest.mark.parametrize(("level", "offered"), [(None, ALL), ("debug", {"tools": {}})])
def test_no_log_level_is_set_where_none_is_wanted_or_there_is_none(level: str | None, offered: Any) -> None:
    """A server without logging would refuse it."""
    played = Played(request("tools/call", CALL, level=level)).greet(offered)
    assert played.last()["method"] == "tools/call"


# The request.


def test_a_request_keeps_all_that_is_not_of_its_era() -> None:
    """Members nobody knows, big integers, half a pair, the order of keys; the token of its progress, the trace."""
    envelope = b'"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol\\/clientCapabilities":{}'
    frame = b'{ "x":[1.0], "jsonrpc":"2.0","id":"\\ud83d","method":"tools/call","params":{"z":1E400,%b,"name":"\\udc00"} }'
    told = b'"_meta":{"progressToken":1.0,%b , "traceparent":"00-e"}' % envelope
    played = Played(raw_request(frame % told)).greet()
    assert played.sent[-1] == (
        b'{ "x":[1.0], "jsonrpc":"2.0","id":2,"method":"tools/call",'
        b'"params":{"z":1E400,"_meta":{"progressToken":1.0 , "traceparent":"00-e"},"name":"\\udc00"} }'
    )


def test_an_empty_meta_goes() -> None:
    """It was there for the envelope alone."""
    assert Played(request("x/y", {"a": 1}, level="info")).greet({}).last()["params"] == {"a": 1}


@pytest.mark.parametrize(
    "method",
    [
        name
        for name, method in METHODS.items()
        if not method.notification and REVISION not in method.to_server
    ],
)
def test_what_the_era_does_not_have_is_unknown(method: str) -> None:
    """Whatever the server behind may know."""
    assert refusal(request(method)) == {"code": -32601, "message": f"Method not found: {method}"}


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({}, -32602),
        ({"_meta": {}}, -32602),
        ({"_meta": 5}, -32602),
        ({"_meta": {**meta(), "io.modelcontextprotocol/clientCapabilities": 5}}, -32602),
        ({"_meta": {**meta(), "io.modelcontextprotocol/protocolVersion": "2031-01-01"}}, -32022),
        ({"_meta": {**meta(), "io.modelcontextprotocol/protocolVersion": "2025-11-25"}}, -32022),
    ],
)
def test_an_envelope_that_says_too_little_is_refused(params: Any, code: int) -> None:
    """Before anything is asked of a server."""
    made = message({"id": 1, "method": "tools/list", "params": params})
    assert isinstance(made, Request)
    assert refusal(made)["code"] == code


def test_a_call_as_a_task_is_refused() -> None:
    """There are no tasks of that kind in this era; an argument of that name is one like any other."""
    assert refusal(request("tools/call", {**CALL, "task": {}})) == {
        "code": -32602,
        "message": "Invalid params: 2026-07-28 has no tasks that a client asks for",
    }
    assert conversation(request("tools/call", {"name": "t", "arguments": {"task": {}}}))


def test_answers_without_a_state_are_refused() -> None:
    """They belong to no call; to make it would be to make it twice."""
    fault = refusal(request("tools/call", {**CALL, "inputResponses": {}}))
    assert (fault["code"], "requestState" in fault["message"]) == (-32602, True)
    words = {"name": "t", "arguments": {"inputResponses": 1, "requestState": 2}}
    assert conversation(request("tools/call", words))


@pytest.mark.parametrize(("state", "read"), [("S", "S"), (5, ""), ({}, "")])
def test_a_request_with_a_state_goes_on_with_the_call_of_that_state(state: object, read: str) -> None:
    """What is no text is a state of nobody's."""
    found = read_request(request("prompts/get", {"requestState": state}), "played", DEFAULT_LIMITS)
    assert isinstance(found, Retry)
    assert found.state == read


def test_rounds_are_those_of_three_methods() -> None:
    """What looks like an answer elsewhere is a member that nobody knows, and passes."""
    odd: dict[str, Any] = {"requestState": "S", "inputResponses": {}}
    played = Played(request("x/y", odd)).greet()
    assert played.last()["method"] == "x/y"


# The answer.


@pytest.mark.parametrize(
    "result",
    [
        b'{"content":[],"z":12345678901234567890123,"a": 1.0e-5 }',
        b'{"structuredContent":{"\\ud83d":"\\udc00"},"\\u0061":1E400}',
        b"{ }",
    ],
)
def test_a_result_keeps_its_bytes(result: bytes) -> None:
    """What the era wants it to say stands in front."""
    played = Played(request("tools/call", CALL)).greet()
    played.say(b'{"id":2,"odd":[1.0] , "jsonrpc":"2.0","result":%b}' % result)
    comma = b"" if result == b"{ }" else b","
    said = b'{"resultType":"complete",%b%b%b' % (SERVER_INFO, comma, result[1:].lstrip())
    assert played.answers == [b'{"id":7,"odd":[1.0] , "jsonrpc":"2.0","result":%b}' % said]


def test_the_meta_of_a_result_stays() -> None:
    """Who answered is put beside it."""
    played = Played(request("tools/call", CALL)).greet()
    played.say({"id": 2, "result": {"_meta": {"a": 1}}})
    info = {"io.modelcontextprotocol/serverInfo": {"name": "played", "version": "1", "x": 1000.0}}
    assert played.answer()["result"] == {"resultType": "complete", "_meta": {"a": 1, **info}}


@pytest.mark.parametrize("result", [b"null", b"[1.0]", b'"\\ud83d"', b"12345678901234567890123"])
def test_a_result_that_is_no_object_passes_as_it_is(result: bytes) -> None:
    """There is nowhere to say anything in it."""
    played = Played(request("x/y")).greet().say(b'{"jsonrpc":"2.0","id":2,"result":%b}' % result)
    assert played.answers == [b'{"jsonrpc":"2.0","id":7,"result":%b}' % result]


@pytest.mark.parametrize(
    "method", ["tools/list", "prompts/list", "resources/list", "resources/templates/list"]
)
def test_lists_may_not_be_kept(method: str) -> None:
    """The server does not say for how long."""
    result = Played(request(method)).greet().say({"id": 2, "result": {"nextCursor": ""}}).answer()["result"]
    assert (result["ttlMs"], result["cacheScope"], result["nextCursor"]) == (0, "private", "")


def test_a_server_that_says_how_long_a_result_may_be_kept_is_believed() -> None:
    """Nothing is said twice."""
    played = Played(request("tools/list")).greet()
    played.say(b'{"jsonrpc":"2.0","id":2,"result":{"ttlMs":5,"cacheScope":"public"}}')
    assert played.answers[0].count(b"ttlMs") == 1


def test_what_a_server_says_to_a_handshake_is_what_is_discovered() -> None:
    """All of it, but for what is said elsewhere and for the tasks of the handshake era."""
    more = b',"instructions":"\\ud83d","odd":{"big":12345678901234567890123},"_meta":{"m":1.0}'
    played = Played(request("server/discover"))
    played.greet({"logging": {}, "tasks": {"list": {}}, "experimental": {"x": 1}}, more=more)
    assert played.conversation.over
    (raw,) = played.answers
    for kept in (b'"\\ud83d"', b'{"big":12345678901234567890123}', b'"m":1.0', b'"x":1e3'):
        assert kept in raw
    result = json.loads(raw)["result"]
    info = result["_meta"].pop("io.modelcontextprotocol/serverInfo")
    assert info == {"name": "played", "version": "1", "x": 1000.0}
    assert result == {
        "resultType": "complete",
        "ttlMs": 0,
        "cacheScope": "private",
        "supportedVersions": [REVISION],
        "capabilities": {"logging": {}, "experimental": {"x": 1}},
        "instructions": "\ud83d",
        "odd": {"big": 12345678901234567890123},
        "_meta": {"m": 1.0},
    }


@pytest.mark.parametrize(
    "error",
    [
        b'{"code":-32602,"message":"\\ud83d","data":{"big":12345678901234567890123}, "x":1.0 }',
        b'{"code":5,"message":""}',
        b'"no"',
        b'{"code":"odd","message":1}',
    ],
)
def test_an_error_keeps_its_bytes(error: bytes) -> None:
    """Whatever it looks like."""
    played = Played(request("tools/call", CALL)).greet()
    played.say(b'{"jsonrpc":"2.0","id":2,"error":%b}' % error)
    assert played.answers == [b'{"jsonrpc":"2.0","id":7,"error":%b}' % error]


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (None, {"uri": "a://b"}),
        ({"x": 1}, {"uri": "a://b", "x": 1}),
        ({"uri": "c://d"}, {"uri": "c://d"}),
        ([1], [1]),
    ],
)
def test_a_resource_that_there_is_not_has_the_code_of_this_era(data: Any, told: Any) -> None:
    """And is named in the data."""
    played = Played(request("resources/read", {"uri": "a://b"})).greet()
    given = {} if data is None else {"data": data}
    played.say({"id": 2, "error": {"code": -32002, "message": "none", **given}})
    assert played.answer()["error"] == {"code": -32602, "message": "none", "data": told}


@pytest.mark.parametrize("id", [b'"2"', b"2.0", b"2"])
def test_an_answer_is_known_by_its_digits(id: bytes) -> None:
    """Some servers answer with another type of id."""
    played = Played(request("tools/call", CALL)).greet()
    assert played.say(b'{"jsonrpc":"2.0","id":%b,"result":{}}' % id).answer()["id"] == 7


def test_an_error_without_an_id_is_that_of_the_only_request() -> None:
    """There is no other that it could be of."""
    played = Played(request("tools/call", CALL)).greet()
    assert played.say({"id": None, "error": {"code": -32700, "message": "what?"}}).answer()["id"] == 7


def test_a_reply_that_cannot_be_used_fails_the_request() -> None:
    """Any other thing that is no message is somebody else's business."""
    played = Played(request("tools/call", CALL)).greet()
    assert played.conversation.receive_fault(Fault(FaultKind.PARSE_ERROR, "noise")) is None
    assert (
        played.conversation.receive_fault(Fault(FaultKind.PARSE_ERROR, "other", b"9", is_reply=True)) is None
    )
    steps = played.conversation.receive_fault(Fault(FaultKind.PARSE_ERROR, "cut", b"2", is_reply=True))
    assert steps is not None
    played.do(steps)
    assert [str(error) for error in played.failures] == ["played: its reply cannot be used: cut"]


@pytest.mark.parametrize("greeted", [False, True])
def test_a_server_that_is_lost_fails_the_request_once(greeted: bool) -> None:
    """With the reason; in order as well, since that is no answer."""
    reason = TransportBroken("the pipe broke")
    played = Played(request("tools/call", CALL))
    if greeted:
        played.greet()
    played.do(played.conversation.lose(reason))
    played.do(played.conversation.lose(None))
    played.say(DONE)
    assert (played.failures, played.answers) == ([reason], [])

    ended = Played(request("tools/call", CALL))
    if greeted:
        ended.greet()
    ended.do(ended.conversation.lose(None))
    doing = "it answered tools/call" if greeted else "it shook hands"
    assert [str(error) for error in ended.failures] == [f"played ended before {doing}"]


def test_a_request_that_could_not_be_sent_fails() -> None:
    """Of the others of its connection it is not known that they could."""
    reason = TransportBroken("HTTP 500")
    played = Played(request("tools/call", CALL)).greet()
    played.do(played.conversation.fail_sent(b"9", reason))
    assert played.failures == []
    played.do(played.conversation.fail_sent(b"2", reason))
    assert played.failures == [reason]


# Meanwhile.


def test_a_cancelled_request_is_cancelled_at_the_server() -> None:
    """Under the id that it has there; what comes of it is not heard."""
    played = Played(request("tools/call", CALL)).greet()
    played.do(played.conversation.cancel("enough"))
    assert played.last() == {
        "jsonrpc": "2.0",
        "method": "notifications/cancelled",
        "params": {"requestId": 2, "reason": "enough"},
    }
    played.say(DONE, {"method": "notifications/progress", "params": {"progressToken": 1, "progress": 1}})
    assert (played.answers, played.failures, played.told) == ([], [], [])


def test_a_handshake_is_not_cancelled() -> None:
    """It must not be."""
    played = Played(request("tools/call", CALL))
    played.do(played.conversation.cancel("enough"))
    assert (len(played.sent), played.conversation.over) == (1, True)


def test_progress_passes_as_it_is() -> None:
    """With the token of the request."""
    played = Played(request("tools/call", {**CALL}, progressToken="t")).greet()
    assert played.last()["params"]["_meta"] == {"progressToken": "t"}
    raw = b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":1.0e0,"x":1}}'
    assert played.say(raw).told == [raw]


def test_progress_that_was_not_wanted_is_not_told() -> None:
    """There is no token that it could have."""
    played = Played(request("tools/call", CALL)).greet()
    played.say({"method": "notifications/progress", "params": {"progressToken": "t", "progress": 1}})
    assert played.told == []


LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")


@pytest.mark.parametrize("wanted", [None, "debug", "warning", "emergency"])
def test_log_messages_are_told_from_the_level_on_that_the_request_wants(wanted: str | None) -> None:
    """One of no known level cannot be too slight; without a level there are none."""
    played = Played(request("tools/call", CALL, level=wanted)).greet()
    if wanted is not None:
        played.say({"id": 2, "result": {}})
    for level in (*LEVELS, "loud"):
        played.say({"method": "notifications/message", "params": {"level": level, "data": 1}})
    told = [json.loads(each)["params"]["level"] for each in played.told]
    assert told == ([] if wanted is None else [*LEVELS[LEVELS.index(wanted) :], "loud"])


@pytest.mark.parametrize(
    "method",
    [
        "notifications/tools/list_changed",
        "notifications/resources/updated",
        "notifications/elicitation/complete",
        "notifications/tasks/status",
        "notifications/cancelled",
    ],
)
def test_what_is_not_told_on_a_request_is_not(method: str) -> None:
    """Changes are told to who listens, the rest to nobody."""
    played = Played(request("tools/call", CALL, level="debug")).greet()
    assert played.say({"method": method, "params": {"uri": "a://b"}}).told == []


def test_what_no_revision_knows_is_told_on_the_request() -> None:
    """An extension may mean it."""
    raw = b'{"jsonrpc":"2.0","method":"x/told","params":{"a":1.0}}'
    assert Played(request("x/y")).greet().say(raw).told == [raw]


def test_a_conversation_that_was_lost_and_opened_anew_has_its_log_level_again() -> None:
    """The server does not know it any more."""
    played = Played(request("tools/call", CALL, level="error")).greet().say({"id": 2, "result": {}})
    played.do(played.conversation.reopened())
    assert (played.last()["method"], played.last()["params"]) == ("logging/setLevel", {"level": "error"})
    assert played.say({"id": 4, "result": {}}, {"id": 3, "result": {}}).answer()["id"] == 7


# The server asks.


def test_a_sign_of_life_is_given() -> None:
    """At any time."""
    played = Played(request("tools/list")).ask("p", "ping")
    assert played.last() == {"jsonrpc": "2.0", "id": "p", "result": {}}
    assert played.greet().ask(1.5, "ping").last() == {"jsonrpc": "2.0", "id": 1.5, "result": {}}


@pytest.mark.parametrize("method", ["tools/list", "completion/complete", "x/y", "server/discover"])
def test_other_methods_cannot_ask(method: str) -> None:
    """The server is told so in a sentence."""
    played = Played(request(method)).ask(1, "roots/list")
    assert played.last() == {
        "jsonrpc": "2.0",
        "id": 1,
        "error": {
            "code": -32601,
            "message": f"roots/list: the client is stateless and cannot be asked during {method}",
        },
    }


NOT_DECLARED = "the client did not declare the capability"


REFUSED: list[Any] = [
    ({}, "roots/list", None, -32601, f"{NOT_DECLARED} 'roots'"),
    ({}, "sampling/createMessage", {}, -32601, f"{NOT_DECLARED} 'sampling'"),
    ({}, "elicitation/create", {}, -32601, f"{NOT_DECLARED} 'elicitation'"),
    (
        {"sampling": {}},
        "sampling/createMessage",
        {"tools": []},
        -32602,
        f"{NOT_DECLARED} 'sampling.tools'",
    ),
    (
        {"elicitation": {}},
        "elicitation/create",
        {"mode": "url"},
        -32602,
        f"{NOT_DECLARED} 'elicitation.url'",
    ),
    (
        {"elicitation": {"url": {}}},
        "elicitation/create",
        {},
        -32602,
        f"{NOT_DECLARED} 'elicitation.form'",
    ),
    (CAPABLE, "elicitation/create", {"task": {}}, -32602, "there are no tasks in 2026-07-28"),
    (CAPABLE, "tasks/list", {}, -32601, "a client of 2026-07-28 answers no such request"),
    (CAPABLE, "x/y", {}, -32601, "a client of 2026-07-28 answers no such request"),
]


@pytest.mark.parametrize(("capabilities", "method", "params", "code", "sentence"), REFUSED)
def test_what_the_client_cannot_be_asked_is_refused(
    capabilities: Any, method: str, params: Any, code: int, sentence: str
) -> None:
    """The client hears nothing of it, and the call goes on."""
    played = Played(request("tools/call", CALL, capabilities=capabilities)).greet().ask(1, method, params)
    error = played.last()["error"]
    assert (error["code"], error["message"].startswith(f"{method}: {sentence}")) == (code, True)
    assert not played.call.wants_input
    played.say(DONE).answer()


def test_what_is_asked_before_the_handshake_is_refused() -> None:
    """Nothing can be said of who asks."""
    played = Played(request("tools/call", CALL)).ask(1, "roots/list")
    assert played.last()["error"] == {"code": -32600, "message": "roots/list: the handshake is not done"}
