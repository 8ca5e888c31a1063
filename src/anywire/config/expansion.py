"""From a server as a file has it to one that can be started or called: its variables get their values."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import msgspec

from anywire.config.draft import Draft
from anywire.config.entry import ServerEntry, Wire
from anywire.config.env_file import read_env_file
from anywire.config.naming import usable_name
from anywire.config.template import Kind, Template, Variable, fill
from anywire.errors import ConfigError
from anywire.transport.redact import show_command_line, show_url

__all__ = ("Surroundings", "expand")

_HEADER_NAME: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_CONTROL: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_SURROGATE: Final = re.compile(r"[\ud800-\udfff]")


class Surroundings(msgspec.Struct, frozen=True):
    """What gives variables their values.

    `folder` is the project that the file belongs to; relative paths of `cwd` and `envFile` start there.
    `inputs` are the values of what an editor would ask for, None where there is no default.
    """

    environment: Mapping[str, str]
    folder: Path
    inputs: Mapping[str, str | None] = msgspec.field(default_factory=dict[str, str | None])

    @property
    def home(self) -> str:
        """The home folder."""
        return self.environment.get("HOME") or self.environment.get("USERPROFILE") or str(Path.home())

    def value(self, variable: Variable) -> str:
        """Return the value of a variable.  Raises `ConfigError` where it has none."""
        match variable.kind:
            case Kind.ENVIRONMENT:
                return self._of_environment(variable)
            case Kind.INPUT:
                return self._of_input(variable.name)
            case Kind.KNOWN:
                return self._known(variable.name)
            case Kind.FOREIGN:
                raise ConfigError(f"only the editor knows {variable.name.partition(':')[0]} variables")

    def _of_environment(self, variable: Variable) -> str:
        value = self.environment.get(variable.name, variable.default)
        if value is None:
            raise ConfigError(f"the variable {variable.name} is not set")
        return value

    def _of_input(self, id: str) -> str:
        value = self.inputs.get(id)
        if value is None:
            raise ConfigError(f"its editor asks for the input {id!r}, which has no default; nobody asks here")
        return value

    def _known(self, name: str) -> str:
        match name:
            case "userHome":
                return self.home
            case "workspaceFolderBasename":
                return self.folder.name
            case "workspaceFolder" | "workspaceRoot":
                return str(self.folder)
            case _:
                return os.sep


def expand(written_name: str, draft: Draft, surroundings: Surroundings) -> ServerEntry:
    """Return the server with a value for each variable.

    Raises `ConfigError` with a sentence about a variable that has none, or a value that cannot be.  Of a
    server that is disabled what has no value stays as it is: it is not used.
    """
    filling = _Filling(surroundings, lenient=draft.disabled)
    command = tuple(filling.text(word, "args" if at else "command") for at, word in enumerate(draft.command))
    command = tuple(_at_home(word, surroundings) if at == 0 else word for at, word in enumerate(command))
    url = None if draft.url is None else filling.text(draft.url, "url")
    shown_url = "" if draft.url is None else _shown(draft.url, surroundings)
    return ServerEntry(
        name=usable_name(written_name),
        written_name=written_name,
        command=command,
        url=None if url is None else filling.checked_url(url, shown_url),
        wire=_wire(draft),
        env=filling.env(draft),
        cwd=None if draft.cwd is None else str(filling.path(draft.cwd, "cwd")),
        headers=filling.headers(draft),
        disabled=draft.disabled,
        start_seconds=draft.start_seconds,
        call_seconds=draft.call_seconds,
        allow=draft.allow,
        deny=draft.deny,
        era=draft.era,
        shown=show_url(shown_url) if command == () else _shown_line(draft.command, surroundings),
    )


class _Filling:
    """Fills templates in, and says of which member it was that one could not be."""

    def __init__(self, surroundings: Surroundings, *, lenient: bool) -> None:
        self._surroundings = surroundings
        self._lenient = lenient

    def text(self, template: Template, member: str) -> str:
        try:
            text = fill(template, self._value)
        except ConfigError as error:
            raise ConfigError(f"{member}: {error}") from None
        if "\0" in text or _SURROGATE.search(text):
            raise ConfigError(f"{member} has a character that no program can be given")
        return text

    def checked_url(self, url: str, shown: str) -> str:
        """Return a URL as it is called, whichever way it says that it is one of old."""
        url = url.removeprefix("sse+")
        try:
            parts = urlsplit(url)
            good = parts.scheme.lower() in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError:
            good = False
        if not good and not (self._lenient and "${" in url):
            raise ConfigError(f"{show_url(shown)!r} is no http:// or https:// URL")
        return url

    def path(self, template: Template, member: str) -> Path:
        return self._surroundings.folder / _at_home(self.text(template, member), self._surroundings)

    def headers(self, draft: Draft) -> tuple[tuple[str, str], ...]:
        known: set[str] = set()
        for name in draft.headers:
            if name.lower() in known:
                raise ConfigError(f"{name} is given twice as a header; give one")
            known.add(name.lower())
        return tuple((name, self._header(name, value)) for name, value in draft.headers.items())

    def _header(self, name: str, template: Template) -> str:
        if not _HEADER_NAME.fullmatch(name):
            raise ConfigError("headers has a name that no header can have")
        text = self.text(template, f"{name} in headers").strip()
        if _CONTROL.search(text):
            raise ConfigError(f"{name} in headers has a control character")
        return text

    def env(self, draft: Draft) -> dict[str, str]:
        environment = self._surroundings.environment
        variables = {name: environment[name] for name in draft.passed_env if name in environment}
        if draft.env_file is not None and not self._lenient:
            variables |= read_env_file(self.path(draft.env_file, "envFile"))
        for name, template in draft.env.items():
            if not name or "=" in name or "\0" in name:
                raise ConfigError("env has a name that no variable can have")
            variables.pop(name, None)
            if template is not None:
                variables[name] = self.text(template, f"{name} in env")
        return variables

    def _value(self, variable: Variable) -> str:
        if not self._lenient:
            return self._surroundings.value(variable)
        try:
            return self._surroundings.value(variable)
        except ConfigError:
            return f"${{{variable.name}}}"


def _wire(draft: Draft) -> Wire:
    if draft.transport == "stdio":
        return "stdio+headers" if draft.framing == "headers" else "stdio"
    if draft.url is not None and str(draft.url[0]).startswith("sse+"):
        return "sse"
    return draft.transport


def _at_home(path: str, surroundings: Surroundings) -> str:
    return surroundings.home + path[1:] if path.startswith("~/") else path


def _shown(template: Template, surroundings: Surroundings) -> str:
    """Return a text for people: what comes from the environment by its name, for it may be secret."""

    def shown(variable: Variable) -> str:
        if variable.kind is Kind.KNOWN:
            return surroundings.value(variable)
        return f"${{{variable.name}}}"

    return fill(template, shown)


def _shown_line(command: tuple[Template, ...], surroundings: Surroundings) -> str:
    line = show_command_line([_shown(word, surroundings) for word in command])
    # A variable between quotes would be taken for a text.
    return re.sub(r"'(\$\{\w+\})'", r"\1", line)
