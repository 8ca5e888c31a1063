"""What may be asked a second time when nobody knows whether it was done the first time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anywire.protocol.retry import is_read_only

READ_ONLY = [
    *("initialize", "ping", "tools/list", "prompts/list", "prompts/get", "resources/list"),
    *("resources/read", "resources/templates/list", "completion/complete"),
]


@pytest.mark.parametrize("method", READ_ONLY)
def test_what_only_reads_may_be_asked_again(method: str) -> None:
    assert is_read_only(method)


@pytest.mark.parametrize(
    "method",
    [
        *("tools/call", "logging/setLevel", "resources/subscribe", "resources/unsubscribe", "tasks/cancel"),
        *(
            "sampling/createMessage",
            "elicitation/create",
            "notifications/initialized",
            "notifications/cancelled",
        ),
        *("", "Ping", "ping ", "tools/list/", "tools/list?x", "x/list", "tools/listen"),
    ],
)
def test_what_may_do_something_is_never_asked_again(method: str) -> None:
    assert not is_read_only(method)


@given(st.text(max_size=20).filter(lambda method: method not in READ_ONLY))
def test_what_is_not_known_is_never_asked_again(method: str) -> None:
    assert not is_read_only(method)
