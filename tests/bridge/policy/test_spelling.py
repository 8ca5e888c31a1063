"""A URI that is denied, in all the ways that its readers take for the same."""

from __future__ import annotations

import re
import unicodedata
from pathlib import PurePosixPath
from urllib.parse import quote, unquote, urlsplit

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from anywire.bridge.policy.pattern import Kind
from anywire.bridge.policy.plain import folded, oddity
from anywire.bridge.policy.policy import Policy
from tests.wire.strategies import thorough

#: Each with others that a parser by WHATWG URL (`new URL()`, pydantic's `AnyUrl`) or Python's writes or reads alike.
SAME = {
    "https://h.example/key": """
        https:h.example/key https:/h.example/key https:///h.example/key https:\\\\h.example\\key https://h.example:443/key
        https://h.example:0443/key https://h.example:/key https://@h.example/key https://:@h.example/key HTTPS://h.example/key
        https://H.example/key https://h%2Eexample/key https://\uff48.example/key https://h.ex\u00adample/key
        https://h\u3002example/key https://h.example./key https://h.example/./key https://h.example/x/../key
        https://h.example/x/%2E%2e/key https://h.example/k%65y https://u:p@h.example/key https://h.example/key?
        https://h.example/key?x=1 https://h.example/key#x https://h.example//key https://h.example/key/ https://h.example/key;v=1
        https://h.ex\tample/key ht\ttps://h.example/key https://h.example/KEY https://h.example/key. https://h.example/key%20
        url:https://h.example/key https://h.example/\uff4bey https://h.example/%EF%BD%8Bey https://h.example/k\u200bey
        https://h.example/%256Bey https://h.example/x;/../key https://h.example/x/..;/key https://h.example/x?/../../key
        https://h.example/x#/../../key https://h.example/x/\uff0e\uff0e/key https://h.example/x/%c0%ae%c0%ae/key
        https://h.example/x%2F..%2Fkey https://h.example/%6bey""",
    "https://127.0.0.1/": """
        https://127.1/ https://2130706433/ https://0x7f.1/ https://0177.0.0.1/ https://127.0.0.1 https://127.0.0.1./
        https://%3127.0.0.1/ https://\u2460\u2461\u2466.0.0.1/ https://0x7F000001/""",
    "https://[::1]/": "https://[0::1]/ https://[::0.0.0.1]/ https://[0:0:0:0:0:0:0:1]/ https://[::1]:443/ https://[::1",
    "https://b\u00fccher.example/": "https://xn--bcher-kva.example/ https://B\u00dcCHER.example/ https://bu\u0308cher.example/",
    "secret://vault/key": """
        secret://vault:/key secret://@vault/key secret://:@vault/key secret:/vault/key secret:vault/key secret:///vault/key
        secret:////vault/key secret:\\\\vault/key SECRET://vault/key secret://vault:7/key secret://me@vault/key
        secret://%76ault/key secret://va\tult/key secret://vault%2Fkey secret://x/../vault/key secret://%40vault/key""",
    "file:///etc/a": """
        file://localhost/etc/a file://LOCALHOST/etc/a file:/etc/a file:etc/a file:////etc/a file://etc/a file://other/etc/a
        file:///etc/../etc/a file:///x?/../../etc/a file:///etc/a%00 file:///etc/a%0A file:///etc/%5C/a file:///etc/./a
        file:///etc/a::$DATA file:///etc%2fa file://%6cocalhost/etc/a file:///etc/.%20/a""",
    "file:///C:/key": "file:///C|/key file:///c:/key file:C:/key file:///C%7C/key file:///c%3A/key file:///C:/x/../key",
    "mem:x": "mem:x#f mem:x? mem:x?y mem:x;y mem:X mem:x/ mem:/x mem://x mem:%78 mem:./x mem:x#",
    "notes:na\u00efve": "notes:na%C3%AFve notes:nai\u0308ve notes:NA\u00cfVE notes:na%c3%afve notes:na\u00efve%E2%80%8B",
}  # fmt: skip
RESPELLED = [
    (uri, other) for uri, others in SAME.items() for other in re.split(r"[ \n]+(?=\S)", others) if other
]


