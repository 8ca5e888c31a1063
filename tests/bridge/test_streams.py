"""Which request of the client a message of the server belongs to."""

from __future__ import annotations

import pytest

from anywire.bridge.streams import Belonging
from anywire.wire.message import Notification, Request, id_key


def asked(belonging: Belonging, id: bytes, token: bytes | None = None) -> None:
    """A request goes by, with a progress token of its own."""
    params = b"{}" if token is None else b'{"_meta":{"progressToken":%b}}' % token
    belonging.asked(Request(id, "tools/call", params))


def progress(token: bytes) -> Notification:
    """A report of progress."""
    return Notification("notifications/progress", b'{"progressToken":%b,"progress":1}' % token)


def test_progress_belongs_to_the_request_that_named_its_token() -> None:
    belonging = Belonging()
    asked(belonging, b"1", b'"a"')
    asked(belonging, b"2", b'"b"')

    assert belonging.of(progress(b'"b"')) == b"2"
    belonging.settled(id_key(b"2"))
    assert belonging.of(progress(b'"b"')) is None
    assert belonging.of(progress(b'"a"')) == b"1"


@pytest.mark.parametrize("first_settled", [b"1", b"2"])
def test_a_token_that_is_used_twice_belongs_to_the_later_request(first_settled: bytes) -> None:
    belonging = Belonging()
    asked(belonging, b"1", b'"a"')
    asked(belonging, b"2", b'"a"')
    belonging.settled(id_key(first_settled))

    assert belonging.of(progress(b'"a"')) == (b"2" if first_settled == b"1" else None)


def test_settling_one_of_many_requests_costs_as_little_as_one_of_few() -> None:
    """With a walk over all tokens for each reply, this would take minutes."""
    belonging, count = Belonging(), 50_000
    for number in range(count):
        asked(belonging, b"%d" % number, b"%d" % number)
    for number in range(count):
        belonging.settled(id_key(b"%d" % number))

    assert belonging.of(progress(b"7")) is None
