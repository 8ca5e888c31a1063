"""What a docstring says, in the styles that people write."""

from __future__ import annotations

import inspect

import pytest

from anywire.server.docstring import read_docstring

GOOGLE = """Send a letter.

    It is sent at once.

    Args:
        to: Who gets it.
        text (str, optional): What it says,
            over several lines: with colons
            and more.
        **more: Whatever else.

    Returns:
        to: not a parameter

    Raises:
        ValueError: for no good reason.
    """

SPHINX = """Send a letter.

    It is sent at once.

    :param to: Who gets it.
    :param str text: What it says,
        over several lines: with colons
        and more.
    :param dict[str, int] more: Whatever else.
    :type to: str
    :returns: to: not a parameter
    :raises ValueError: for no good reason.
    """

NARROW = """Send a letter.

It is sent at once.

Arguments:
  to: Who gets it.
  text: What it says,
    over several lines: with colons
    and more.
  more : Whatever else.
"""

FLUSH = """Send a letter.

It is sent at once.

Params:
to: Who gets it.
text: What it says,
  over several lines: with colons
  and more.
more: Whatever else.
"""

AROUND = """Send a letter.

Args:
    to: Who gets it.
    text: What it says,
        over several lines: with colons
        and more.

Keyword Args:
    more: Whatever else.

It is sent at once.
"""


@pytest.mark.parametrize("text", [GOOGLE, SPHINX, NARROW, FLUSH, AROUND])
def test_parameters_and_description_are_told_apart(text: str) -> None:
    """Whatever the style, the indent, and the order."""
    description, parameters = read_docstring(inspect.cleandoc(text))

    assert " ".join(description.split()) == "Send a letter. It is sent at once."
    assert parameters == {
        "to": "Who gets it.",
        "text": "What it says, over several lines: with colons and more.",
        "more": "Whatever else.",
    }


@pytest.mark.parametrize(
    ("text", "description"),
    [
        ("", ""),
        ("One line.", "One line."),
        ("One.\n\nTwo: with a colon.\n  indented", "One.\n\nTwo: with a colon.\n  indented"),
        ("One.\n\nReturns:\n    nothing", "One."),
        ("One.\n\nExamples:\n    >>> two()\n\nThree.", "One.\n\n\nThree."),
    ],
)
def test_what_is_about_no_parameter_is_the_description(text: str, description: str) -> None:
    """But for sections about other things."""
    assert " ".join(read_docstring(text)[0].split()) == " ".join(description.split())
    assert read_docstring(text)[1] == {}
