"""What things of several servers are called together: every name and URI leads back as it was spelled."""

from __future__ import annotations

import json
import re

from hypothesis import assume, given
from hypothesis import strategies as st

from anywire.bridge.fleet.names import Found, Names, Unlisted, text_of

SERVERS = st.lists(st.text(min_size=1, max_size=40), min_size=1, max_size=6, unique=True)
# Half a surrogate pair is JSON as well.
TEXTS = st.text(st.characters(codec=None), max_size=90)
LONG = st.text("ab_-", min_size=50, max_size=90)
URIS = TEXTS | st.builds("{}{}".format, st.sampled_from(["ui://", "UI://", "file:///", "a+b:", "+"]), TEXTS)


def raw(text: str) -> bytes:
    """The JSON of a text, with escapes."""
    return json.dumps(text).encode()


def together(*servers: str) -> Names:
    """The names of some servers."""
    names = Names()
    names.name_servers(servers)
    return names


@given(SERVERS, TEXTS | LONG)
def test_every_name_leads_back(servers: list[str], own: str) -> None:
    """Whatever the servers are called, and whatever the name: to its server, as it was spelled there."""
    names = together(*servers)
    merged: set[bytes] = set()
    for server in servers:
        name = names.name(names[server], raw(own))
        assert name is not None
        assert names.find_name(name) == Found(names[server], raw(own))
        text = text_of(name)
        assert text is not None
        assert len(text) <= 64
        merged.add(name)
    assert len(merged) == len(servers)


@given(SERVERS, URIS)
def test_every_uri_leads_back(servers: list[str], own: str) -> None:
    """... also when its scheme, and the host of a view, come back in lower or upper case."""
    names = together(*servers)
    for server in servers:
        uri = names.uri(names[server], raw(own))
        assert uri is not None
        assert names.find_uri(uri) == Found(names[server], raw(own))
        text = text_of(uri)
        assert text is not None
        head = len(text) - len(own)
        if own[:5].lower() != "ui://":
            found = names.find_uri(raw(text[:head].upper() + text[head:]))
            assert found is not None
            assert (found.label, text_of(found.raw)) == (names[server], own)


@given(SERVERS, TEXTS)
def test_names_that_the_client_spells_otherwise_lead_back(servers: list[str], own: str) -> None:
    """A client may write escapes where the server wrote none, and the other way round."""
    names = together(*servers)
    label = names[servers[0]]
    for name, find in (
        (names.name(label, raw(own)), names.find_name),
        (names.uri(label, raw(own)), names.find_uri),
    ):
        text = text_of(name)
        assert text is not None
        escaped = '"' + "".join(f"\\u{unit:04x}" for unit in _units(text)) + '"'
        found = find(escaped.encode())
        assert isinstance(found, Found)
        assert (found.label, text_of(found.raw)) == (label, own)


def _units(text: str) -> list[int]:
    data = text.encode("utf-16-be", "surrogatepass")
    return [int.from_bytes(data[at : at + 2], "big") for at in range(0, len(data), 2)]


@given(SERVERS)
def test_servers_have_parts_of_names_that_models_and_urls_take(servers: list[str]) -> None:
    """Letters, digits, `_` and `-` in a name, and the scheme of a URI; no two alike."""
    names = together(*servers)
    for server in servers:
        label = names[server]
        assert re.fullmatch(r"[A-Za-z0-9_-]{1,41}", label.prefix)
        assert re.fullmatch(r"[a-z][a-z0-9.-]*", label.scheme)
        assert "__" not in label.prefix
        assert not label.prefix.endswith("_")
    assert len({names[server].prefix for server in servers}) == len(servers)
    assert len({names[server].scheme for server in servers}) == len(servers)


def test_usual_names_are_what_they_say() -> None:
    """`SERVER__name`, `SERVER+scheme:rest`, `ui://SERVER/rest`; the bytes of the own part stay."""
    names = together("files", "My Notes")
    files, notes = names["files"], names["My Notes"]
    assert names.name(files, b'"read"') == b'"files__read"'
    assert names.name(notes, b'"l\\u00e9s"') == b'"My_Notes__l\\u00e9s"'
    assert names.uri(files, b'"file:\\/\\/\\/a"') == b'"files+file:\\/\\/\\/a"'
    assert names.uri(notes, b'"note://{id}"') == b'"my-notes+note://{id}"'
    assert names.uri(notes, b'"ui://board/1"') == b'"ui://my-notes/board/1"'
    assert names.uri(notes, b'"ui:\\/\\/board"') == b'"ui://my-notes/board"'


def test_a_server_that_is_called_as_its_part_keeps_it() -> None:
    """One whose name has to be made fit steps back, wherever it stands in the file."""
    names = together("my notes", "my_notes")
    assert names["my_notes"].prefix == "my_notes"
    assert names["my notes"].prefix.startswith("my_notes-")


def test_names_stay_when_servers_come_and_go() -> None:
    """A client may still have the list of before."""
    names = together("a b", "c")
    before = names["a b"]
    names.name_servers(["a_b", "a b"])
    assert names["a b"] == before
    assert names["a_b"].prefix != before.prefix
    assert names.find_name(b'"c__x"') is None


def test_a_long_name_is_cut_and_what_looks_cut_is_too() -> None:
    """Else a server could list a name that another's long one is cut to."""
    names = together("s")
    long = "x" * 80
    cut = names.name(names["s"], raw(long))
    assert cut is not None
    text = text_of(cut)
    assert text is not None
    own = raw(text.removeprefix("s__"))
    assert names.name(names["s"], own) not in (None, cut)
    assert names.find_name(cut) == Found(names["s"], raw(long))


def test_a_cut_name_of_a_list_that_is_not_known_is_told_apart() -> None:
    """Whose it is can be said, and no more."""
    known, unknown = together("s"), together("s")
    cut = known.name(known["s"], raw("x" * 80))
    assert unknown.find_name(cut) == Unlisted(unknown["s"])


def test_what_is_no_name_leads_nowhere() -> None:
    """Other types, other servers, and names without a server."""
    names = together("s")
    for nothing in (None, b"1", b"null", b'"s"', b'"s_x"', b'"t__x"', b'"__x"', b'{"s__x":1}'):
        assert names.find_name(nothing) is None
    for nothing in (None, b"1", b'"s"', b'"file:///x"', b'"t+x"', b'"ui://s"', b'"ui://t/x"', b'"a:s+b"'):
        assert names.find_uri(nothing) is None
    assert names.name(names["s"], b"1") is None
    assert names.uri(names["s"], b"[]") is None


@given(st.text(max_size=20))
def test_names_of_no_server_lead_nowhere(text: str) -> None:
    """Nothing is guessed."""
    assume(not text.startswith("server"))
    names = together("server")
    assert names.find_name(raw(text)) is None
    assert names.find_uri(raw(text)) is None or text.lower().startswith("ui://server/")
