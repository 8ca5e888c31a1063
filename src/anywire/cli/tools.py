"""The tools of a server as they came, and what a person wants to see of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from anywire.cli.plain import items_of, members_of
from anywire.errors import RemoteProtocolError
from anywire.protocol.types.pagination import PageWalk
from anywire.protocol.types.reading import read
from anywire.protocol.types.tools import ListToolsResult
from anywire.wire.value import decode_value, encode_value

if TYPE_CHECKING:
    from anywire.client.client import Client

__all__ = ("find_tool", "list_tools", "rows_of")


async def list_tools(client: Client) -> list[bytes]:
    """Return every tool of the server, whatever the number of pages, each as raw JSON."""
    tools: list[bytes] = []
    walk = PageWalk()
    while True:
        params = None if walk.cursor is msgspec.UNSET else encode_value({"cursor": walk.cursor})
        raw = await client.request("tools/list", params)
        try:
            page = read(raw, ListToolsResult)
        except msgspec.MsgspecError as error:
            raise RemoteProtocolError(f"the server's list of tools cannot be read: {error}") from error
        tools += (bytes(tool) if isinstance(tool, msgspec.Raw) else tool.raw for tool in page.tools)
        if not walk.advance(page.next_cursor):
            return tools


def rows_of(tools: Sequence[bytes]) -> list[tuple[str, str, str]]:
    """Return name, parameters and the first line of the description of each tool."""
    rows: list[tuple[str, str, str]] = []
    for raw in tools:
        tool = _read(raw)
        description = tool.get("description")
        lines = description.strip().splitlines() if isinstance(description, str) else []
        rows.append(
            (_text(tool.get("name")), _parameters(tool.get("inputSchema")), lines[0] if lines else "")
        )
    return rows


def find_tool(tools: Sequence[bytes], name: str) -> tuple[dict[str, Any] | None, list[str]]:
    """Return the tool of that name, None where there is none, and the names of all."""
    read = [_read(raw) for raw in tools]
    names = [each["name"] for each in read if isinstance(each.get("name"), str)]
    return next((each for each in read if each.get("name") == name), None), names


def _read(raw: bytes) -> dict[str, Any]:
    """Read a tool as far as it goes: one that is no object has no members."""
    try:
        return decode_value(raw, dict[str, Any])
    except msgspec.MsgspecError:
        return {}


def _text(value: object) -> str:
    return value if isinstance(value, str) else encode_value(value).decode()


def _parameters(schema: object) -> str:
    """Write the names of a tool's parameters as in a usage line: optional ones in brackets."""
    names = list(members_of(members_of(schema).get("properties")))
    needed = items_of(members_of(schema).get("required"))
    optional = [f"[{name}]" for name in names if name not in needed]
    return " ".join([name for name in names if name in needed] + optional)
