"""Names of servers that can be part of other names."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anywire.config.naming import usable_name, written_name
from tests.wire.strategies import thorough

USABLE = re.compile(r"(?!.*__)[A-Za-z0-9_-]*(?<!_)")
AWKWARD = st.text(st.sampled_from("ax2_-. é0f"), max_size=12) | st.text(max_size=8)


@pytest.mark.parametrize(
    "name", ["notes", "my-notes", "my_notes", "Notes2", "_x", "my-xcode", "a-x", "win-x86"]
)
def test_a_usable_name_stays(name: str) -> None:
    """Nearly all are."""
    assert usable_name(name) == name


@pytest.mark.parametrize(
    ("name", "usable"),
    [("my notes", "my-x20-notes"), ("a__b", "a_-x5f-b"), ("a_", "a-x5f-"), ("-x2-", "-x2d-x2-")],
)
def test_what_does_not_fit_is_written_as_its_number(name: str, usable: str) -> None:
    """A name that looks like one that was derived is derived as well."""
    assert usable_name(name) == usable


@thorough(100)
@given(AWKWARD)
def test_a_derived_name_is_usable_and_leads_back(name: str) -> None:
    """So no two names become one."""
    usable = usable_name(name)

    assert USABLE.fullmatch(usable)
    assert written_name(usable) == name


@thorough(100)
@given(AWKWARD)
def test_a_merged_name_is_split_at_its_first_two_underscores(name: str) -> None:
    """Whatever a tool is called."""
    assert f"{usable_name(name)}___tool".partition("__")[0] == usable_name(name)
