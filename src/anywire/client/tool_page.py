"""One page of a server's tools."""

from __future__ import annotations

import logging

import msgspec
from msgspec import UnsetType

from anywire.errors import RemoteProtocolError
from anywire.protocol.types.reading import read, read_items
from anywire.protocol.types.tools import ListToolsResult, Tool

__all__ = ("read_tool_page",)

_log = logging.getLogger("anywire.client")


def read_tool_page(raw: bytes, name: str) -> tuple[list[Tool], str | UnsetType]:
    """Read a raw result of `tools/list` of the server `name`: the tools, and the cursor of the next page.

    A tool that cannot be read is left out and logged; the cursor of the last page is `UNSET`.
    Raises `RemoteProtocolError` for what is no page.
    """
    try:
        page = read(raw, ListToolsResult)
    except msgspec.MsgspecError as error:
        raise RemoteProtocolError(f"{name}: the server's answer cannot be read: {error}") from error
    tools, faults = read_items(page.tools, Tool)
    for fault in faults:
        _log.warning("%s: a tool that cannot be used: %s: %s", name, fault.reason, fault.raw[:200])
    return tools, page.next_cursor
