"""Names and URIs change where they stand, and nothing else does."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anywire.bridge.fleet.names import Names, Unlisted
from anywire.bridge.fleet.renaming import (
    Addressed,
    Ambiguous,
    address,
    named_error,
    named_item,
    named_notification,
    named_question,
    named_result,
)
from anywire.wire.codec import decode
from anywire.wire.message import ErrorResponse, Notification, Request, Response

NAMES = Names()
NAMES.name_servers(["s", "t"])
S = NAMES["s"]

#: What must survive: odd numbers, names that nobody knows, escapes, white space.
ODD = b'"n": 123456789012345678901234567890, "f":1.0e-5 ,"\\u00e9":"\\ud83d","\xf0\x9f\x99\x82":null'


def request(method: str, params: bytes) -> Request:
    """A request as it came on the wire."""
    message = decode(
        b'{"method":"%b", "x":1.0,"params":%b,"jsonrpc":"2.0","id":7}' % (method.encode(), params)
    )
    assert isinstance(message, Request)
    return message


def result_of(result: bytes) -> Response:
    """A reply as it came on the wire."""
    message = decode(b'{"jsonrpc":"2.0","x":1.0,"id":7,"result": %b }' % result)
    assert isinstance(message, Response)
    return message


@pytest.mark.parametrize(
    ("method", "merged", "own"),
    [
        ("tools/call", b'"name":"s__do"', b'"name":"do"'),
        ("prompts/get", b'"name" : "s__do"', b'"name" : "do"'),
        ("resources/read", b'"uri":"s+file:///x"', b'"uri":"file:///x"'),
        ("resources/subscribe", b'"uri":"ui://s/x"', b'"uri":"ui://x"'),
        ("resources/unsubscribe", b'"uri":"S+x:y"', b'"uri":"x:y"'),
        ("completion/complete", b'"ref":{"type":"ref/prompt","name":"s__p"}', b'"ref":{"type":"ref/prompt","name":"p"}'),
        ("completion/complete", b'"ref":{"uri":"s+x:{y}","type":"ref/resource"}', b'"ref":{"uri":"x:{y}","type":"ref/resource"}'),
    ],
)  # fmt: skip
def test_a_request_goes_to_its_server_with_the_own_name(method: str, merged: bytes, own: bytes) -> None:
    """Everything else of it, the envelope as well, stays byte for byte."""
    found = address(NAMES, request(method, b"{%b, %b}" % (ODD, merged)))
    assert isinstance(found, Addressed)
    assert found.label == S
    expected = request(method, b"{%b, %b}" % (ODD, own))
    assert (found.request.params, found.request.frame) == (expected.params, expected.frame)


def test_a_request_that_names_two_things_goes_nowhere() -> None:
    """Two readers could take two different ones."""
    twice = b'{"name":"s__a","n\\u0061me":"t__b"}'
    assert address(NAMES, request("tools/call", twice)) == Ambiguous("name")
    refs = b'{"ref":{"type":"ref/prompt","name":"s__a","name":"s__b"}}'
    assert address(NAMES, request("completion/complete", refs)) == Ambiguous("ref")


def test_a_request_that_names_nothing_goes_nowhere() -> None:
    """Also one without params, or with params of another shape."""
    for params in (b"{}", b"[]", b'{"name":1}', b'{"name":"a"}', b'{"uri":"file:///x"}', b'{"ref":1}'):
        for method in ("tools/call", "resources/read", "completion/complete"):
            assert address(NAMES, request(method, params)) is None
    assert address(NAMES, Request(b"1", "tools/call")) is None


def test_a_cut_name_needs_its_list() -> None:
    """Whose it is is known."""
    other = Names()
    other.name_servers(["s"])
    cut = other.name(other["s"], b'"%b"' % (b"x" * 90))
    assert cut is not None
    assert address(NAMES, request("tools/call", b'{"name":%b}' % cut)) == Unlisted(S)


@pytest.mark.parametrize(
    ("method", "own", "merged"),
    [
        ("tools/list", b'"name":"do"', b'"name":"s__do"'),
        ("tools/list", b'"name":"do","_meta":{"ui":{"resourceUri":"ui://v", "x":1.0}}',
         b'"name":"s__do","_meta":{"ui":{"resourceUri":"ui://s/v", "x":1.0}}'),
        ("tools/list", b'"name":"do","_meta":{"openai/outputTemplate":"ui://v"}',
         b'"name":"s__do","_meta":{"openai/outputTemplate":"ui://s/v"}'),
        ("tools/list", b'"_meta":{"ui/resourceUri":"ui://v","ui":{"resourceUri":"ui://w"}},"name":"do"',
         b'"_meta":{"ui/resourceUri":"ui://s/v","ui":{"resourceUri":"ui://s/w"}},"name":"s__do"'),
        ("prompts/list", b'"name":"do"', b'"name":"s__do"'),
        ("resources/list", b'"uri":"file:///x","name":"x"', b'"uri":"s+file:///x","name":"x"'),
        ("resources/templates/list", b'"uriTemplate":"ui://{x}"', b'"uriTemplate":"ui://s/{x}"'),
    ],
)  # fmt: skip
def test_an_item_of_a_list_has_its_name_among_all(method: str, own: bytes, merged: bytes) -> None:
    """Everything else of it stays byte for byte."""
    item = b"{%b , %b}"
    assert named_item(NAMES, S, method, item % (ODD, own)) == item % (ODD, merged)


def test_an_item_without_a_name_is_left_out() -> None:
    """Nobody could ask for it."""
    for item in (b"{}", b"1", b'{"name":1}', b'{"name":null}', b"[]"):
        assert named_item(NAMES, S, "tools/list", item) is None
        assert named_item(NAMES, S, "resources/list", item) is None


@pytest.mark.parametrize(
    ("method", "own", "merged"),
    [
        ("tools/call", b'"content":[{"type":"text","text":"uri"}, {"type":"resource_link","uri":"a:b"},1]',
         b'"content":[{"type":"text","text":"uri"},{"type":"resource_link","uri":"s+a:b"},1]'),
        ("tools/call", b'"content":[{"resource":{"uri":"ui://b","text":"\\ud83d"},"type":"resource"}]',
         b'"content":[{"resource":{"uri":"ui://s/b","text":"\\ud83d"},"type":"resource"}]'),
        ("prompts/get", b'"messages":[{"content":{"type":"resource_link","uri":"a:b"}}]',
         b'"messages":[{"content":{"type":"resource_link","uri":"s+a:b"}}]'),
        ("resources/read", b'"contents":[{"uri":"a:b","text":"1"}]', b'"contents":[{"uri":"s+a:b","text":"1"}]'),
    ],
)  # fmt: skip
def test_a_result_has_its_resources_under_their_names_among_all(
    method: str, own: bytes, merged: bytes
) -> None:
    """Links and what is embedded; everything else stays byte for byte, but for the space between items."""
    reply = named_result(NAMES, S, method, result_of(b"{%b,%b}" % (ODD, own)))
    expected = result_of(b"{%b,%b}" % (ODD, merged))
    assert (reply.result, reply.frame) == (expected.result, expected.frame)


@pytest.mark.parametrize(
    "result",
    [
        b'{"content":[{"type":"text","text":"a uri"}] , "structuredContent":{"uri":"a:b"}}',
        b'{"content":{"type":"resource_link","uri":"a:b"}}',
        b'{"content":[{"type":"resource_link","uri":1},{"type":"resource","resource":[{"uri":"a:b"}]}]}',
        b'["uri"]',
        b'"uri"',
    ],
)
def test_what_names_no_resource_stays_itself(result: bytes) -> None:
    """The message is the very one that came."""
    reply = result_of(result)
    for method in ("tools/call", "prompts/get", "resources/read", "completion/complete"):
        assert named_result(NAMES, S, method, reply) is reply


def test_an_error_names_the_resource_that_was_asked_for() -> None:
    """Its data has the URI; other data stays."""
    missing = ErrorResponse(b"1", b'{"code":-32002,"message":"m","data":{"uri":"a:b","n":1.0}}')
    named = named_error(NAMES, S, "resources/read", missing)
    assert named.error == b'{"code":-32002,"message":"m","data":{"uri":"s+a:b","n":1.0}}'
    assert named_error(NAMES, S, "tools/call", missing) is missing
    plain = ErrorResponse(b"1", b'{"code":1,"message":"m"}')
    assert named_error(NAMES, S, "resources/read", plain) is plain


def test_notifications_say_whose_they_are() -> None:
    """A log has its server's name before that of its logger; what was updated has its name among all."""
    log = Notification("notifications/message", b'{"level":"info","data":1.0}')
    assert named_notification(NAMES, S, log).params == b'{"logger":"s","level":"info","data":1.0}'
    log = Notification("notifications/message", b'{"level":"info","logger":"db","data":1.0}')
    assert named_notification(NAMES, S, log).params == b'{"level":"info","logger":"s/db","data":1.0}'
    updated = Notification("notifications/resources/updated", b'{"uri":"a:b", "x":1.0}')
    assert named_notification(NAMES, S, updated).params == b'{"uri":"s+a:b", "x":1.0}'
    other = Notification("notifications/whatever", b'{"uri":"a:b"}')
    assert named_notification(NAMES, S, other) is other


