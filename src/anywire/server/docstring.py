"""What a docstring says of a function and of its parameters, in the styles of Google and of Sphinx."""

from __future__ import annotations

import re

__all__ = ("read_docstring",)

_ARGUMENTS = re.compile(
    r"^(keyword |other )?(args|arguments|parameters|params)\s*:\s*$",
    re.IGNORECASE,
)
_SECTION = re.compile(r"^(returns?|raises?|yields?|examples?|notes?)\s*:\s*$", re.IGNORECASE)
_PARAMETER = re.compile(r"^\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)$")
_SPHINX_PARAMETER = re.compile(r"^:param\s+(?:[\w.\[\], |]+\s+)?(\w+)\s*:\s*(.*)$")


def read_docstring(text: str) -> tuple[str, dict[str, str]]:
    """Split a docstring into its description and what it says of each parameter.

    The text comes without its common indent, as `inspect.cleandoc` gives it.
    """
    description: list[str] = []
    parameters = _Parameters()
    section = ""
    for line in text.splitlines():
        stripped = line.strip()
        sphinx = _SPHINX_PARAMETER.match(stripped)
        if sphinx:
            section = "args"
            parameters.begin(0)
            parameters.add(sphinx.group(1), sphinx.group(2))
        elif stripped.startswith(":"):
            section = "other"
        elif _ARGUMENTS.match(stripped):
            section = "args"
            parameters.begin(None)
        elif _SECTION.match(stripped):
            section = "other"
        elif section and _goes_on(section, line, parameters):
            continue
        else:
            section = ""
            description.append(line)
    return "\n".join(description).strip(), parameters.found


def _goes_on(section: str, line: str, parameters: _Parameters) -> bool:
    """Say whether a line belongs to the section before it; note what it says of a parameter."""
    if section == "args" and parameters.read(line):
        return True
    return not line.strip() or line[:1].isspace()


class _Parameters:
    """Reads the lines of sections about parameters."""

    def __init__(self) -> None:
        self.found: dict[str, str] = {}
        self._current = ""
        self._indent: int | None = None

    def begin(self, indent: int | None) -> None:
        """A section begins; its parameters stand at that indent, None: at that of its first line."""
        self._indent = indent
        self._current = ""

    def add(self, name: str, description: str) -> None:
        """Note a parameter; what follows may go on about it."""
        self._current = name
        self.found[name] = description

    def read(self, line: str) -> bool:
        """Take a line, if it belongs to the section."""
        stripped = line.strip()
        indent = len(line) - len(line.lstrip())
        if not stripped:
            return True
        if self._indent is None:
            self._indent = indent
        found = _PARAMETER.match(stripped)
        if found and indent == self._indent:
            self.add(found.group(1), found.group(2))
            return True
        if indent > self._indent and self._current:
            self.found[self._current] = f"{self.found[self._current]} {stripped}".strip()
            return True
        return False
