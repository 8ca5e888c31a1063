"""Texts with variables, in the ways that editors write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anywire.config.template import Kind, Syntax, Variable, fill, read_template, write_template
from anywire.errors import ConfigError
from tests.wire.strategies import thorough

ODD = st.text(st.sampled_from("${}:-aB_ env/"), max_size=16)


@pytest.mark.parametrize(
    ("text", "template"),
    [
        ("", ()),
        ("plain $HOME {x} $${", ("plain $HOME {x} $${",)),
        ("${A}", (Variable(Kind.ENVIRONMENT, "A"),)),
        ("x${A}y${B_2}", ("x", Variable(Kind.ENVIRONMENT, "A"), "y", Variable(Kind.ENVIRONMENT, "B_2"))),
        ("${A:-}", (Variable(Kind.ENVIRONMENT, "A", ""),)),
        ("${A:-b:-c}", (Variable(Kind.ENVIRONMENT, "A", "b:-c"),)),
        ('${A:-{"b": {}}}', (Variable(Kind.ENVIRONMENT, "A", '{"b": {}}'),)),
        ("${env:A}", (Variable(Kind.ENVIRONMENT, "A"),)),
        ("${input:my key}", (Variable(Kind.INPUT, "my key"),)),
        (
            "${workspaceFolder}${/}x",
            (Variable(Kind.KNOWN, "workspaceFolder"), Variable(Kind.KNOWN, "/"), "x"),
        ),
        ("${command:pick}", (Variable(Kind.FOREIGN, "command:pick"),)),
        ("${file:/key}", (Variable(Kind.FOREIGN, "file:/key"),)),
        ("${a[@]} ${#b} ${c%x}", ("${a[@]} ${#b} ${c%x}",)),
        ("${", ("${",)),
        ("${A", ("${A",)),
        ("${ ${A}", ("${ ", Variable(Kind.ENVIRONMENT, "A"))),
    ],
)
def test_variables_in_dollars_and_braces(text: str, template: tuple[object, ...]) -> None:
    """What is none stays a text."""
    assert "".join(map(str, read_template(text, Syntax.DOLLAR))) == "".join(map(str, template))


def test_variables_in_braces_alone_and_none_at_all() -> None:
    """OpenCode's, and Codex's."""
    assert read_template("a{env:K}${X}", Syntax.BRACES) == ("a", Variable(Kind.ENVIRONMENT, "K"), "${X}")
    assert read_template("${X}{env:K}", Syntax.PLAIN) == ("${X}{env:K}",)


def test_a_default_with_a_variable_in_it_is_refused() -> None:
    """Editors disagree about what that is."""
    with pytest.raises(ConfigError, match=r"the default of \$\{A\} has a variable of its own"):
        read_template("${A:-${B}}", Syntax.DOLLAR)


@thorough(100)
@given(ODD, st.sampled_from(Syntax))
def test_a_template_that_is_written_is_read_as_itself(text: str, syntax: Syntax) -> None:
    """Or it is refused."""
    try:
        template = read_template(text, syntax)
    except ConfigError:
        return
    try:
        written = write_template(template, syntax)
    except ConfigError:
        assert any(isinstance(part, Variable) and part.kind is not Kind.ENVIRONMENT for part in template)
        return
    assert read_template(written, syntax) == template


@thorough(100)
@given(ODD)
def test_a_text_without_variables_is_filled_in_as_itself(text: str) -> None:
    """Byte for byte."""
    assert fill(read_template(text, Syntax.PLAIN), lambda variable: "never") == text


@pytest.mark.parametrize("text", ["${" * 50_000, "${A" * 50_000, "${a:-" * 50_000])
def test_what_opens_and_never_closes_is_read_in_bounded_time(text: str) -> None:
    """It is a text."""
    assert fill(read_template(text, Syntax.DOLLAR), lambda variable: "never") == text


def test_a_text_that_would_become_a_variable_is_not_written() -> None:
    """It would mean something else there."""
    with pytest.raises(ConfigError, match="looks like a variable and is none"):
        write_template(("${X}",), Syntax.DOLLAR)
    with pytest.raises(ConfigError, match="cannot be written there"):
        write_template((Variable(Kind.ENVIRONMENT, "A", "b"),), Syntax.BRACES)