def test_what_tools_have_answered_is_renamed_in_a_sampling_as_well() -> None:
    """A model may name it to the client."""
    blocks = (
        b'[{"type":"tool_result","content":[{"type":"resource_link","uri":"%b"}]},{"type":"text","text":"x"}]'
    )
    params = b'{"messages":[{"role":"user","content":%b}],"maxTokens":1.0}'
    asked = Request(b"1", "sampling/createMessage", params % (blocks % b"a:b"))
    assert named_question(NAMES, S, asked).params == params % (blocks % b"s+a:b")
    plain = Request(b"1", "elicitation/create", b'{"uri":"a:b"}')
    assert named_question(NAMES, S, plain) is plain


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["name", "uri", "type", "content", "resource", "_meta", "ui", "ref", "messages"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(JSON)
def test_no_shape_is_too_odd(value: Any) -> None:
    """Whatever stands there, nothing raises, and what comes out is JSON."""
    raw = json.dumps(value).encode()
    for method in ("tools/call", "prompts/get", "resources/read", "completion/complete"):
        json.loads(named_result(NAMES, S, method, Response(b"1", raw)).result)
        address(NAMES, Request(b"1", method, raw))
        json.loads(named_error(NAMES, S, method, ErrorResponse(b"1", raw)).error)
    for method in ("tools/list", "prompts/list", "resources/list", "resources/templates/list"):
        named = named_item(NAMES, S, method, raw)
        assert named is None or isinstance(json.loads(named), dict)
    for notification in ("notifications/message", "notifications/resources/updated"):
        named_notification(NAMES, S, Notification(notification, raw))
    named_question(NAMES, S, Request(b"1", "sampling/createMessage", raw))
