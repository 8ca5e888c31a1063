"""What need not change keeps its bytes on its way through either translator, wherever it stands."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from anywire.wire.message import Request
from tests.protocol.translate.stage import shaken
from tests.protocol.translate.virtual import Played, message, meta

ODD = {
    "a big integer": "123456789012345678901234567890",
    "a number as it was written": "1.0e-5",
    "more than a double holds": "-1E400",
    "minus zero": "-0",
    "lone surrogates": '"\\ud83d \\udc00"',
    "escapes": '"\\u0061\\/\\u2028"',
    "text": '"\u00e4\u2028\U0001f600"',
    "odd names": '{"":1,"a b":2,"\\u0000":3,"__proto__":{},"\\udfff":4,"_meta":5,"params":{"id":6}}',
    "a name twice": '{"n":1,"n":2}',
    "space": '{ "a" : [ 1 ,\t2 ] }',
    "depth": "[" * 60 + "]" * 60,
}
each_odd = pytest.mark.parametrize("value", ODD.values(), ids=ODD.keys())

#: What a stateless client says of itself, as members.
SAID = json.dumps(meta())[1:-1]


# Each way takes an odd value to the other side and returns what arrived there.


def request_up(value: str) -> bytes:
    stage = shaken()
    params = f'{{"arguments":{value},"acme":{value},"_meta":{{"acme/x":{value}}},"name":"t"}}'
    stage.client(
        f'{{"acme":{value},"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}'.encode()
    )
    return stage.frames[-1]


def custom_request_up(value: str) -> bytes:
    stage = shaken()
    params = f'{{"a":{value},"b":{value},"_meta":{{"acme/x":{value}}}}}'
    stage.client(f'{{"jsonrpc":"2.0","id":1,"method":"acme/do","params":{params},"x":{value}}}'.encode())
    return stage.frames[-1]


def notification_up(value: str) -> bytes:
    stage = shaken()
    stage.client(
        f'{{"jsonrpc":"2.0","method":"acme/told","params":[{value},{value},{value},{value}]}}'.encode()
    )
    return stage.frames[-1]


def result_down(value: str) -> bytes:
    stage = shaken()
    asked = stage.ask("mine", "tools/list")
    members = f'"tools":[{{"name":"t","x":{value}}}],"_meta":{{"acme/x":{value}}},"acme":{value}'
    result = f'{{"ttlMs":1,"cacheScope":"public",{members},"resultType":"complete"}}'
    stage.server(f'{{"result":{result},"acme":{value},"jsonrpc":"2.0","id":{asked["id"]}}}'.encode())
    return stage.frames[-1]


def error_down(value: str) -> bytes:
    stage = shaken()
    asked = stage.ask("mine", "resources/read")
    error = f'{{"code":-32602,"message":"m","data":{{"uri":"a:b","x":{value},"y":{value}}},"acme":{value}}}'
    stage.server(f'{{"jsonrpc":"2.0","error":{error},"id":{asked["id"]},"x":{value}}}'.encode())
    assert json.loads(stage.frames[-1])["error"]["code"] == -32002
    return stage.frames[-1]


def refusal_down(value: str) -> bytes:
    stage = shaken()
    asked = stage.ask("mine", "tools/call")
    error = f'{{"data":[{value},{value}],"code":-32021,"message":"m","acme":{value}}}'
    stage.server(f'{{"jsonrpc":"2.0","error":{error},"id":{asked["id"]},"x":{value}}}'.encode())
    return stage.frames[-1]


def told_down(value: str) -> bytes:
    stage = shaken(server={"tools": {"listChanged": True}})
    listen = stage.to_server.pop()
    said = f'"io.modelcontextprotocol/subscriptionId":{listen["id"]}'
    params = f'{{"x":{value},"_meta":{{"acme/x":{value},{said}}},"y":{value}}}'
    told = f'{{"jsonrpc":"2.0","x":{value},"method":"notifications/tools/list_changed","params":{params}}}'
    stage.server(told.encode())
    assert b"subscriptionId" not in stage.frames[-1]
    return stage.frames[-1]


def question_down(value: str) -> bytes:
    stage = shaken()
    asked = stage.ask(1, "tools/call")
    params = f'{{"message":{value},"x":{value},"_meta":{{"acme/x":{value}}},"requestedSchema":{value}}}'
    wanted = f'{{"a":{{"method":"elicitation/create","params":{params}}}}}'
    result = f'{{"resultType":"input_required","inputRequests":{wanted}}}'
    stage.server(f'{{"jsonrpc":"2.0","id":{asked["id"]},"result":{result}}}'.encode())
    return stage.frames[-1]


def answer_up(value: str) -> bytes:
    stage = shaken()
    asked = stage.ask(1, "tools/call", {"name": "t"})
    wanted = {"resultType": "input_required", "inputRequests": {"a": {"method": "roots/list"}}}
    stage.answer(asked, wanted)
    result = f'{{"x":{value},"roots":[],"_meta":{{"acme/x":{value}}},"y":{value},"z":{value}}}'
    stage.client(f'{{"jsonrpc":"2.0","id":"q-1","result":{result}}}'.encode())
    return stage.frames[-1]


def _played(method: str, params: str, envelope: str = "") -> Played:
    raw = f'{{{envelope}"jsonrpc":"2.0","id":"mine","method":"{method}","params":{params}}}'
    asked = message(raw.encode())
    assert isinstance(asked, Request)
    return Played(asked).greet()


def request_down(value: str) -> bytes:
    params = f'{{"arguments":{value},"acme":{value},"_meta":{{"acme/x":{value},{SAID}}},"name":"t"}}'
    sent = _played("tools/call", params, f'"acme":{value},').sent[-1]
    assert b"io.modelcontextprotocol" not in sent
    return sent


def custom_request_down(value: str) -> bytes:
    params = f'{{"a":{value},"_meta":{{{SAID},"acme/x":{value}}},"b":{value}}}'
    return _played("acme/do", params, f'"acme":{value},').sent[-1]


def result_up(value: str) -> bytes:
    played = _played("tools/list", f'{{"_meta":{{{SAID}}}}}')
    result = f'{{"tools":[{{"x":{value}}}],"_meta":{{"acme/x":{value}}},"acme":{value}}}'
    played.say(f'{{"result":{result},"acme":{value},"jsonrpc":"2.0","id":2}}'.encode())
    return played.answers[0]


def error_up(value: str) -> bytes:
    played = _played("resources/read", f'{{"uri":"a:b","_meta":{{{SAID}}}}}')
    error = f'{{"code":-32002,"message":"m","data":{{"x":{value},"y":{value}}},"acme":{value}}}'
    played.say(f'{{"jsonrpc":"2.0","x":{value},"id":2,"error":{error}}}'.encode())
    assert played.answer()["error"]["code"] == -32602
    return played.answers[0]


def custom_error_up(value: str) -> bytes:
    played = _played("acme/do", f'{{"_meta":{{{SAID}}}}}')
    error = f'{{"data":[{value},{value}],"code":-31000,"message":"m","acme":{value}}}'
    played.say(f'{{"jsonrpc":"2.0","x":{value},"id":2,"error":{error}}}'.encode())
    return played.answers[0]


def told_up(value: str) -> bytes:
    played = _played(
        "subscriptions/listen", f'{{"notifications":{{"toolsListChanged":true}},"_meta":{{{SAID}}}}}'
    )
    params = f'{{"x":{value},"_meta":{{"acme/x":{value}}},"y":{value}}}'
    played.say(
        f'{{"jsonrpc":"2.0","x":{value},"method":"notifications/tools/list_changed","params":{params}}}'.encode()
    )
    assert b"subscriptionId" in played.told[-1]
    return played.told[-1]


def custom_notification_up(value: str) -> bytes:
    played = _played("tools/call", f'{{"name":"t","_meta":{{{SAID}}}}}')
    played.say(
        f'{{"jsonrpc":"2.0","method":"acme/told","params":[{value},{value},{value},{value}]}}'.encode()
    )
    return played.told[-1]


def question_up(value: str) -> bytes:
    played = _played("tools/call", f'{{"name":"t","_meta":{{{SAID}}}}}')
    params = f'{{"message":{value},"x":{value},"_meta":{{"acme/x":{value}}},"requestedSchema":{value}}}'
    played.say(f'{{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{params}}}'.encode())
    played.do(played.call.ask("S"))
    return played.answers[0]


def answer_down(value: str) -> bytes:
    played = _played("tools/call", f'{{"name":"t","_meta":{{{SAID}}}}}').ask("q", "roots/list")
    played.round()
    answer = f'{{"x":{value},"roots":[],"_meta":{{"acme/x":{value}}},"y":{value},"z":{value}}}'
    raw = f'{{"name":"t","_meta":{{{SAID}}},"inputResponses":{{"roots-1":{answer}}}}}'
    again = message(f'{{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{raw}}}'.encode())
    assert isinstance(again, Request)
    assert played.call.fault_of(again) == ""
    played.do(played.call.resume(again, played.conversation.envelope))
    return played.sent[-1]


UPWARD = (
    request_up,
    custom_request_up,
    notification_up,
    result_down,
    error_down,
    refusal_down,
    told_down,
    question_down,
    answer_up,
)
DOWNWARD = (
    request_down,
    custom_request_down,
    result_up,
    error_up,
    custom_error_up,
    told_up,
    custom_notification_up,
    question_up,
    answer_down,
)


def name_of(way: Any) -> str:
    """A way by its name."""
    return way.__name__


@each_odd
@pytest.mark.parametrize("way", UPWARD, ids=name_of)
def test_a_value_crosses_from_a_handshake_client_and_to_it_as_it_is(
    way: Callable[[str], bytes], value: str
) -> None:
    assert way(value).count(value.encode()) >= 4


@each_odd
@pytest.mark.parametrize("way", DOWNWARD, ids=name_of)
def test_a_value_crosses_from_a_stateless_client_and_to_it_as_it_is(
    way: Callable[[str], bytes], value: str
) -> None:
    assert way(value).count(value.encode()) >= 4
