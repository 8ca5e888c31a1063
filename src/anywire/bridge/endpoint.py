"""The two ends of a bridge, as a user names them.

A FACE is what the bridge offers: `stdio`, `stdio+headers`, `http://HOST:PORT/path`, `sse+http://HOST:PORT`
for old clients, or `control:NAME`, a server on the control channel of the host that started this process.
A TARGET is what it calls: `-- CMD ARGS…` with the framing that the command speaks, the URL of a server, or
`control:NAME -- CMD ARGS…`, a server that lives in a program.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias
from urllib.parse import SplitResult, unquote, urlsplit

import msgspec

from anywire.errors import ConfigError
from anywire.transport.redact import show_url
from anywire.wire.framing import Framing

__all__ = (
    "FACES",
    "ControlName",
    "Face",
    "HttpAddress",
    "StdioFace",
    "child_environment",
    "is_url",
    "read_control",
    "read_face",
    "target_framing",
)

#: The shapes of a face.
FACES: Final = (
    "stdio",
    "stdio+headers",
    "http://HOST:PORT/mcp",
    "sse+http://HOST:PORT",
    "control:NAME",
)

_STDIO: Final[Mapping[str, Framing]] = {"stdio": Framing.NEWLINE, "stdio+headers": Framing.HEADERS}
_DEFAULT_PATH: Final = "/mcp"
_CONTROL: Final = "control:"


class StdioFace(msgspec.Struct, frozen=True):
    """This process's own stdin and stdout, in one framing."""

    framing: Framing


class HttpAddress(msgspec.Struct, frozen=True):
    """Where to listen for HTTP; `path` as it is, without escapes.

    `old`: for clients of HTTP+SSE, the transport of 2024-11-05.
    """

    host: str
    port: int
    path: str = _DEFAULT_PATH
    old: bool = False


class ControlName(msgspec.Struct, frozen=True):
    """A server by its name on a control channel."""

    server: str


Face: TypeAlias = StdioFace | HttpAddress | ControlName


def is_url(text: str) -> bool:
    """Say whether a word names something by its scheme."""
    return "://" in text


def read_control(text: str) -> ControlName | None:
    """Return the server that `control:NAME` names, None for a word of another kind.

    Raises `ConfigError` for one without a name.
    """
    if not text.startswith(_CONTROL):
        return None
    name = text.removeprefix(_CONTROL)
    if not name or not name.isprintable():
        raise ConfigError(f"{_CONTROL} names no server; write {_CONTROL}NAME, such as {_CONTROL}notes")
    return ControlName(name)


def read_face(text: str) -> Face:
    """Return the face of that name.  Raises `ConfigError` for one that there is not."""
    if text in _STDIO:
        return StdioFace(_STDIO[text])
    if (control := read_control(text)) is not None:
        return control
    try:
        parts = urlsplit(text.removeprefix("sse+"))
    except ValueError:
        raise _no_face(text) from None
    if parts.scheme == "https":
        raise ConfigError(
            f"{show_url(text)}: a face speaks http; put something that speaks TLS in front of it"
        )
    if parts.username is not None or parts.query or parts.fragment:
        raise ConfigError(
            f"{show_url(text)}: a face is an address and a path; who may come is said with --token-env"
        )
    if parts.scheme == "http" and parts.hostname:
        return HttpAddress(
            parts.hostname, _port(text, parts), unquote(parts.path) or _DEFAULT_PATH, "sse+" in text
        )
    raise _no_face(text)


def _no_face(text: str) -> ConfigError:
    return ConfigError(f"there is no face {show_url(text)!r}; faces are: {', '.join(FACES)}")


def _port(text: str, parts: SplitResult) -> int:
    try:
        port = parts.port
    except ValueError:
        port = None
    if port is None:
        raise ConfigError(f"{show_url(text)} names no port; write http://127.0.0.1:8000{_DEFAULT_PATH}")
    return port


def target_framing(name: str) -> Framing:
    """Return the framing of that name.  Raises `ConfigError` for one that there is not."""
    try:
        return Framing(name)
    except ValueError:
        names = ", ".join(framing.value for framing in Framing)
        raise ConfigError(f"there is no framing {name!r}; framings are: {names}") from None


def child_environment(words: list[str], environment: Mapping[str, str]) -> dict[str, str]:
    """Read `NAME=VALUE` (set it) and `NAME` (let it through from `environment`).

    Raises `ConfigError` for a name that is not set, or no name.
    """
    result: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not name:
            raise ConfigError("'=…' names no variable; write NAME=VALUE or NAME")
        if not equals and name not in environment:
            raise ConfigError(f"the variable {name} is not set, so it cannot be let through")
        result[name] = value if equals else environment[name]
    return result
