"""Texts with variables in them, as editors write them: `Bearer ${TOKEN}`, `${env:HOME}/notes`, `{env:KEY}`.

A template is read once and then either filled in, or written again in the way of another editor.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import Enum
from typing import Final, TypeAlias

import msgspec

from anywire.errors import ConfigError

__all__ = ("Kind", "Syntax", "Template", "Variable", "fill", "literal_of", "read_template", "write_template")

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_FOREIGN: Final = re.compile(r"(command|config|file|secret):")
_BRACES: Final = re.compile(r"\{(env|file):([^{}]*)\}")
_BRACE: Final = re.compile(r"[{}]")
# What is longer between its braces is no variable.
_LONGEST: Final = 4096


class Syntax(Enum):
    """How a file writes variables."""

    #: `${NAME}`, `${NAME:-default}`, `${env:NAME}`, `${input:ID}`, `${workspaceFolder}`.
    DOLLAR = "${NAME}"
    #: The same, but that a variable of the environment is written `${env:NAME}`, and has no default.
    DOLLAR_ENV = "${env:NAME}"
    #: `{env:NAME}`.
    BRACES = "{env:NAME}"
    #: Not at all: each text is what it is.
    PLAIN = ""


class Kind(Enum):
    """What a variable stands for."""

    #: A variable of the environment.
    ENVIRONMENT = "env"
    #: What an editor asks its user for.
    INPUT = "input"
    #: Something that is known without asking: a folder, a separator.
    KNOWN = "known"
    #: What only the editor can know.
    FOREIGN = "foreign"


KNOWN: Final = (
    "workspaceFolder",
    "workspaceRoot",
    "workspaceFolderBasename",
    "userHome",
    "pathSeparator",
    "/",
)


class Variable(msgspec.Struct, frozen=True):
    """One variable in a text; `default` is None where it has none."""

    kind: Kind
    name: str
    default: str | None = None


#: What stands between variables, and the variables, in their order.
Template: TypeAlias = tuple[str | Variable, ...]


def read_template(text: str, syntax: Syntax) -> Template:
    """Read a text.  What looks like a variable and is none stays as it is.

    Raises `ConfigError` for a default that has a variable of its own.
    """
    if syntax is Syntax.BRACES:
        return _read_braces(text)
    if syntax is Syntax.PLAIN:
        return (text,) if text else ()
    parts: list[str | Variable] = []
    done, position = 0, text.find("${")
    closed = _closing_braces(text) if position >= 0 else {}
    while position >= 0:
        end = closed.get(position + 1, -1)
        variable = _variable(text[position + 2 : end]) if 0 < end - position < _LONGEST else None
        if variable is not None:
            parts += [text[done:position], variable]
            done = end + 1
        position = text.find("${", max(position + 2, done))
    return tuple(part for part in (*parts, text[done:]) if part != "")


def fill(template: Template, value_of: Callable[[Variable], str]) -> str:
    """Return the text with a value for each variable."""
    return "".join(part if isinstance(part, str) else value_of(part) for part in template)


def literal_of(template: Template) -> str | None:
    """Return the text of a template without variables, None for one that has some."""
    texts = [part for part in template if isinstance(part, str)]
    return "".join(texts) if len(texts) == len(template) else None


def write_template(template: Template, syntax: Syntax) -> str:
    """Write a template so that it is read as itself.  Raises `ConfigError` where that cannot be."""
    text = "".join(part if isinstance(part, str) else _written(part, syntax) for part in template)
    if read_template(text, syntax) != _merged(template):
        raise ConfigError(
            "it has a text that looks like a variable and is none, which cannot be written there"
        )
    return text


def _merged(template: Template) -> Template:
    """Return the template with texts that stand side by side in one."""
    parts: list[str | Variable] = []
    for part in template:
        if isinstance(part, str) and parts and isinstance(parts[-1], str):
            parts[-1] += part
        elif part != "":
            parts.append(part)
    return tuple(parts)


def _written(variable: Variable, syntax: Syntax) -> str:
    plain = variable.kind is Kind.ENVIRONMENT and variable.default is None
    if plain and syntax in (Syntax.BRACES, Syntax.DOLLAR_ENV):
        return syntax.value.replace("NAME", variable.name)
    if syntax is not Syntax.DOLLAR or variable.kind is not Kind.ENVIRONMENT:
        raise ConfigError(f"the variable {variable.name} cannot be written there")
    return f"${{{variable.name}}}" if plain else f"${{{variable.name}:-{variable.default}}}"


def _closing_braces(text: str) -> dict[int, int]:
    """Return where each brace that opens is closed."""
    opened: list[int] = []
    closed: dict[int, int] = {}
    for found in _BRACE.finditer(text):
        if found[0] == "{":
            opened.append(found.start())
        elif opened:
            closed[opened.pop()] = found.start()
    return closed


def _variable(inside: str) -> Variable | None:
    if inside in KNOWN:
        return Variable(Kind.KNOWN, inside)
    if inside.startswith("input:"):
        return Variable(Kind.INPUT, inside.removeprefix("input:"))
    if _FOREIGN.match(inside):
        return Variable(Kind.FOREIGN, inside)
    name, colon, default = inside.removeprefix("env:").partition(":-")
    if not _NAME.fullmatch(name):
        return None
    if "${" in default:
        raise ConfigError(f"the default of ${{{name}}} has a variable of its own; write one without")
    return Variable(Kind.ENVIRONMENT, name, default if colon else None)


def _read_braces(text: str) -> Template:
    parts: list[str | Variable] = []
    done = 0
    for found in _BRACES.finditer(text):
        kind = Kind.ENVIRONMENT if found[1] == "env" and _NAME.fullmatch(found[2]) else Kind.FOREIGN
        name = found[2] if kind is Kind.ENVIRONMENT else f"{found[1]}:{found[2]}"
        parts += [text[done : found.start()], Variable(kind, name)]
        done = found.end()
    return tuple(part for part in (*parts, text[done:]) if part != "")
