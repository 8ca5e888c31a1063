"""A server as a format writes it: the way back from a draft to the members of a file."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import parse_qsl, urlsplit

import msgspec

from anywire.config.dialect import OPENCODE, VSCODE, Dialect
from anywire.config.draft import Draft
from anywire.config.expansion import Surroundings
from anywire.config.template import Kind, Syntax, Template, Variable, literal_of, write_template
from anywire.errors import ConfigError
from anywire.transport.redact import HIDDEN, show_word, show_words

__all__ = ("literal_secrets", "portable", "written_members")

_NOT_IN_A_NAME: Final = re.compile(r"[^A-Za-z0-9]+")


def written_members(draft: Draft, dialect: Dialect) -> dict[str, object]:
    """Return the members that say in this format what the draft says.

    Raises `ConfigError` where the format has no way to say it.
    """
    if dialect.syntax is Syntax.PLAIN:
        raise ConfigError("only files of JSON can be changed")

    def text(template: Template) -> str:
        return write_template(template, dialect.syntax)

    members: dict[str, object] = {}
    words = [text(word) for word in draft.command]
    remote, env = draft.url is not None, "environment" if dialect is OPENCODE else "env"
    if dialect is OPENCODE:
        members["type"] = "remote" if remote else "local"
    elif remote or dialect is VSCODE:
        members["type"] = draft.transport
    if draft.url is not None:
        members["url"] = text(draft.url)
    elif dialect is OPENCODE:
        members["command"] = words
    else:
        members |= {"command": words[0], "args": words[1:]}
    members[env] = {name: None if value is None else text(value) for name, value in draft.env.items()}
    members["headers"] = {name: text(value) for name, value in draft.headers.items()}
    if draft.env_file is not None:
        if "envFile" not in dialect.members:
            raise ConfigError("it has an envFile, which cannot be written there")
        members["envFile"] = text(draft.env_file)
    if draft.cwd is not None:
        members["cwd"] = text(draft.cwd)
    members |= _own_members(draft)
    return {name: value for name, value in members.items() if value not in ({}, [])}


def _own_members(draft: Draft) -> dict[str, object]:
    """Return those that every format has under one name."""
    members: dict[str, object] = {
        "startup_timeout_sec": draft.start_seconds,
        "tool_timeout_sec": draft.call_seconds,
        "framing": None if draft.framing == "newline" else draft.framing,
        "era": None if draft.era == "auto" else draft.era,
        "allow": list(draft.allow) or None,
        "deny": list(draft.deny) or None,
        "disabled": draft.disabled or None,
    }
    return {name: value for name, value in members.items() if value is not None}


def portable(draft: Draft, surroundings: Surroundings) -> Draft:
    """Return the draft so that it means the same in a file elsewhere.

    Folders of its project become absolute.  What an editor would ask for becomes a variable of the
    environment.  What is let through where it is set is a variable with an empty default.  Raises
    `ConfigError` for what only the editor knows.
    """

    def moved(template: Template) -> Template:
        return tuple(part if isinstance(part, str) else _moved(part, surroundings) for part in template)

    def started(command: tuple[Template, ...]) -> tuple[Template, ...]:
        first = command[0][:1] if command else ()
        beside = draft.cwd is None and first and str(first[0]).startswith(("./", "../"))
        return ((f"{surroundings.folder}/", *command[0]), *command[1:]) if beside else command

    def placed(template: Template | None) -> Template | None:
        if template is None:
            return None
        moving = moved(template)
        first = moving[0] if moving else ""
        anchored = not isinstance(first, str) or first.startswith(("/", "~/", "\\")) or first[1:2] == ":"
        return moving if anchored else (f"{surroundings.folder}/", *moving)

    passed = {name: (Variable(Kind.ENVIRONMENT, name, ""),) for name in draft.passed_env}
    return msgspec.structs.replace(
        draft,
        command=started(tuple(moved(word) for word in draft.command)),
        url=None if draft.url is None else moved(draft.url),
        env={**passed, **{n: None if value is None else moved(value) for n, value in draft.env.items()}},
        passed_env=(),
        env_file=placed(draft.env_file),
        cwd=placed(draft.cwd),
        headers={name: moved(value) for name, value in draft.headers.items()},
    )


def _moved(variable: Variable, surroundings: Surroundings) -> str | Variable:
    match variable.kind:
        case Kind.ENVIRONMENT:
            return variable
        case Kind.INPUT:
            name = _NOT_IN_A_NAME.sub("_", variable.name).strip("_").upper() or "INPUT"
            name = f"_{name}" if name[0].isdigit() else name
            return Variable(Kind.ENVIRONMENT, name, surroundings.inputs.get(variable.name))
        case _:
            return surroundings.value(variable)


def literal_secrets(draft: Draft) -> tuple[str, ...]:
    """Return where the draft seems to hold a secret as it is: the names, never the values."""
    members = [
        *((f"env {name}", name, value) for name, value in draft.env.items() if value),
        *((f"header {name}", name, value) for name, value in draft.headers.items()),
    ]
    found = [where for where, name, value in members if _is_secret(name, literal_of(value))]
    line = [literal_of(word) for word in draft.command]
    shown = show_words([word or "" for word in line])
    if any(word and HIDDEN in said for word, said in zip(line, shown, strict=True)):
        found.append("the command line")
    if any(_is_secret(name, value) for name, value in _query(literal_of(draft.url or ()))):
        found.append("the URL")
    return tuple(found)


def _is_secret(name: str, value: str | None) -> bool:
    return bool(value) and (HIDDEN in show_word(f"{name}={value}") or HIDDEN in show_word(str(value)))


def _query(url: str | None) -> list[tuple[str, str]]:
    """Return what stands behind the `?` of a URL, and its user and password."""
    try:
        parts = urlsplit(url or "")
        return [*parse_qsl(parts.query), ("password", parts.password or "")]
    except ValueError:
        return []
