"""Messages, ids, builders and guards.  The numbers are those of the promises the module was made after."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anywire.errors import LocalProtocolError
from anywire.wire.codec import decode, encode
from anywire.wire.message import (
    NULL_ID,
    ErrorCodes,
    ErrorObject,
    ErrorResponse,
    Fault,
    FaultKind,
    Notification,
    PlainId,
    Request,
    Response,
    create_error_response,
    create_notification,
    create_request,
    create_response,
    id_key,
    id_token,
    is_notification,
    is_response,
    plain_id,
    validate_request,
)
from tests.wire.strategies import envelopes, id_tokens, thorough

# Builders.


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("ParseError", -32700),
        ("InvalidRequest", -32600),
        ("MethodNotFound", -32601),
        ("InvalidParams", -32602),
        ("InternalError", -32603),
        ("ToolNotFound", -32001),
        ("ToolExecutionError", -32002),
        ("ServerNotInitialized", -32003),
    ],
)
def test_the_codes_have_their_names(name: str, code: int) -> None:
    """Promises 3 and 4: five standard codes and three of header-framed servers."""
    assert ErrorCodes[name] == code
    assert len(ErrorCodes) == 8


def test_a_request_without_params_has_no_such_member() -> None:
    """Promise 5."""
    assert encode(create_request(1, "x")) == b'{"jsonrpc":"2.0","id":1,"method":"x"}'
    assert encode(create_request(1, "x", None)) == b'{"jsonrpc":"2.0","id":1,"method":"x","params":null}'


def test_the_id_of_a_response_may_be_null() -> None:
    """Promise 6."""
    assert encode(create_response(None, {})) == b'{"jsonrpc":"2.0","id":null,"result":{}}'
    assert create_error_response(None, -32700, "x").id == NULL_ID


def test_an_error_has_data_only_if_given() -> None:
    """Promise 7."""
    assert create_error_response(1, -1, "x").error == b'{"code":-1,"message":"x"}'
    assert create_error_response(1, -1, "x", None).error == b'{"code":-1,"message":"x","data":null}'
    assert create_error_response("a", ErrorCodes.ToolNotFound, "x", [1]).error == (
        b'{"code":-32001,"message":"x","data":[1]}'
    )


def test_a_notification_has_no_id() -> None:
    """Promise 8."""
    assert encode(create_notification("x", {"a": 1})) == b'{"jsonrpc":"2.0","method":"x","params":{"a":1}}'
    assert encode(create_notification("x")) == b'{"jsonrpc":"2.0","method":"x"}'


def test_half_a_pair_in_what_is_built_costs_no_reply() -> None:
    for message in (
        create_request(1, "x", "\ud800"),
        create_notification("x", ["\ud800"]),
        create_response(1, {"text": "\ud800"}),
        create_error_response(1, -1, "\ud800", "\udc00"),
    ):
        assert "\ufffd" in encode(message).decode()


@pytest.mark.parametrize(
    "id", [None, True, b"1", [1], float("nan"), float("inf"), pytest.param(10**5000, id="5000-digits")]
)
def test_what_is_no_id_is_refused(id: object) -> None:
    with pytest.raises(LocalProtocolError):
        id_token(id)  # pyright: ignore[reportArgumentType] that is the test


# Guards.

REQUEST = {"jsonrpc": "2.0", "id": 1, "method": "x"}


@pytest.mark.parametrize(
    "value", [REQUEST, REQUEST | {"id": "a"}, REQUEST | {"id": 0}, REQUEST | {"id": ""}, Request(b"1", "x")]
)
def test_a_request_has_a_version_a_method_and_an_id(value: object) -> None:
    """Promise 18."""
    assert validate_request(value)


@pytest.mark.parametrize(
    "value",
    [
        {"id": 1, "method": "x"},
        REQUEST | {"jsonrpc": "1.0"},
        REQUEST | {"jsonrpc": 2.0},
        {"jsonrpc": "2.0", "id": 1},
        REQUEST | {"method": ""},
        REQUEST | {"method": 7},
        {"jsonrpc": "2.0", "method": "x"},
        REQUEST | {"id": None},
        REQUEST | {"id": True},
        REQUEST | {"id": [1]},
        Request(b"1", ""),
        Notification("x"),
        Response(b"1", b"{}"),
    ],
)
def test_what_lacks_one_of_them_is_no_request(value: object) -> None:
    """Promise 18; unlike the model, an id of null is none."""
    assert not validate_request(value)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"method": "x"}, True),
        ({"jsonrpc": "2.0", "method": "x", "params": {}}, True),
        (Notification("x"), True),
        (REQUEST, False),
        ({"method": "x", "id": None}, False),
        ({"method": 7}, False),
        ({}, False),
        (Request(b"1", "x"), False),
    ],
)
def test_a_notification_has_a_method_and_no_id(value: object, expected: bool) -> None:
    """Promise 19."""
    assert is_notification(value) is expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"id": 1, "result": None}, True),
        ({"id": 1, "error": {}}, True),
        (Response(b"1", b"{}"), True),
        (ErrorResponse(None, b"{}"), True),
        (REQUEST, False),
        ({}, False),
        (Notification("x"), False),
    ],
)
def test_a_response_has_a_result_or_an_error(value: object, expected: bool) -> None:
    """Promise 20."""
    assert is_response(value) is expected


@pytest.mark.parametrize(
    "value", [None, 1, "x", b"x", [], [REQUEST], True, 1.5, object(), Fault(FaultKind.STRAY, "x")]
)
def test_the_guards_take_anything(value: object) -> None:
    """Promise 21: null and everything else."""
    assert not validate_request(value)
    assert not is_notification(value)
    assert not is_response(value)


plain_data = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda children: (
        st.lists(children) | st.dictionaries(st.sampled_from(["jsonrpc", "id", "method", "result"]), children)
    ),
    max_leaves=8,
)


@given(plain_data)
@thorough(200)
def test_the_guards_raise_for_no_data(value: object) -> None:
    """Promise 21."""
    assert [type(guard(value)) for guard in (validate_request, is_notification, is_response)] == [bool] * 3


@given(envelopes())
@thorough(300)
def test_the_guards_agree_with_the_codec(frame: bytes) -> None:
    message, value = decode(frame), json.loads(frame)

    if isinstance(message, Request):
        assert validate_request(value)
    if isinstance(message, Notification):
        assert is_notification(value)
    if isinstance(message, Response | ErrorResponse):
        assert is_response(value)


# Equality.


def test_messages_are_equal_by_content_and_not_by_bytes() -> None:
    one, other = (
        decode(b'{"jsonrpc":"2.0","id":1,"method":"x"}'),
        decode(b'{"id":1,"method":"x","jsonrpc":"2.0"}'),
    )

    assert one == other == Request(b"1", "x")
    assert hash(one) == hash(other)
    assert not one != other  # noqa: SIM202 the other operator is what is looked at
    assert one != Request(b"1.0", "x")
    assert one != Request(b"1", "x", b"null")


def test_messages_of_different_kinds_differ() -> None:
    assert Response(b"1", b"{}") != ErrorResponse(b"1", b"{}")
    assert Notification("x") != "x"
    assert len({Request(b"1", "x"), Request(b"1", "x", frame=b"z"), Notification("x")}) == 2


@pytest.mark.parametrize(
    "message", [Request(b"1", "x"), Notification("x"), Response(b"1", b"{}"), ErrorResponse(None, b"{}")]
)
def test_a_message_cannot_be_changed_in_place(message: object) -> None:
    with pytest.raises(AttributeError):
        message.frame = b"x"  # pyright: ignore[reportAttributeAccessIssue] that is the test


# Ids.


@pytest.mark.parametrize(
    ("token", "value"),
    [
        (b"1", 1),
        (b"-1", -1),
        (b"1.5", 1.5),
        (b'"1"', "1"),
        (b'""', ""),
        (b"9007199254740993", 9007199254740993),
        (b"123456789012345678901234567890", 123456789012345678901234567890),
        (b'"\xc3\xa9"', "é"),
        (b'"\\u00e9"', "é"),
        (b'"\\ud800"', "\ud800"),
        (b'"\\ud83d\\ude00"', "\U0001f600"),
    ],
)
def test_an_id_is_a_plain_value_and_back(token: bytes, value: PlainId) -> None:
    assert plain_id(token) == value
    assert type(plain_id(token)) is type(value)
    assert plain_id(id_token(value)) == value


@pytest.mark.parametrize(
    "token",
    [
        b"",
        b"null",
        b"true",
        b"[1]",
        b"{}",
        b"nope",
        b'"a',
        b"1e999",
        pytest.param(b"9" * 5000, id="5000-digits"),
        b'["\\u0061"]',
        b'"\\x"',
        b'"\xff"',
    ],
)
def test_a_token_that_is_no_id_or_that_python_cannot_hold_is_refused(token: bytes) -> None:
    with pytest.raises(LocalProtocolError):
        plain_id(token)


@pytest.mark.parametrize(
    ("token", "other"),
    [
        (b'"a"', b'"\\u0061"'),
        (b'"/"', b'"\\/"'),
        ('"é"'.encode(), b'"\\u00E9"'),
        (b'"\\ud83d\\ude00"', '"\U0001f600"'.encode()),
        (b"0", b"-0"),
        (b"1.0", b"1.00"),
        (b"100.0", b"1e2"),
        (b"-123456789012345678901234567890", b"-123456789012345678901234567890"),
    ],
)
def test_two_spellings_of_one_id_have_one_key(token: bytes, other: bytes) -> None:
    assert id_key(token) == id_key(other)


def test_ids_that_differ_in_value_or_type_have_different_keys() -> None:
    tokens = [
        b"1",
        b"1.0",
        b'"1"',
        b'"1.0"',
        b"2",
        b"9007199254740993",
        b"9007199254740992",
        b'""',
        b"0",
        b"-1",
        b'"a"',
        b'"A"',
        b'"\\ud800"',
        b'"\\udc00"',
        b"9" * 5000,
        b"-" + b"9" * 5000,
        b"1e999",
    ]

    assert len({id_key(token) for token in tokens}) == len(tokens)


@given(id_tokens.map(str.encode))
@thorough(300)
def test_a_key_is_an_id_with_the_same_key(token: bytes) -> None:
    assert id_key(id_key(token)) == id_key(token)


@given(st.binary(max_size=12))
@thorough(300)
def test_a_key_is_made_of_anything(token: bytes) -> None:
    assert isinstance(id_key(token), bytes)


# Errors.


@pytest.mark.parametrize(
    ("error", "code", "message", "data"),
    [
        (b'{"code":-32601,"message":"no"}', -32601, "no", None),
        (b'{"code":-1,"message":"no","data":{"n": 1.0e-5}}', -1, "no", b'{"n": 1.0e-5}'),
        (b'{"code":"-32601","message":"no"}', -32601, "no", None),
        (b'{"code":-1,"message":"cut \\ud83d","data":"\\ud83d"}', -1, "cut \ufffd", b'"\\ufffd"'),
        (b'{"code":-1}', -1, "", None),
        (b'{"message":"no"}', -32603, "no", None),
        (b'{"code":-1,"message":null}', -1, '{"code":-1,"message":null}', None),
        (b'{"code":-1,"message":["a"],"data":7}', -1, '{"code":-1,"message":["a"],"data":7}', b"7"),
        (b'{"code":null,"message":"no"}', -32603, "no", None),
        (b'{"code":true,"message":"no"}', -32603, "no", None),
        (b'{"code":1.5,"message":"no"}', -32603, "no", None),
        (b'{"code":{},"message":"no","data":null}', -32603, "no", b"null"),
        (b'"boom"', -32603, '"boom"', None),
        (b"null", -32603, "null", None),
        (b"[1]", -32603, "[1]", None),
        (b"{}", -32603, "", None),
        pytest.param(b'{"code":' + b"9" * 5000 + b',"message":"no"}', -32603, "no", None, id="5000-digits"),
    ],
)
def test_an_error_is_read_as_far_as_it_goes(
    error: bytes, code: int, message: str, data: bytes | None
) -> None:
    detail = ErrorResponse(b"1", error).detail()

    assert (detail.code, detail.message) == (code, message)
    assert (None if isinstance(detail.data, msgspec.UnsetType) else bytes(detail.data)) == data


def test_an_error_that_nests_too_deeply_is_its_own_text() -> None:
    error = b'{"code":-1,"data":' + b"[" * 100_000 + b"]" * 100_000 + b"}"

    assert isinstance(ErrorResponse(b"1", error).detail(), ErrorObject)


# Faults.


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        (FaultKind.PARSE_ERROR, -32700),
        (FaultKind.INVALID_REQUEST, -32600),
        (FaultKind.TOO_LARGE, -32600),
        (FaultKind.BAD_HEADER, -32700),
        (FaultKind.FRAMING_CHANGED, -32700),
        (FaultKind.STRAY, -32700),
        (FaultKind.TRUNCATED, -32700),
    ],
)
def test_each_kind_of_fault_has_its_code(kind: FaultKind, code: int) -> None:
    assert Fault(kind, "x").code == kind.code == code


@pytest.mark.parametrize("kind", FaultKind)
def test_a_fault_is_answered_unless_it_was_a_reply_or_no_message(kind: FaultKind) -> None:
    reply = Fault(kind, "why", id=b'"a"').answer()

    assert Fault(kind, "why", id=b'"a"', is_reply=True).answer() is None
    if kind is FaultKind.STRAY:
        assert reply is None
    else:
        assert reply is not None
        assert (reply.id, reply.detail()) == (b'"a"', ErrorObject(kind.code, "why"))
