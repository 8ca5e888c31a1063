"""The two ends of a bridge, as a user names them."""

import pytest

from anywire.bridge.endpoint import (
    ControlName,
    Face,
    HttpAddress,
    StdioFace,
    child_environment,
    read_face,
    target_framing,
)
from anywire.errors import ConfigError
from anywire.wire.framing import Framing


@pytest.mark.parametrize(
    ("text", "face"),
    [
        ("stdio", StdioFace(Framing.NEWLINE)),
        ("stdio+headers", StdioFace(Framing.HEADERS)),
        ("http://127.0.0.1:8000/x", HttpAddress("127.0.0.1", 8000, "/x")),
        ("http://[::1]:0", HttpAddress("::1", 0, "/mcp")),
        ("sse+http://localhost:9", HttpAddress("localhost", 9, "/mcp", old=True)),
        ("control:my notes", ControlName("my notes")),
    ],
)
def test_a_face_is_read(text: str, face: Face) -> None:
    assert read_face(text) == face


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("stdin", "no face 'stdin'; faces are: stdio, stdio\\+headers, http://"),
        ("https://127.0.0.1:1", "a face speaks http"),
        ("http://127.0.0.1/mcp", "names no port"),
        ("ftp://127.0.0.1:1", "no face"),
        ("http://127.0.0.1:70000", "names no port"),
        ("http://[::1", "no face"),
        ("http://user:pw@127.0.0.1:1/mcp", "--token-env"),
        ("http://127.0.0.1:1/mcp?x=1", "an address and a path"),
        ("control:", "names no server; write control:NAME"),
        ("control:a\nb", "names no server"),
    ],
)
def test_a_face_that_there_is_not_is_refused_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        read_face(text)


@pytest.mark.parametrize(("name", "framing"), [("newline", Framing.NEWLINE), ("headers", Framing.HEADERS)])
def test_a_target_framing_is_named(name: str, framing: Framing) -> None:
    assert target_framing(name) is framing


def test_an_unknown_framing_is_refused_with_the_framings_there_are() -> None:
    with pytest.raises(ConfigError, match="no framing 'lines'; framings are: newline, headers"):
        target_framing("lines")


def test_a_variable_is_set_or_let_through() -> None:
    assert child_environment(["A=1", "B", "C="], {"A": "0", "B": "2"}) == {"A": "1", "B": "2", "C": ""}


def test_a_value_may_hold_an_equals_sign() -> None:
    assert child_environment(["A=x=y"], {}) == {"A": "x=y"}


def test_a_variable_that_is_not_set_cannot_be_let_through() -> None:
    with pytest.raises(ConfigError, match="TOKEN is not set"):
        child_environment(["TOKEN"], {})


def test_a_word_without_a_name_is_refused() -> None:
    with pytest.raises(ConfigError, match="names no variable"):
        child_environment(["=1"], {})