def there(policy: Policy, uri: str) -> bool:
    """Whether a resource is there."""
    return policy.reason(Kind.RESOURCE, uri) is None


@pytest.mark.parametrize(("uri", "other"), RESPELLED)
def test_a_denied_uri_is_hidden_in_every_spelling(uri: str, other: str) -> None:
    """Whatever else is allowed."""
    assert not there(Policy(deny=[f"resource:{uri}"]), other)
    assert not there(Policy(allow=["resource:*"], deny=[f"resource:{uri}"]), other)


@pytest.mark.parametrize(
    "uri",
    [
        "file:///docs/../e",
        "file:///docs/..;/e",
        "file:///docs/%c0%ae%c0%ae/e",
        "file:///docs/\uff0e\uff0e/e",
        "file:///docs/\u2025/e",
        "file:///docs/x?/../../e",
        "file:///docs/x%3F/../../e",
        "file:///docs/%252e%252e/e",
        "file:///docs/x%2F..%2F..%2Fe",
        "file://docs/x",
        "file:/docs/x",
    ],
)
def test_what_only_seems_to_be_allowed_is_hidden(uri: str) -> None:
    assert not there(Policy(allow=["resource:file:///docs/*"]), uri)


@pytest.mark.parametrize(
    ("pattern", "uri"),
    [
        ("file:///docs/*.md", "file:///docs/secret.txt?.md"),
        ("file:///docs/*.md", "file:///docs/secret.txt#.md"),
        ("file:///docs/*.md", "file:///docs/secret.txt;.md"),
        ("file:///docs/*.md", "file:///docs/secret.txt%3F.md"),
        ("https://h.example/*:80/x", "https://h.example/secret?:80/x"),
        ("*@h.example/*", "https://me@h.example/x"),
        ("https://h.example/a?b*", "https://h.example/a?b=1"),
    ],
)
def test_what_is_allowed_only_with_a_part_that_readers_may_leave_out_is_hidden(
    pattern: str, uri: str
) -> None:
    """They would read the rest."""
    reason = Policy(allow=[f"resource:{pattern}"]).reason(Kind.RESOURCE, uri)
    assert reason == "nothing allows it without its query or another part that readers may leave out"


ORDINARY = [
    ("file:///docs/*", "file:///docs/a%20b%20(1).txt"),
    ("file:///docs/*", "file:///docs/a b.txt"),
    ("file:///docs/*", "file:///docs/%C3%BCber/%E6%97%A5%E6%9C%AC%EF%BC%9F.md"),
    ("file:///docs/\u00fcber.md", "file:///docs/%c3%bcber.md"),
    ("file:///docs/%C3%BCber.md", "file:///docs/\u00fcber.md"),
    ("file:///docs/*", "file:///docs/100%25.txt"),
    ("file:///docs/*", "file:///docs/.hidden/a..b/...c"),
    ("file:///docs/*", "file:///docs/{+path}{?q,r*}"),
    ("file:///c%3A/Users/*", "file:///c%3A/Users/a.txt"),
    ("https://h.example/*", "https://h.example/find?q=a%26b&from=1#top"),
    ("https://h.example/find[?]*", "https://h.example/find?q=1"),
    ("https://h.example:8443/*", "https://h.example:8443/a"),
    ("https://[[]::1]/*", "https://[::1]/a"),
    ("postgres://me@db.example/*", "postgres://me@db.example/table/schema"),
    ("proxy://fetch/*", "proxy://fetch/https://h.example/a"),
    ("https://xn--bcher-kva.example/*", "https://xn--bcher-kva.example/a"),
    ("urn:isbn:*", "urn:isbn:0451450523"),
    ("geo:*;u=*", "geo:1.5,2.5;u=35"),
    ("demo://resource/*", "demo://resource/static/document/architecture.md"),
    ("ui://*", "ui://widget/view.html"),
]


