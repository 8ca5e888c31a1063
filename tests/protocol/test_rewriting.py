"""One name in a message is changed; every other byte stays."""

from __future__ import annotations

import pytest

from anywire.protocol.rewriting import (
    progress_token,
    repeats_token,
    subscription_tag,
    swap_progress_token,
    with_id,
    with_member,
    with_subscription_tag,
)
from anywire.wire.codec import decode, encode
from anywire.wire.message import ErrorResponse, Notification, Request, Response

ODD = b'"big":12345678901234567890123, "f":1.0e-5,"s":"\\u00e9\\/\\ud800","z":null'


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            b'{"jsonrpc":"2.0","id":7,"method":"m","params":{%b}}',
            b'{"jsonrpc":"2.0","id":123,"method":"m","params":{%b}}',
        ),
        (
            b'{"jsonrpc": "2.0", "id": 7, "method": "m", "params": {%b}}',
            b'{"jsonrpc": "2.0", "id": 123, "method": "m", "params": {%b}}',
        ),
        (
            b'{"method":"m","params":{%b},"jsonrpc":"2.0","id":7}',
            b'{"method":"m","params":{%b},"jsonrpc":"2.0","id":123}',
        ),
        (
            b'{"method": "m", "params": {%b}, "jsonrpc": "2.0", "id": 7}',
            b'{"method": "m", "params": {%b}, "jsonrpc": "2.0", "id": 123}',
        ),
        (
            b'{"method":"m","params":{%b,"id":7},"id" : 7 ,"jsonrpc":"2.0"}',
            b'{"method":"m","params":{%b,"id":7},"id" : 123 ,"jsonrpc":"2.0"}',
        ),
        (
            b'\t{"id":7,"x":{"id":7},"method":"m","jsonrpc":"2.0","params":{%b}} ',
            b'{"id":123,"x":{"id":7},"method":"m","jsonrpc":"2.0","params":{%b}}',
        ),
        (
            b'{"x":"a,\\"id\\":7","\\u0069d":7,"method":"m","jsonrpc":"2.0","params":{%b,"id":7}}',
            b'{"x":"a,\\"id\\":7","\\u0069d":123,"method":"m","jsonrpc":"2.0","params":{%b,"id":7}}',
        ),
    ],
)
def test_another_id_stands_where_the_old_one_stood(before: bytes, after: bytes) -> None:
    """Wherever in the message that is, and whatever else is called so."""
    message = decode(before % ODD)
    assert isinstance(message, Request)
    renamed = with_id(message, b"123")
    assert renamed.id == b"123"
    assert encode(renamed).strip() == after % ODD


def test_an_error_without_an_id_gets_one() -> None:
    """A server may leave it out; the client that asked is told its own."""
    message = decode(b'{"jsonrpc":"2.0","error":{"code":1,"message":"m"}}')
    assert isinstance(message, ErrorResponse)
    assert decode(encode(with_id(message, b'"a"'))) == ErrorResponse(b'"a"', message.error)


def test_a_progress_token_is_changed_where_it_stands() -> None:
    """Not one that is called so elsewhere."""
    frame = b'{"jsonrpc":"2.0","id":1,"method":"m","params":{"progressToken":5,"_meta":{%b,"progressToken":"t"},%b}}'
    message = decode(frame % (ODD, ODD))
    assert isinstance(message, Request)
    assert progress_token(message.params) == b'"t"'
    renamed, old = swap_progress_token(message, b"9")
    assert old == b'"t"'
    assert encode(renamed) == frame.replace(b'"t"', b"9") % (ODD, ODD)


def test_a_token_whose_name_is_written_in_escapes_is_found() -> None:
    """Else it would pass unseen, and mean the request of somebody else."""
    params = b'{"\\u005fmeta":{"progress\\u0054oken":3}}'
    assert progress_token(params) == b"3"
    renamed, _ = swap_progress_token(Request(b"1", "m", params), b"9")
    assert renamed.params == b'{"\\u005fmeta":{"progress\\u0054oken":9}}'


