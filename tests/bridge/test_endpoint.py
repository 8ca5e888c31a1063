"""The two ends of a bridge, as a user names them."""

import pytest

from anywire.bridge.endpoint import child_environment, face_framing, target_framing
from anywire.errors import ConfigError
from anywire.wire.framing import Framing


@pytest.mark.parametrize(
    ("face", "framing"), [("stdio", Framing.NEWLINE), ("stdio+headers", Framing.HEADERS)]
)
def test_a_face_names_its_framing(face: str, framing: Framing) -> None:
    assert face_framing(face) is framing


def test_an_unknown_face_is_refused_with_the_faces_there_are() -> None:
    with pytest.raises(ConfigError, match=r"no face 'stdin'; faces are: stdio, stdio\+headers"):
        face_framing("stdin")


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