@pytest.mark.parametrize(("pattern", "uri"), ORDINARY)
def test_an_ordinary_uri_is_there_if_it_is_allowed(pattern: str, uri: str) -> None:
    """Or if something else is denied, also in its own scheme."""
    assert there(Policy(allow=[f"resource:{pattern}"]), uri)
    assert there(Policy(deny=["resource:*/secret/*", f"resource:{uri.partition(':')[0]}://other/*"]), uri)


def test_an_odd_uri_of_a_scheme_that_no_rule_is_about_is_there() -> None:
    """How a server writes what is its own affair is not."""
    assert there(Policy(deny=["resource:file:///etc/*"]), "https://h.example:443/a/../b")
    assert there(Policy(deny=["resource:s+file:///etc/*"], server="s"), "https://h.example:443/a/../b")
    assert not there(Policy(deny=["resource:*:///etc/*"]), "https://h.example:443/a/../b")
    assert not there(Policy(deny=["resource:s+https://x/*"], server="s"), "https://h.example:443/a/../b")


STARTS = [
    "file:",
    "file:/",
    "file://",
    "file:///",
    "file:////",
    "file://localhost/",
    "FILE:///",
    "file:///x/../",
]
DETOURS = [
    "", "/", "./", "x/../", "%2e/", "x/%2E%2e/", "x%2F..%2f", "x/%252e%252e/", "x?/../../", "x#/../../", "x;/..;/../../",
    "x\\..\\", "\t", "x:/../", "@/../", "?/../", "%2F",
]  # fmt: skip
ENDS = ["", "/", "/.", "?", "#x", "?x=1", ";v", "%00", "%20", ".", "?/..", "/x/..", "%3F", "::$DATA"]
LETTERS = {"e": ["e", "E", "%65", "%2565", "\uff45"], "k": ["k", "K", "%6b", "\u212a", "k\u00ad"]}


@st.composite
def respelled(draw: st.DrawFn) -> str:
    """A URI that is, for some readers, that of /etc/key."""
    detours = [draw(st.sampled_from(DETOURS)) for _ in range(3)]
    e, k = (draw(st.sampled_from(spellings)) for spellings in LETTERS.values())
    middle = draw(st.sampled_from(["/", "//", "%2F", "\\"]))
    start, end = draw(st.sampled_from(STARTS)), draw(st.sampled_from(ENDS))
    return f"{start}{detours[0]}{detours[1]}{e}tc{middle}{detours[2]}{k}ey{end}"


@thorough(500, 5_000)
@given(respelled())
def test_no_uri_whose_path_is_denied_passes(uri: str) -> None:
    """However often its reader decodes, and whether or not it looks for a query."""
    assume(any(_names_key(reading) for reading in _paths(uri)))
    assert not there(Policy(deny=["resource:file:///etc/key"]), uri)


def _paths(uri: str) -> list[str]:
    split = urlsplit(uri)
    paths = [split.path, f"/{split.netloc}{split.path}", uri.partition(":")[2]]
    for _ in range(3):
        paths += [unicodedata.normalize("NFKC", unquote(path)) for path in paths]
    return [re.sub("[\t\u00ad]", "", path).replace("\\", "/") for path in set(paths)]


def _names_key(path: str) -> bool:
    kept: list[str] = []
    for part in PurePosixPath("/" + path.lstrip("/")).parts[1:]:
        if part == "..":
            del kept[-1:]
        else:
            kept.append(part.lower())
    return kept == ["etc", "key"]


@given(st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=12))
def test_every_name_of_a_file_is_allowed_percent_encoded(name: str) -> None:
    """Other than one with what is a detour for somebody, or decodes again."""
    uri = f"file:///docs/{quote(name)}"
    assume(not oddity(uri))
    assert there(Policy(allow=["resource:file:///docs/*"]), uri)
    assert not there(Policy(deny=["resource:file:///docs/*"]), uri)
    assert not there(Policy(deny=[f"resource:{uri.replace('*', '[*]')}"]), uri)


@given(st.text(max_size=12))
def test_what_is_folded_is_folded_once_and_for_all(text: str) -> None:
    assert folded(text) == folded(folded(text))
