"""What the values of shared options mean."""

from __future__ import annotations

import argparse

import pytest

from anywire.cli.options import duration, framing
from anywire.wire.framing import Framing


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90s", 90.0), ("1.5m", 90.0), ("500ms", 0.5), ("7", 7.0), (".5", 0.5), ("2 s", 2.0), ("1h", 3600.0)],
)
def test_a_duration_has_a_unit_or_is_in_seconds(text: str, seconds: float) -> None:
    """Each way to write a time is read."""
    assert duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "s", "5x", "-1", "1,5s", "inf", "nan", "1e3", "0", "0ms", "1m30s"])
def test_what_is_no_duration_is_refused_with_examples(text: str) -> None:
    """The sentence shows how a time is written, or says that none is left."""
    with pytest.raises(argparse.ArgumentTypeError, match="write"):
        duration(text)


def test_a_framing_has_a_name() -> None:
    """`auto` leaves it open."""
    assert framing("auto") is None
    assert framing("newline") is Framing.NEWLINE
    assert framing("headers") is Framing.HEADERS


def test_an_unknown_framing_suggests_a_known_one() -> None:
    """A slip of the finger is understood."""
    with pytest.raises(argparse.ArgumentTypeError, match="did you mean headers"):
        framing("header")
