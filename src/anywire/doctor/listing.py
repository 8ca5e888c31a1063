"""Checks of the list of tools.  No tool is called: what one does is not for an examination to try."""

from __future__ import annotations

import re
from collections import Counter
from typing import Literal, Protocol

import msgspec

from anywire.doctor.examination import shown
from anywire.doctor.patience import Patience
from anywire.doctor.subject import Reply
from anywire.wire.message import ErrorResponse, Response
from anywire.wire.value import decode_value, encode_value

__all__ = ("Asked", "tools")

_NAME = re.compile(r"[A-Za-z0-9_.-]{1,128}")
_MOST_PAGES = 100
# So many of one kind are named.
_NAMED = 5

_Tool = dict[str, object]


class Asked(Protocol):
    """An examination of a server on any wire."""

    server: dict[str, object]
    patience: Patience

    def find(self, id: str, found: str) -> None:
        """Tell what is wrong."""
        ...

    async def request(self, method: str, params: bytes | None = None) -> Reply | None:
        """Ask in a conversation that is going well; None: no answer."""
        ...


class _Schema(msgspec.Struct):
    type: Literal["object"]
    properties: dict[str, object] = msgspec.field(default_factory=dict[str, object])


class _Page(msgspec.Struct):
    tools: list[_Tool]
    cursor: str | None = msgspec.field(default=None, name="nextCursor")


async def tools(exam: Asked) -> tuple[str, ...]:
    """List the tools and look at each."""
    capabilities = exam.server.get("capabilities")
    declared = isinstance(capabilities, dict) and "tools" in capabilities
    listed = await _list(exam, declared=declared)
    if listed is None:
        return ("tools-list",) if declared else ()
    if listed and isinstance(capabilities, dict) and not declared:
        exam.find("tools-undeclared", f"it lists {len(listed)} tools")
    _judge(exam, listed)
    return (
        "tools-list",
        "tools-undeclared",
        "tool-schema",
        "tool-name",
        "tool-duplicate",
        "tool-description",
    )


async def _list(exam: Asked, *, declared: bool) -> list[_Tool] | None:
    """Return all tools, None where there is no list; that is wrong only of a server that has tools."""
    found: list[_Tool] = []
    params: bytes | None = None
    seen: set[str] = set()
    while True:
        reply = await exam.request("tools/list", params)
        page = _read(reply.result) if isinstance(reply, Response) else None
        if page is None:
            if declared:
                exam.find("tools-list", _why(exam, reply))
            return None
        found += page.tools
        if page.cursor is None:
            return found
        if page.cursor in seen or len(seen) > _MOST_PAGES:
            exam.find("tools-list", f"its pages have no end: the cursor {page.cursor!r} leads on and on")
            return found
        seen.add(page.cursor)
        params = encode_value({"cursor": page.cursor})


def _read(result: bytes) -> _Page | None:
    try:
        return decode_value(result, _Page)
    except msgspec.MsgspecError:
        return None


def _why(exam: Asked, reply: Reply | None) -> str:
    if reply is None:
        return f"no answer to tools/list within {exam.patience.answer_seconds:g} s"
    if isinstance(reply, ErrorResponse):
        return f"tools/list was answered with the error {reply.detail().code}: {reply.detail().message}"
    return f"tools/list was answered with {shown(reply.result)}"


def _judge(exam: Asked, listed: list[_Tool]) -> None:
    names = [tool.get("name") for tool in listed]
    readable = [name for name in names if isinstance(name, str)]
    for id, which in (
        ("tool-schema", [name for tool, name in zip(listed, names, strict=True) if not _has_schema(tool)]),
        ("tool-name", [name for name in names if not isinstance(name, str) or not _NAME.fullmatch(name)]),
        ("tool-duplicate", [name for name, count in Counter(readable).items() if count > 1]),
        ("tool-description", [name for tool, name in zip(listed, names, strict=True) if not _is_told(tool)]),
    ):
        if which:
            more = f" and {len(which) - _NAMED} more" if len(which) > _NAMED else ""
            exam.find(id, ", ".join(map(_quoted, which[:_NAMED])) + more)


def _quoted(name: object) -> str:
    return repr(name) if isinstance(name, str) else "a tool without a name"


def _has_schema(tool: _Tool) -> bool:
    try:
        decode_value(encode_value(tool.get("inputSchema")), _Schema)
    except msgspec.MsgspecError:
        return False
    return True


def _is_told(tool: _Tool) -> bool:
    description = tool.get("description")
    return isinstance(description, str) and bool(description.strip())
