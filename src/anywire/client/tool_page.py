"""One page of a server's tools."""

from __future__ import annotations

import logging

import msgspec

from anywire.errors import RemoteProtocolError
from anywire.protocol.types.tools import ListToolsResult, Tool
from anywire.wire.codec import decode_value

__all__ = ("read_tool_page",)

_log = logging.getLogger("anywire.client")


def read_tool_page(raw: bytes, name: str) -> tuple[list[Tool], object]:
    """Read a raw result of `tools/list` of the server `name`: the tools, and the cursor of the next page.

    A tool that cannot be read is left out and logged; the cursor of the last page is `UNSET`.
    Raises `RemoteProtocolError` for what is no page.
    """
    try:
        page = decode_value(raw, ListToolsResult)
    except msgspec.MsgspecError as error:
        raise RemoteProtocolError(f"{name}: the server's answer cannot be read: {error}") from error
    tools: list[Tool] = []
    for tool in page.tools:
        try:
            tools.append(decode_value(tool, Tool))
        except msgspec.MsgspecError as error:
            _log.warning("%s: a tool that cannot be used: %s: %s", name, error, bytes(tool)[:200])
    return tools, page.next_cursor
