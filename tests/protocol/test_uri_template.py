"""URI templates: the RFC's own examples one way, the plain reading on the way back."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anywire.protocol.uri_template import TemplateError, TemplateValue, UriTemplate

VECTORS = Path(__file__).parents[1] / "vectors" / "uri_template.txt"

VALUES: dict[str, TemplateValue] = {
    "count": ["one", "two", "three"],
    "dom": ["example", "com"],
    "dub": "me/too",
    "hello": "Hello World!",
    "half": "50%",
    "var": "value",
    "who": "fred",
    "base": "http://example.com/home/",
    "path": "/foo/bar",
    "list": ["red", "green", "blue"],
    "keys": {"semi": ";", "dot": ".", "comma": ","},
    "v": "6",
    "x": 1024,
    "y": "768",
    "empty": "",
    "empty_keys": {},
    "undef": None,
}


def examples() -> list[tuple[str, str]]:
    lines = VECTORS.read_text(encoding="utf-8").splitlines()
    return [(line.split("\t")[0], line.split("\t")[1]) for line in lines if not line.startswith("#")]


@pytest.mark.parametrize(("template", "uri"), examples())
def test_expansion_is_that_of_the_rfc(template: str, uri: str) -> None:
    """Section 3.2, every example."""
    assert UriTemplate(template).expand(VALUES) == uri


@pytest.mark.parametrize(
    "text", ["{", "a}b", "{}", "{a b}", "{a:0}", "{a:99999}", "{=a}", "{!a}", "{a,}", "{a}{"]
)
def test_text_that_is_no_template_is_refused(text: str) -> None:
    """By its sentence, with the text in it."""
    with pytest.raises(TemplateError, match=r"is no variable|brace"):
        UriTemplate(text)


MATCHES: list[tuple[str, str, dict[str, str] | None]] = [
    ("test://template/{id}/data", "test://template/123/data", {"id": "123"}),
    ("test://template/{id}/data", "test://template/a%2Fb%20c/data", {"id": "a/b c"}),
    ("test://template/{id}/data", "test://template//data", None),
    ("test://template/{id}/data", "test://template/1/2/data", None),
    ("test://template/{id}/data", "test://template/1/data/", None),
    ("test://template/{id}/data", "test://template/1/data?x=1", None),
    ("file:///{+path}", "file:///home/me/a.txt", {"path": "home/me/a.txt"}),
    ("file://{/drive,name}", "file:///c/x.txt", {"drive": "c", "name": "x.txt"}),
    ("file://{/drive,name}", "file:///c", None),
    ("repo://{owner}/{name}{?ref,path}", "repo://a/b", {"owner": "a", "name": "b"}),
    (
        "repo://{owner}/{name}{?ref,path}",
        "repo://a/b?path=x%26y&other=1&ref=main",
        {"owner": "a", "name": "b", "ref": "main", "path": "x&y"},
    ),
    ("q://s?fixed=1{&more}", "q://s?fixed=1&more=yes", {"more": "yes"}),
    ("q://s?fixed=1{&more}", "q://s?fixed=1", {}),
    ("{name}.{kind}", "photo.png", {"name": "photo", "kind": "png"}),
    ("a{.x}", "a.b", {"x": "b"}),
    ("a{;x,y}", "a;x=1;y=2", {"x": "1", "y": "2"}),
    ("a{;x,y}", "a;y=1;x=2", None),
    ("doc{#part}", "doc#a/b", {"part": "a/b"}),
    ("{x,y}", "1,2", {"x": "1", "y": "2"}),
    ("straße://{x}", "straße://é", {"x": "é"}),
    ("straße://{x}", "stra%C3%9Fe://%C3%A9", {"x": "é"}),
    ("plain://uri", "plain://uri", {}),
    ("plain://uri", "plain://uri2", None),
    ("x://{a}-{b}/end-{c}", "x://1-2/end-3", {"a": "1", "b": "2", "c": "3"}),
]


@pytest.mark.parametrize(("template", "uri", "expected"), MATCHES)
def test_uri_gives_its_variables_back(template: str, uri: str, expected: dict[str, str] | None) -> None:
    """Percent-decoded; None for a URI that is of no such template."""
    assert UriTemplate(template).match(uri) == expected


NAMES = st.text(st.characters(categories=["L", "N", "P", "Zs"]), min_size=1, max_size=12)


@given(NAMES, NAMES, st.none() | NAMES)
def test_what_was_expanded_matches(owner: str, path: str, ref: str | None) -> None:
    """With any text in any variable."""
    template = UriTemplate("r://{owner}/tree{/path}{?ref}")
    values: dict[str, TemplateValue] = {"owner": owner, "path": path, "ref": ref}

    uri = template.expand(values)

    assert uri.isascii()
    assert template.match(uri) == {name: value for name, value in values.items() if value is not None}


@given(
    st.text(alphabet="ab/-?&=#%41.;", max_size=60), st.sampled_from([template for template, _, _ in MATCHES])
)
def test_no_uri_raises(uri: str, template: str) -> None:
    """Whatever it is made of."""
    found = UriTemplate(template).match(uri)
    assert found is None or set(found) <= set(UriTemplate(template).variables)


@pytest.mark.parametrize("text", ["{a}{b}", "{a*}", "{a:3}", "{a}/{a}", "x{+a}{b}"])
def test_ambiguous_template_is_refused_for_matching(text: str) -> None:
    """It can still be expanded."""
    template = UriTemplate(text)
    with pytest.raises(TemplateError):
        template.refuse_ambiguity()
    assert template.expand({"a": "1", "b": "2"})


def test_variables_are_told_with_those_that_may_be_missing() -> None:
    """Queries are optional."""
    template = UriTemplate("r://{owner}/{+path}{?ref,depth}")
    template.refuse_ambiguity()

    assert template.variables == ("owner", "path", "ref", "depth")
    assert template.optional == {"ref", "depth"}


def test_a_uri_without_end_is_of_no_template() -> None:
    """It would be taken apart for each template anew."""
    template = UriTemplate("x://{+rest}")

    assert template.match("x://" + "a" * 65_532) is not None
    assert template.match("x://" + "a" * 65_533) is None
    assert template.match("x://" + "%41" * 2_000_000) is None


def test_matching_takes_linear_time() -> None:
    """A URI made of nothing but separators is no work."""
    template = UriTemplate("x://{+a}-{+b}-{+c}-{+d}-{+e}/end")
    assert template.match("x://" + "-" * 65_000) is None
