"""The limits are data: immutable, settable, sensible."""

from __future__ import annotations

import msgspec
import pytest

from anywire.wire.limits import DEFAULT_LIMITS, Limits


def test_a_limit_is_changed_in_a_copy() -> None:
    small = DEFAULT_LIMITS.replace(message_bytes=100, request_seconds=0.5)

    assert (small.message_bytes, small.request_seconds) == (100, 0.5)
    assert small.depth == DEFAULT_LIMITS.depth
    assert Limits() == DEFAULT_LIMITS


def test_a_limit_cannot_be_changed_in_place() -> None:
    with pytest.raises(AttributeError):
        DEFAULT_LIMITS.depth = 1  # pyright: ignore[reportAttributeAccessIssue] that is the test


def test_a_limit_that_does_not_exist_is_refused() -> None:
    with pytest.raises(TypeError):
        DEFAULT_LIMITS.replace(message_size=1)


@pytest.mark.parametrize("name", [field.name for field in msgspec.structs.fields(Limits)])
def test_each_limit_is_positive(name: str) -> None:
    assert getattr(DEFAULT_LIMITS, name) > 0


def test_the_limits_fit_each_other() -> None:
    limits = DEFAULT_LIMITS

    assert limits.excerpt_bytes < limits.message_bytes
    assert limits.header_bytes < limits.message_bytes
    assert limits.write_low_bytes < limits.write_high_bytes
    assert limits.request_seconds < limits.request_total_seconds
