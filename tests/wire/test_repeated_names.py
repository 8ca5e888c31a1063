"""Two readers could take two different messages from one that has a name twice: it is refused."""

from __future__ import annotations

import pytest

from anywire.wire.codec import decode
from anywire.wire.message import Fault, Request, Response


@pytest.mark.parametrize(
    "text",
    [
        b'{"jsonrpc": "2.0", "id": 1, "result": 1, "result": V}',
        b'{"jsonrpc": "2.0", "id": 1, "result": V, "result": 1}',
        b'{"jsonrpc": "2.0", "id": 1, "result": V, "result": V}',
        b'{"jsonrpc": "2.0", "id": 1, "result": V, "id": 1}',
        b'{"id": 1, "jsonrpc": "2.0", "id": 1, "result": V}',
        b'{"jsonrpc": "2.0", "id": 1, "re\\u0073ult": 1, "result": V}',
        b'{"jsonrpc": "2.0", "id": 1, "result": 1, "re\\u0073ult": V}',
        b'{"jsonrpc": "2.0", "id": 1, "method": "m", "params": 1, "params": V }',
        b'{"jsonrpc": "2.0", "id": 1, "method": "m", "params": V, "method": "m"}',
    ],
)
def test_a_name_that_is_there_twice_is_found_in_a_long_message(text: bytes) -> None:
    """Wherever the long value stands, and whatever it holds."""
    for value in (b'{"a":"%b"}' % (b"x" * 1000), b'{"id":1,"result":[%b1]}' % (b'"id",' * 200)):
        fault = decode(text.replace(b"V", value))
        assert isinstance(fault, Fault)
        assert "occurs twice" in fault.reason


@pytest.mark.parametrize(
    "value", [b'{"a": "%b"}' % (b"x" * 1000), b'{"id": 1, "result": [%b1]}' % (b'"id", ' * 200)]
)
def test_a_long_message_may_have_the_names_of_an_envelope_in_it(value: bytes) -> None:
    response = decode(b'{"jsonrpc": "2.0", "id": 1, "result": %b }' % value)
    request = decode(b'{"extra": [1], "jsonrpc": "2.0", "id": 1, "params": %b, "method": "m"}' % value)

    assert (response, request) == (Response(b"1", value), Request(b"1", "m", value))
