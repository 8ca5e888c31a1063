"""A server as a file has it: every format's members under one name, variables not yet filled in."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, Literal, cast

import msgspec

from anywire.config.dialect import TOOL_FILTER, Dialect
from anywire.config.entry import Era
from anywire.config.members import Members
from anywire.config.template import Kind, Template, Variable
from anywire.config.times import read_times
from anywire.errors import ConfigError

__all__ = ("Draft", "read_draft")

Transport = Literal["stdio", "http", "sse"]
_TYPES: Final[Mapping[str, Transport]] = {
    "stdio": "stdio",
    "local": "stdio",
    "http": "http",
    "streamablehttp": "http",
    "remote": "http",
    "sse": "sse",
}
_ERAS: Final = ("auto", "legacy", "modern")
_FRAMINGS: Final = ("newline", "headers")
_KINDS: Final = ("tool", "prompt", "resource")
_OTHER_KIND: Final = "resource:… for a URI, tool:… for a tool of such a name"
_NO_TOOL: Final = "tool:*"


class Draft(msgspec.Struct, frozen=True, kw_only=True):
    """One server before its variables have values.  Exactly one of `command` and `url` is there."""

    command: tuple[Template, ...] = ()
    url: Template | None = None
    transport: Transport = "stdio"
    framing: Literal["newline", "headers"] = "newline"
    #: A variable whose value is None is not to be set.
    env: Mapping[str, Template | None] = msgspec.field(default_factory=dict[str, Template | None])
    #: Variables that are let through where they are set.
    passed_env: tuple[str, ...] = ()
    env_file: Template | None = None
    cwd: Template | None = None
    headers: Mapping[str, Template] = msgspec.field(default_factory=dict[str, Template])
    disabled: bool = False
    start_seconds: float | None = None
    call_seconds: float | None = None
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    era: Era = "auto"


def read_draft(entry: Mapping[str, object], dialect: Dialect) -> Draft:
    """Read one server.  Raises `ConfigError` with a sentence about what cannot be used."""
    members = Members(entry, dialect)
    transport = _transport(members)
    start, call = read_times(members)
    only, none = _tool_filter(members)
    return Draft(
        command=_command(members) if transport == "stdio" else (),
        url=members.template("url") if transport != "stdio" else None,
        transport=transport,
        framing="headers" if _choice(members, "framing", _FRAMINGS) == "headers" else "newline",
        env=members.templates("env"),
        passed_env=_passed_env(members),
        env_file=members.template("env_file"),
        cwd=members.template("cwd"),
        headers=_headers(members),
        disabled=members.flag("disabled") is True or members.flag("enabled") is False,
        start_seconds=start,
        call_seconds=call,
        allow=(*_patterns(members, "allow"), *only),
        deny=(*_patterns(members, "deny"), *none),
        era=cast("Era", _choice(members, "era", _ERAS) or "auto"),
    )


def _transport(members: Members) -> Transport:
    """Say how the server is spoken to: as it says itself, else as what it has allows."""
    said, has_command, has_url = members.word("type"), members.value("command"), members.value("url")
    if said is not None:
        transport = _TYPES.get(re.sub(r"[-_]", "", said).lower())
        if transport is None:
            raise ConfigError(f"{members.name('type')} is none that is known; write stdio, http or sse")
        if transport == "stdio" and has_command is None:
            raise ConfigError("it has no command")
        if transport != "stdio" and has_url is None:
            raise ConfigError("it has no url")
        return transport
    if has_command is not None and has_url is not None:
        raise ConfigError("it has a command and a url; give one, or say which with type")
    if has_url is not None:
        return "sse" if str(has_url).startswith("sse+") else "http"
    if has_command is None:
        raise ConfigError("it has neither a command nor a url")
    return "stdio"


def _command(members: Members) -> tuple[Template, ...]:
    """Return the command and its arguments; the command may be a list that has them."""
    name, value = members.name("command"), members.value("command")
    first = members.words("command") if isinstance(value, list) else (members.word("command") or "",)
    words = (*(first or ()), *(members.words("args") or ()))
    if not words or not words[0].strip():
        raise ConfigError(f"{name} is empty")
    return tuple(members.read(word, name if at == 0 else "args") for at, word in enumerate(words))


def _headers(members: Members) -> dict[str, Template]:
    headers = {name: value for name, value in members.templates("headers").items() if value is not None}
    token = members.word("token_variable")
    if token is not None:
        headers["Authorization"] = ("Bearer ", Variable(Kind.ENVIRONMENT, token))
    for name, value in members.templates("header_variables").items():
        if value:
            headers[name] = (Variable(Kind.ENVIRONMENT, "".join(map(str, value))),)
    return headers


def _passed_env(members: Members) -> tuple[str, ...]:
    value = members.value("passed_env")
    if not isinstance(value, list):
        return members.words("passed_env") or ()
    names: list[str] = []
    for item in cast("list[object]", value):
        name = cast("dict[str, object]", item).get("name") if isinstance(item, dict) else item
        if not isinstance(name, str):
            raise ConfigError(f"{members.name('passed_env')} is not a list of names")
        names.append(name)
    return tuple(names)


def _tool_filter(members: Members) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the patterns of the tools that are let through, and of those that are hidden."""
    only, none = members.words("only_tools"), members.words("no_tools")
    value = members.value("tool_filter")
    if value is not None:
        if not isinstance(value, dict):
            raise ConfigError(f"{members.name('tool_filter')} is not an object")
        parts = Members(cast("dict[str, object]", value), TOOL_FILTER)
        mode, listed = _choice(parts, "mode", ("allow", "block")), parts.words("list")
        only = only or parts.words("allow") or (listed if mode != "block" else None)
        none = none or parts.words("deny") or (listed if mode == "block" else None)
    hidden = tuple(f"tool:{_exactly(name)}" for name in none or ())
    if only is None or "*" in only:
        return (), hidden
    # A list of no tools lets none through, and no pattern at all would let through all of them.
    return tuple(f"tool:{_exactly(name)}" for name in only), hidden if only else (*hidden, _NO_TOOL)


def _exactly(name: str) -> str:
    """Write a name as a pattern that matches it alone."""
    return re.sub(r"[*?\[]", r"[\g<0>]", name)


def _patterns(members: Members, meaning: str) -> tuple[str, ...]:
    patterns = members.words(meaning) or ()
    for pattern in patterns:
        kind, colon, glob = pattern.partition(":")
        if not pattern or (colon and kind in _KINDS and not glob):
            raise ConfigError(f"{meaning} has a pattern that is empty")
        if colon and kind not in _KINDS:  # a rule that is about nothing would protect nothing
            near = kind.lower().removesuffix("s")
            meant = f"{near}:…" if near in _KINDS else _OTHER_KIND
            raise ConfigError(f"{meaning} has a pattern of {kind}:…; write {meant}")
    return patterns


def _choice(members: Members, meaning: str, choices: tuple[str, ...]) -> str | None:
    word = members.word(meaning)
    if word is not None and word not in choices:
        raise ConfigError(f"{members.name(meaning)} is none that is known; write {' or '.join(choices)}")
    return word
