"""What a pattern means, and what is none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anywire.bridge.policy.pattern import Kind, read_pattern
from anywire.errors import ConfigError


@pytest.mark.parametrize(
    ("text", "kind", "glob"),
    [
        ("delete_*", Kind.TOOL, "delete_*"),
        ("tool:a:b", Kind.TOOL, "a:b"),
        ("prompt:*", Kind.PROMPT, "*"),
        ("resource:file:///docs/*", Kind.RESOURCE, "file:///docs/*"),
    ],
)
def test_a_pattern_is_about_tools_unless_it_says_otherwise(text: str, kind: Kind, glob: str) -> None:
    """What stands before the first colon is the kind."""
    pattern = read_pattern(text)
    assert (pattern.kind, pattern.glob, pattern.text) == (kind, glob, text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "names nothing"),
        ("prompt:", "write delete_\\*, say, or prompt:\\*"),
        ("file:///docs/*", "for a URI write resource:file:///docs/\\*"),
        ("tools:delete", "none of tool:, prompt:, resource:"),
    ],
)
def test_a_pattern_that_would_protect_nothing_is_refused(text: str, said: str) -> None:
    """With a word about what was meant."""
    with pytest.raises(ConfigError, match=said):
        read_pattern(text)


@pytest.mark.parametrize(
    ("glob", "name", "expected"),
    [
        ("get_*", "get_all", True),
        ("get_*", "forget_all", False),
        ("get_?", "get_12", False),
        ("*", "", True),
        ("[a-c]x", "bx", True),
        ("[!a-c]x", "bx", False),
        ("[abc", "[abc", True),
        ("a.b", "aXb", False),
        ("(x+)+$", "xx", False),
        ("get", "get\n", False),
        ("g*t", "g\nt", True),
        ("Get", "get", False),
    ],
)
def test_a_glob_matches_a_whole_name_and_is_no_regular_expression(
    glob: str, name: str, expected: bool
) -> None:
    assert read_pattern(f"tool:{glob}").matches(name) is expected


def test_no_pattern_takes_long_for_any_name() -> None:
    """A matcher that tried each star at each place would not come to its end."""
    pattern = read_pattern("*a" * 60 + "*b")
    assert not pattern.matches("a" * 50_000)


def _matches(glob: str, name: str) -> bool:
    """The plain meaning of stars and question marks."""
    if not glob:
        return not name
    if glob[0] == "*":
        return any(_matches(glob[1:], name[start:]) for start in range(len(name) + 1))
    return bool(name) and glob[0] in ("?", name[0]) and _matches(glob[1:], name[1:])


@given(st.text("ab*?", max_size=6).filter(bool), st.text("ab", max_size=6))
def test_a_glob_means_what_its_signs_mean(glob: str, name: str) -> None:
    """Whatever way it is matched."""
    assert read_pattern(f"tool:{glob}").matches(name) is _matches(glob, name)