@pytest.mark.parametrize(
    ("params", "expected", "old"),
    [
        (b'{"_meta":{ "progressToken" :\t1 },"x":1}', b'{"_meta":{ "progressToken" :\t9 },"x":1}', b"1"),
        (
            b'{"_meta":{"a":{"progressToken":1},"progressToken":1}}',
            b'{"_meta":{"a":{"progressToken":1},"progressToken":9}}',
            b"1",
        ),
        (
            b'{"_meta":{"a":"progressToken","progressToken":"b"}}',
            b'{"_meta":{"a":"progressToken","progressToken":9}}',
            b'"b"',
        ),
        (
            b'{"_meta":{"a":{"progressToken":1},"progress\\u0054oken":2}}',
            b'{"_meta":{"a":{"progressToken":1},"progress\\u0054oken":9}}',
            b"2",
        ),
        (
            b'{"x":{"progressToken":1},"_meta":{"progressToken":1}}',
            b'{"x":{"progressToken":1},"_meta":{"progressToken":9}}',
            b"1",
        ),
        (b'{"_meta":{"a":{"progressToken":1}}}', b'{"_meta":{"a":{"progressToken":1}}}', None),
        (b'{"x":{"_meta":{"progressToken":1}}}', b'{"x":{"_meta":{"progressToken":1}}}', None),
        (b'{"_meta":["progressToken"]}', b'{"_meta":["progressToken"]}', None),
        (b"[1]", b"[1]", None),
    ],
)
def test_only_the_token_itself_is_changed(params: bytes, expected: bytes, old: bytes | None) -> None:
    """Whatever else is called so, or looks like it; where there is none, nothing is."""
    frame = b'{"id":1,"jsonrpc":"2.0","method":"m","params":%b}'
    message = decode(frame % params)
    assert isinstance(message, Request)
    renamed, was = swap_progress_token(message, b"9")
    assert (renamed.params, was) == (expected, old)
    assert encode(renamed) == frame % expected


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        (b'{"_meta":{"progressToken":1},"_meta":{"progressToken":2}}', True),
        (b'{"_meta":{"progressToken":1,"progressToken":2}}', True),
        (b'{"_meta":{"progressToken":1},"\\u005fmeta":{}}', True),
        (b'{"_meta":{"progressToken":1},"a":{"_meta":{"progressToken":1}}}', False),
        (b'{"_meta":{"progressToken":1}}', False),
        (b"[]", False),
        (None, False),
    ],
)
def test_a_token_that_occurs_twice_is_seen(params: bytes | None, expected: bool) -> None:
    """Two readers could take two different ones."""
    assert repeats_token(params) is expected


def test_the_tag_of_a_subscription_is_changed_in_notifications_and_in_its_result() -> None:
    """It is the id of the request, which the client spells in its own way."""
    key = b"io.modelcontextprotocol/subscriptionId"
    told = b'{"jsonrpc":"2.0","method":"m","params":{"_meta":{"a":1.0,"%b":%b},%b}}'
    note = decode(told % (key, b"4", ODD))
    assert isinstance(note, Notification)
    assert subscription_tag(note.params) == b"4"
    assert encode(with_subscription_tag(note, b'"x"')) == told % (key, b'"x"', ODD)
    ended = b'{"jsonrpc":"2.0","id":4,"result":{"resultType":"complete","_meta":{"%b":%b}}}'
    result = decode(ended % (key.replace(b"/", b"\\/"), b"4"))
    assert isinstance(result, Response)
    assert encode(with_subscription_tag(result, b"0.5")) == ended % (key.replace(b"/", b"\\/"), b"0.5")


def test_params_that_are_no_object_stay_what_they_are() -> None:
    """There is nothing in them to be renamed."""
    message = Notification("notifications/progress", b"[1]")
    assert with_member(message, "progressToken", b"3") is message
