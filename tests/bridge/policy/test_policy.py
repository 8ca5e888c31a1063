"""Which things are there: allowed, denied, and spelled in another way."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anywire.bridge.policy.pattern import Kind
from anywire.bridge.policy.plain import oddity
from anywire.bridge.policy.policy import Policy
from anywire.bridge.policy.spelling import lookalikes


def there(policy: Policy, kind: Kind, *names: str | None) -> list[str | None]:
    """Those of the names that are there."""
    return [name for name in names if policy.reason(kind, name) is None]


def test_a_kind_without_rules_is_there() -> None:
    """Whatever is said of the others."""
    policy = Policy(allow=["get_*"])
    assert there(policy, Kind.PROMPT, "x", None) == ["x", None]
    assert there(policy, Kind.RESOURCE, "file:///x", "\t" * 100_000) == ["file:///x", "\t" * 100_000]
    assert policy.concerns(Kind.TOOL)
    assert not policy.concerns(Kind.PROMPT, Kind.RESOURCE)


def test_what_is_denied_is_hidden_whatever_allows_it() -> None:
    policy = Policy(allow=["get_*", "set_one"], deny=["*_secret"])
    assert there(policy, Kind.TOOL, "get_x", "get_secret", "set_one", "set_two") == ["get_x", "set_one"]
    assert policy.reason(Kind.TOOL, "get_secret") == "deny '*_secret'"
    assert policy.reason(Kind.TOOL, "set_two") == "nothing allows it"


def test_what_has_no_name_is_hidden_where_only_some_names_are_allowed() -> None:
    """To deny some names says nothing of it."""
    assert Policy(allow=["*"]).reason(Kind.TOOL, None) is not None
    assert Policy(deny=["x"]).reason(Kind.TOOL, None) is None


@pytest.mark.parametrize(
    "patterns", [["notes__delete"], ["notes__*"], ["delete"], ["tool:notes__d*"]], ids=str
)
def test_a_pattern_matches_the_own_name_or_the_one_among_several_servers(patterns: Sequence[str]) -> None:
    assert Policy(deny=patterns, server="notes").reason(Kind.TOOL, "delete") is not None


@pytest.mark.parametrize(
    ("pattern", "uri"),
    [
        ("resource:notes+file:///a/*", "file:///a/b"),
        ("resource:file:///a/*", "file:///a/b"),
        ("resource:ui://notes/page", "ui://page"),
    ],
)
def test_a_resource_is_found_under_either_of_its_addresses(pattern: str, uri: str) -> None:
    assert Policy(deny=[pattern], server="notes").reason(Kind.RESOURCE, uri) is not None
    assert Policy(allow=[pattern, "resource:file:///x/*"], server="notes").reason(Kind.RESOURCE, uri) is None


SECRET = "resource:file:///secret/*"


@pytest.mark.parametrize(
    "uri",
    [
        "file:///secret/a",
        "file:///docs/../secret/a",
        "file:///docs/%2e%2e/secret/a",
        "file:///docs/%2E./secret/a",
        "file:///s%65cret/a",
        "file:///s%2565cret/a",
        "file:///SECRET/a",
        "FILE:///secret/a",
        "file:////secret/a",
        "file:///./secret//a",
        "file:/secret/a",
        "file://localhost/secret/a",
        "file:///docs/..\\secret/a",
        " file:///secret/a",
        "file:///sec\tret/a",
        "file:///secret%2Fa",
        "file:///x/%252e%252e/secret/a",
        "file:///%" + "25" * 20_000,
        "file:///" + "a" * 70_000,
    ],
)
def test_a_denied_uri_is_hidden_however_it_is_written(uri: str) -> None:
    """One of which it cannot be said is hidden, too."""
    assert Policy(deny=[SECRET]).reason(Kind.RESOURCE, uri) is not None
    assert Policy(allow=["resource:*"], deny=[SECRET]).reason(Kind.RESOURCE, uri) is not None


@pytest.mark.parametrize(
    "uri",
    [
        "file:///docs/../secret/a",
        "file:///docs/%2e%2e/secret/a",
        "file:///docs/..%2fsecret/a",
        "file:///docs/..\\..\\secret",
        "file:///Docs/a",
        "file:///doc%73",
    ],
)
def test_a_uri_that_only_seems_to_be_allowed_is_hidden(uri: str) -> None:
    """All that a server might make of it has to be allowed."""
    assert Policy(allow=["resource:file:///docs/*"]).reason(Kind.RESOURCE, uri) is not None


@pytest.mark.parametrize(
    ("pattern", "uri"),
    [
        ("file:///docs/*", "file:///docs/a%20b.txt"),
        ("file:///my%20docs/*", "file:///my%20docs/a"),
        ("notes://Work/*", "notes://Work/1"),
        ("notes://a%2Ab/*", "notes://a%2Ab/1"),
        ("https://host.example/a[?]*", "https://host.example/a?b=1%2F2&c=a..b"),
        ("https://host.example/*", "https://host.example/a?b=c"),
        ("memo:*", "memo:one/two"),
        ("file:///docs/{+path}", "file:///docs/{+path}"),
        ("file:///docs/", "file:///docs/"),
    ],
)
def test_an_allowed_uri_is_there(pattern: str, uri: str) -> None:
    """Encodings that are meant are no trick."""
    assert Policy(allow=[f"resource:{pattern}"]).reason(Kind.RESOURCE, uri) is None


def test_an_encoded_star_of_a_pattern_is_no_star() -> None:
    policy = Policy(allow=["resource:notes://a%2A"])
    assert policy.reason(Kind.RESOURCE, "notes://abc") is not None


def test_what_looks_like_a_host_may_be_the_beginning_of_a_path() -> None:
    """In schemes of a server's own."""
    assert Policy(deny=["resource:notes://secret/*"]).reason(Kind.RESOURCE, "notes://x/../secret/a")


@given(st.text("fileab:/.%2e5F\\ ?#@[]{};\xad\uff0e", max_size=30))
def test_no_text_is_an_error(text: str) -> None:
    """Nothing that a client writes; and each is among what it may be taken for, if it has no letters of its own."""
    assert oddity(text) is not None or text in lookalikes([text])


def test_the_rules_are_shown() -> None:
    shown = repr(Policy(["a"], ["prompt:b"]))
    assert "allow 'a'" in shown
    assert "deny 'prompt:b'" in shown
