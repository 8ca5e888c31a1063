"""What a file of servers says once it has been read: its servers, those it cannot have, and remarks."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Literal, TypeAlias

import msgspec

__all__ = ("Config", "Era", "Remark", "ServerEntry", "Severity", "Wire")

#: How a server is spoken to.  `http` is Streamable HTTP, `sse` the old HTTP+SSE.
Wire: TypeAlias = Literal["stdio", "stdio+headers", "http", "sse"]

#: Of which era a server is; `auto` is found out.
Era: TypeAlias = Literal["auto", "legacy", "modern"]


class ServerEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One server of a file, ready to be started or called: each variable in it has its value.

    Two entries are equal exactly if nothing of them has changed.  Exactly one of `command` and `url` is
    there.  Values may be secret: who shows an entry shows it through `anywire.transport.redact`.
    """

    #: Letters, digits, `-` and `_`, without `__` in it and without `_` at its end; unique in its file.
    name: str
    #: The name as the file has it.
    written_name: str
    #: The program and its arguments, empty for a server that is called.
    command: tuple[str, ...] = ()
    #: An `http://` or `https://` URL, None for a server that is started.
    url: str | None = None
    wire: Wire = "stdio"
    #: Variables for the command, beyond the small environment that each child gets.
    env: Mapping[str, str] = msgspec.field(default_factory=dict[str, str])
    #: Where the command runs, None for where this process runs.
    cwd: str | None = None
    #: Headers for each request to the URL.
    headers: tuple[tuple[str, str], ...] = ()
    #: The file says that the server is not to be used.
    disabled: bool = False
    #: How long its start may take, None where the file says nothing of it.
    start_seconds: float | None = None
    #: How long a call may take before it is answered with an error, None where the file says nothing of it.
    call_seconds: float | None = None
    #: Patterns of what is let through and of what is hidden: `[tool:|prompt:|resource:]GLOB`.
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    era: Era = "auto"
    #: What is run or called, for people: without secrets, and what comes from the environment by its name.
    shown: str = ""


class Severity(Enum):
    """How much a remark matters.  None of them keeps a server from being used."""

    #: Something of the file is not used here, or is used in a way that may surprise.
    NOTE = "note"
    #: Probably not what was meant.
    WARNING = "warning"


class Remark(msgspec.Struct, frozen=True):
    """Something to know about a file.  No secret is in it.

    `server` is the name as the file has it, None for what concerns the whole file; `line` counts from 1,
    None where it is not known.
    """

    severity: Severity
    server: str | None
    sentence: str
    line: int | None = None


class Config(msgspec.Struct, frozen=True):
    """What a file says.

    `entries` are in the order of the file, those that are disabled included.  `refused` tells of each
    other server, by its name as the file has it, in a sentence without secrets why it cannot be used.
    """

    entries: tuple[ServerEntry, ...] = ()
    refused: Mapping[str, str] = msgspec.field(default_factory=dict[str, str])
    remarks: tuple[Remark, ...] = ()
