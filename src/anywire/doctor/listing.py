"""Checks of what a server lists, tools above all.

No tool is called: what one does is not for an examination to try.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final, Literal, cast

import msgspec

from anywire.doctor.asked import Asked
from anywire.doctor.reply import Reply
from anywire.doctor.schema_fault import SchemaFault, schema_faults
from anywire.doctor.shown import shown
from anywire.protocol.modern import STATELESS_REVISIONS
from anywire.wire.message import ErrorResponse, Response
from anywire.wire.splice import get_member
from anywire.wire.value import decode_value, encode_value

__all__ = ("declared", "tools")

_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,128}")
# What the interfaces of most models take.
_NAME_IN_HOSTS: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_MOST_PAGES: Final = 100
# Hosts and interfaces of models stop there.
_MOST_TOOLS: Final = 128
_MOST_BYTES: Final = 256 * 1024
# So many of one kind are named.
_NAMED: Final = 5

_Tool = dict[str, object]
#: The lists that go with a capability, where a tool need not be asked.
_LISTS: Final[Mapping[str, str]] = {"prompts": "prompts/list", "resources": "resources/list"}


class _Schema(msgspec.Struct):
    type: Literal["object"]
    properties: dict[str, object] = msgspec.field(default_factory=dict[str, object])


class _Hints(msgspec.Struct):
    title: str = ""
    readOnlyHint: bool = False  # noqa: N815 the names are those of the schema
    destructiveHint: bool = False  # noqa: N815
    idempotentHint: bool = False  # noqa: N815
    openWorldHint: bool = False  # noqa: N815


class _Members(msgspec.Struct):
    name: str
    title: str = ""
    description: str = ""
    annotations: _Hints | None = None
    icons: list[_Tool] = msgspec.field(default_factory=list[_Tool])
    meta: _Tool = msgspec.field(default_factory=dict[str, object], name="_meta")


class _Page(msgspec.Struct):
    tools: list[_Tool]
    cursor: str | None = msgspec.field(default=None, name="nextCursor")


async def tools(exam: Asked) -> tuple[str, ...]:
    """List the tools and look at each."""
    capabilities = exam.server.get("capabilities")
    has_tools = isinstance(capabilities, dict) and "tools" in capabilities
    listed = await _list(exam, declared=has_tools)
    if listed is None:
        return ("tools-list",) if has_tools else ()
    if listed and isinstance(capabilities, dict) and not has_tools:
        exam.find("tools-undeclared", f"it lists {len(listed)} tools")
    _judge(exam, listed)
    return (
        "tools-list",
        "tools-undeclared",
        "tool-schema",
        "tool-member",
        "tool-schema-top",
        "tool-schema-part",
        "tool-schema-items",
        "tool-schema-ref",
        "tool-output-schema",
        "null-member",
        "tool-argument-name",
        "tool-header",
        "tool-name",
        "tool-name-host",
        "tool-duplicate",
        "tool-description",
        "tools-large",
    )


async def declared(exam: Asked) -> tuple[str, ...]:
    """Is there a list of whatever it declares?  Its tools are looked at elsewhere."""
    capabilities = exam.server.get("capabilities")
    if not isinstance(capabilities, dict):
        return ()
    wrong: list[str] = []
    for capability, method in _LISTS.items():
        if capability not in capabilities:
            continue
        reply = await exam.request(method)
        if not isinstance(reply, Response) or not _is_list(reply.result, capability):
            wrong.append(_why(exam, reply, method))
    if wrong:
        exam.find("declared", "; ".join(wrong))
    return ("declared",)


def _is_list(result: bytes, name: str) -> bool:
    try:
        return isinstance(decode_value(result, dict[str, object]).get(name), list)
    except msgspec.MsgspecError:
        return False


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
                exam.find("tools-list", _why(exam, reply, "tools/list"))
            return None
        found += [tool for tool in page.tools if page.cursor not in seen or tool not in found]
        if isinstance(reply, Response) and get_member(reply.result, "nextCursor") == b"null":
            exam.find("null-member", "nextCursor of the list of tools")
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


def _why(exam: Asked, reply: Reply | None, method: str) -> str:
    if reply is None:
        return f"{method} {exam.silence}"
    if isinstance(reply, ErrorResponse):
        return f"{method} was answered with the error {reply.detail().code}: {reply.detail().message}"
    return f"{method} was answered with {shown(reply.result)}"


def _judge(exam: Asked, listed: list[_Tool]) -> None:
    revision = exam.server.get("protocolVersion")
    names = [name for tool in listed if isinstance(name := tool.get("name"), str)]
    for id, which in (
        ("tool-schema", [_name(tool) for tool in listed if not _has_schema(tool)]),
        ("tool-name", [_name(tool) for tool in listed if not _matches(_NAME, tool)]),
        (
            "tool-name-host",
            [_name(tool) for tool in listed if _matches(_NAME, tool) and not _matches(_NAME_IN_HOSTS, tool)],
        ),
        ("tool-member", [wrong for tool in listed if (wrong := _wrong_member(tool))]),
        ("tool-duplicate", [repr(name) for name, count in Counter(names).items() if count > 1]),
        ("tool-description", [_name(tool) for tool in listed if not _is_told(tool)]),
        ("tool-output-schema", [_name(tool) for tool in listed if not _has_output_schema(tool, revision)]),
        ("null-member", [f"{member} of {_name(tool)}" for tool in listed for member in _nulls(tool)]),
    ):
        _tell(exam, id, which)
    found = [(fault.check, f"{_name(tool)}: {fault.what}") for tool in listed for fault in _faults(tool)]
    for id in dict(found):
        _tell(exam, id, [what for check, what in found if check == id])
    size = len(encode_value(listed))
    if len(listed) > _MOST_TOOLS or size > _MOST_BYTES:
        exam.find("tools-large", f"it lists {len(listed)} tools, {size:,} bytes in all")


def _tell(exam: Asked, id: str, which: list[str]) -> None:
    if which:
        more = f" and {len(which) - _NAMED} more" if len(which) > _NAMED else ""
        exam.find(id, ", ".join(which[:_NAMED]) + more)


def _wrong_member(tool: _Tool) -> str:
    """Say which member has a type that it cannot have; null is told elsewhere, and so are schemas."""
    hints = tool.get("annotations")
    if isinstance(hints, dict):
        members = cast("_Tool", hints).items()
        hints = {name: value for name, value in members if value is not None}
    told = {name: value for name, value in tool.items() if value is not None} | {"annotations": hints}
    try:
        decode_value(encode_value(told), _Members)
    except msgspec.MsgspecError as error:
        return f"{_name(tool)}: {error}"
    return ""


def _nulls(tool: _Tool) -> list[str]:
    return [name for name, value in tool.items() if value is None and name != "inputSchema"]


def _name(tool: _Tool) -> str:
    name = tool.get("name")
    return repr(name) if isinstance(name, str) else "a tool without a name"


def _matches(pattern: re.Pattern[str], tool: _Tool) -> bool:
    name = tool.get("name")
    return isinstance(name, str) and pattern.fullmatch(name) is not None


def _faults(tool: _Tool) -> Iterable[SchemaFault]:
    schema = tool.get("inputSchema")
    # What is no object is told of as such, and not once more of its type.
    return schema_faults(cast("_Tool", schema)) if isinstance(schema, dict) and _has_schema(tool) else ()


def _has_schema(tool: _Tool) -> bool:
    try:
        decode_value(encode_value(tool.get("inputSchema")), _Schema)
    except msgspec.MsgspecError:
        return False
    return True


def _has_output_schema(tool: _Tool, revision: object) -> bool:
    """Say whether there is nothing wrong with the output schema; there need not be one."""
    schema = tool.get("outputSchema")
    if schema is None:
        return True
    if not isinstance(schema, dict):
        return False
    return revision in STATELESS_REVISIONS or cast("_Tool", schema).get("type") == "object"


def _is_told(tool: _Tool) -> bool:
    description = tool.get("description")
    return isinstance(description, str) and bool(description.strip())
