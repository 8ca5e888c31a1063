"""Who may speak to a server from a browser."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anywire.protocol.http.guard import Guard, is_loopback
from tests.wire.strategies import thorough

LOOPBACK = Guard.for_bind("127.0.0.1")
PUBLIC = Guard.for_bind("0.0.0.0")
NAMED = Guard.for_bind("0.0.0.0", hosts=["Example.com", "other.example:8443", "[2001:db8::1]", "10.0.0.7:80"])


# Addresses.


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "127.0.0.2",
        "127.255.255.254",
        "127.1",
        "localhost",
        "LocalHost",
        "localhost.",
        "::1",
        "[::1]",
        "0:0:0:0:0:0:0:1",
        "0000:0000:0000:0000:0000:0000:0000:0001",
        "::ffff:127.0.0.1",
    ],
)
def test_an_address_of_this_machine_alone_is_loopback(host: str) -> None:
    assert is_loopback(host)
    assert Guard.for_bind(host).refuse_host("evil.example") is not None


@pytest.mark.parametrize(
    "host",
    [
        "0.0.0.0",
        "::",
        "",
        "192.168.0.1",
        "example.com",
        "127.evil.example",
        "127.0.0.1.evil.example",
        "127.0.0.1.nip.io",
        "127.0.0.evil",
        "x127.0.0.1",
        "localhost.evil.example",
        "evil-localhost",
        "localhost:80",
        "127",
        "127.",
        "1127.0.0.1",
        "::2",
        "1::1",
        "::11",
        "2001:db8::1",
    ],
)
def test_any_other_is_not(host: str) -> None:
    assert not is_loopback(host)


# Hosts.


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "localhost:8000",
        "LOCALHOST:8000",
        "127.0.0.1",
        "127.0.0.1:1",
        "[::1]",
        "[::1]:8000",
        "localhost.",
        "localhost.:8000",
        "localhost:",
        " localhost:8000 ",
    ],
)
def test_a_server_on_loopback_answers_to_loopback_names(host: str) -> None:
    assert LOOPBACK.refuse_host(host) is None


@pytest.mark.parametrize(
    "host",
    [
        None,
        "",
        "evil.example",
        "evil.example:8000",
        "localhost.evil.example",
        "127.0.0.1.evil.example:8000",
        "127.evil.example",
        "localhost@evil.example",
        "evil.example@localhost",
        "evil.example:80@localhost",
        "localhost:80:80",
        "localhost:http",
        "localhost, evil.example",
        "localhost,evil.example",
        "localhost evil.example",
        "localhost/",
        "http://localhost",
        "//localhost",
        "[::1].evil.example",
        "[::1]evil",
        "[::1",
        "::1]",
        "[localhost]",
        "[]",
        ":8000",
        "localhost..",
        "localhost\\@evil.example",
        "127.0.0.2",
        "192.168.0.1",
        "localhost:123456",
        "localhost:²",
    ],
)
def test_a_server_on_loopback_refuses_every_other_name(host: str | None) -> None:
    """Under a name of their own, web pages reach a loopback address: that is DNS rebinding."""
    refusal = LOOPBACK.refuse_host(host)

    assert refusal is not None
    assert repr(host) in refusal
    assert ("allowed_hosts" in refusal) != ("no name of a host" in refusal)


@pytest.mark.parametrize("bound", ["localhost", "::1", "[::1]", "127.0.0.1"])
@pytest.mark.parametrize("host", ["localhost:1", "127.0.0.1:1", "[::1]:1"])
def test_loopback_is_one_place_by_all_of_its_names(bound: str, host: str) -> None:
    assert Guard.for_bind(bound).refuse_host(host) is None


def test_the_address_that_was_bound_is_a_name() -> None:
    assert Guard.for_bind("127.0.0.2").refuse_host("127.0.0.2:80") is None


@pytest.mark.parametrize("bound", ["0.0.0.0", "::", "192.168.0.1", "example.com", ""])
@pytest.mark.parametrize("host", [None, "", "evil.example", "server:8000", "[::1]", "@"])
def test_a_server_that_cannot_know_its_names_takes_any(bound: str, host: str | None) -> None:
    """Container names, proxies and public names: a list that was guessed would refuse them all."""
    assert Guard.for_bind(bound).refuse_host(host) is None


@pytest.mark.parametrize(
    "host",
    [
        "example.com",
        "EXAMPLE.com:443",
        "example.com:8000",
        "example.com.",
        "other.example:8443",
        "[2001:db8::1]",
        "[2001:DB8::1]:80",
        "10.0.0.7:80",
        "10.0.0.7",
    ],
)
def test_a_server_with_a_list_takes_what_is_on_it(host: str) -> None:
    """A name alone stands for all ports; a host that is asked for without a port has the default one."""
    assert NAMED.refuse_host(host) is None


@pytest.mark.parametrize(
    "host",
    [
        *(None, "", "evil.example", "example.com.evil.example", "sub.example.com", "localhost", "127.0.0.1"),
        *("other.example", "other.example:8000", "10.0.0.7:81", "[2001:db8::2]", "2001:db8::1"),
    ],
)
def test_a_server_with_a_list_takes_nothing_else(host: str | None) -> None:
    assert NAMED.refuse_host(host) is not None


def test_a_list_is_added_to_the_names_of_loopback() -> None:
    guard = Guard.for_bind("127.0.0.1", hosts=["tunnel.example"])

    assert guard.refuse_host("tunnel.example") is None
    assert guard.refuse_host("localhost:8000") is None
    assert guard.refuse_host("evil.example") is not None


@pytest.mark.parametrize("spelling", ["[2001:db8::1]:8000", "[2001:DB8::1]:8000"])
def test_an_address_of_ipv6_may_be_listed_with_its_port(spelling: str) -> None:
    guard = Guard.for_bind("::", hosts=[spelling])

    assert guard.refuse_host("[2001:db8::1]:8000") is None
    assert guard.refuse_host("[2001:db8::1]:8001") is not None


@pytest.mark.parametrize("host", [None, "", "evil.example", "@"])
def test_a_star_takes_every_host(host: str | None) -> None:
    assert Guard.for_bind("127.0.0.1", hosts=["*"]).refuse_host(host) is None


# Origins.


def test_programs_send_no_origin() -> None:
    assert LOOPBACK.refuse_origin(None, "localhost:8000") is None
    assert PUBLIC.refuse_origin(None, None) is None


@pytest.mark.parametrize(
    "origin",
    [
        "http://localhost:8000",
        "http://localhost:6274",
        "https://localhost",
        "http://127.0.0.1:3000",
        "http://[::1]:3000",
        "HTTP://LOCALHOST:3000",
        "http://localhost:3000/",
        "tauri://localhost",
    ],
)
def test_a_server_on_loopback_takes_pages_of_this_machine(origin: str) -> None:
    """From any port: an inspector runs beside the server."""
    assert LOOPBACK.refuse_origin(origin, "localhost:8000") is None
    assert LOOPBACK.refuse_origin(origin, "127.0.0.1:8000") is None


HOSTILE_ORIGINS = [
    "null",
    "NULL",
    "",
    "http://evil.example",
    "https://evil.example:8000",
    "http://localhost.evil.example",
    "http://127.evil.example",
    "http://127.0.0.1.evil.example",
    "http://127.0.0.1.nip.io:8000",
    "http://localhost@evil.example",
    "http://localhost:8000@evil.example",
    "http://evil.example@localhost",
    "http://evil.example:80@localhost:8000",
    "http://evil.example#localhost",
    "http://evil.example/localhost",
    "http://localhost/evil",
    "http://localhost?x",
    "http://localhost\\.evil.example",
    "http://localhost, http://evil.example",
    "http://localhost http://evil.example",
    "http://[::1].evil.example",
    "http://[::1]evil",
    "http://[::1",
    "http://[",
    "http://]",
    "http://[evil]",
    "http://",
    "http:///localhost",
    "http:localhost",
    "//localhost",
    "localhost",
    "localhost:8000",
    "://localhost",
    "file://",
    "file:///etc/passwd",
    "chrome-extension://abcdefghijklmnop",
    "data:text/html,x",
    "http://localhost:http",
    "http://localhost:123456",
    "http://localhost:²",
    "http://\ud800",
    "http://ｌocalhost",
    "*",
]


@pytest.mark.parametrize("origin", HOSTILE_ORIGINS)
@pytest.mark.parametrize("host", ["localhost:8000", "evil.test", "", None])
@pytest.mark.parametrize("guard", [LOOPBACK, PUBLIC, NAMED], ids=["loopback", "public", "named"])
def test_a_page_of_elsewhere_is_refused(guard: Guard, host: str | None, origin: str) -> None:
    refusal = guard.refuse_origin(origin, host)

    assert refusal is not None
    assert repr(origin) in refusal
    assert ("allowed_origins" in refusal) != ("says nothing of where" in refusal)


@pytest.mark.parametrize(
    ("origin", "host"),
    [
        ("http://example.com", "example.com"),
        ("https://example.com", "Example.com"),
        ("http://example.com:8000", "example.com:8000"),
        ("https://example.com", "example.com:443"),
        ("http://example.com:80", "example.com"),
        ("http://192.168.0.1:8000", "192.168.0.1:8000"),
        ("http://[2001:db8::1]:8000", "[2001:db8::1]:8000"),
        ("http://localhost:8000", "localhost:8000"),
        ("http://example.com", "example.com."),
    ],
)
def test_a_page_of_the_very_host_is_taken(origin: str, host: str) -> None:
    assert PUBLIC.refuse_origin(origin, host) is None


@pytest.mark.parametrize(
    ("origin", "host"),
    [
        ("http://example.com:3000", "example.com:8000"),
        ("http://example.com", "example.com:8000"),
        ("http://example.com:8000", "example.com"),
        ("http://sub.example.com", "example.com"),
        ("https://example.com", "example.com:80"),
        ("http://localhost:3000", "localhost:8000"),
        ("http://localhost:3000", "192.168.0.1:8000"),
        ("http://a@example.com", "a@example.com"),
        ("http://example.com", "example.com, example.com"),
    ],
)
def test_another_port_or_name_is_another_page(origin: str, host: str) -> None:
    """Whoever serves strangers is told by them where `localhost` is."""
    assert PUBLIC.refuse_origin(origin, host) is not None


def test_a_page_under_a_rebound_name_gets_nowhere() -> None:
    """Its origin is that of the host it asks for, so the host is what must be refused."""
    assert LOOPBACK.refuse_host("evil.example:8000") is not None


@pytest.mark.parametrize(
    "origin",
    [
        "https://app.example",
        "https://APP.example",
        "https://app.example/",
        "https://app.example:443",
        "http://dev.example:3000",
        "vscode-webview://panel",
    ],
)
@pytest.mark.parametrize("bound", ["127.0.0.1", "0.0.0.0"])
def test_an_origin_on_the_list_is_taken(bound: str, origin: str) -> None:
    allowed = [
        "https://App.example/",
        "https://app.example:443",
        "http://dev.example:3000",
        "vscode-webview://panel",
    ]

    assert Guard.for_bind(bound, origins=allowed).refuse_origin(origin, "localhost:1") is None


def test_a_default_port_on_the_list_need_not_be_said() -> None:
    guard = Guard.for_bind("0.0.0.0", origins=["https://app.example:443", "http://[2001:db8::1]:80"])

    assert guard.refuse_origin("https://app.example", "x") is None
    assert guard.refuse_origin("http://[2001:db8::1]", "x") is None
    assert guard.refuse_origin("http://app.example", "x") is not None


@pytest.mark.parametrize(
    "origin", ["http://app.example", "https://app.example:8443", "https://app.example.evil"]
)
def test_a_list_of_origins_is_exact(origin: str) -> None:
    guard = Guard.for_bind("127.0.0.1", origins=["https://app.example"])

    assert guard.refuse_origin(origin, "localhost:1") is not None


@pytest.mark.parametrize("origin", ["null", "http://evil.example", "", "http://["])
def test_a_star_takes_every_origin(origin: str) -> None:
    assert Guard.for_bind("127.0.0.1", origins=["*"]).refuse_origin(origin, "localhost:1") is None


def test_null_can_be_allowed_by_name() -> None:
    """Pages from files and sandboxes have no other origin."""
    assert Guard.for_bind("127.0.0.1", origins=["null"]).refuse_origin("null", "localhost:1") is None


pieces = st.sampled_from(
    [
        "http://",
        "localhost",
        "127.0.0.1",
        "[::1]",
        "[",
        "]",
        ":",
        "80",
        "@",
        "/",
        ".",
        "evil",
        "\\",
        "#",
        "null",
    ]
)
headers = st.one_of(
    st.text(st.characters(codec=None), max_size=30), st.lists(pieces, max_size=8).map("".join)
)


@given(headers, headers)
@thorough(500)
def test_no_header_raises(host: str, origin: str) -> None:
    for guard in (LOOPBACK, PUBLIC, NAMED):
        assert isinstance(guard.refuse_host(host), str | None)
        assert isinstance(guard.refuse_origin(origin, host), str | None)


additions = st.text(
    st.characters(codec=None, exclude_categories=["Zs", "Zl", "Zp", "Cc"], exclude_characters=":."),
    min_size=1,
)


@given(additions, st.sampled_from(["", ":80", ":8000"]))
@thorough(300)
def test_whatever_is_added_to_a_loopback_name_makes_it_another(addition: str, port: str) -> None:
    assert LOOPBACK.refuse_host(f"localhost{addition}{port}") is not None
    assert LOOPBACK.refuse_host(f"{addition}localhost{port}") is not None
    assert LOOPBACK.refuse_origin(f"http://localhost{addition}{port}/", "localhost") is not None
    assert LOOPBACK.refuse_origin(f"http://{addition}localhost{port}", "localhost") is not None


@pytest.mark.parametrize("host", ["localhost, evil.example", "a b", "http://x", "", None])
def test_nothing_is_advised_for_a_host_that_is_none(host: str | None) -> None:
    """Two headers joined, or no name at all: nobody could let it in."""
    refusal = LOOPBACK.refuse_host(host)
    assert refusal is not None
    assert "allow" not in refusal


@pytest.mark.parametrize("origin", ["null", "NULL", "http://a, http://b", "file://"])
def test_nothing_is_advised_for_an_origin_that_says_nothing(origin: str) -> None:
    """To allow `null` would let in every sandboxed page there is."""
    refusal = LOOPBACK.refuse_origin(origin, "localhost")
    assert refusal is not None
    assert "allow" not in refusal


def test_what_can_be_let_in_is_told_how() -> None:
    assert "allow it with allowed_hosts" in str(LOOPBACK.refuse_host("tools.example:80"))
    assert "allow it with allowed_origins" in str(LOOPBACK.refuse_origin("https://app.example", "localhost"))
