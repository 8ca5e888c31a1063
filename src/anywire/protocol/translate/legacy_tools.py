"""A list of tools on its way to a client that mirrors nothing: who calls for it over HTTP must mirror.

Specification: MCP `server/tools#x-mcp-header`, 2026-07-28.
"""

from __future__ import annotations

from collections.abc import MutableMapping, Sequence

from msgspec import Raw

from anywire.protocol.http.mirrored import Mirror, MirrorFault, read_mirrors
from anywire.protocol.translate.shapes import decoded
from anywire.protocol.types.tools import Tool
from anywire.wire.splice import get_member, set_member

__all__ = ("tools_downward",)


def tools_downward(
    params: bytes | None, result: bytes, known: MutableMapping[str, Sequence[Mirror]]
) -> tuple[bytes, list[str]]:
    """Note what the tools of a page mark; a first page makes all that was `known` old.

    Returns the raw result with the tools that can be called, and why each of the others cannot.
    """
    if get_member(params or b"{}", "cursor") is None:
        known.clear()
    tools = decoded(get_member(result, "tools"), list[Raw])
    if tools is None:
        return result, []
    usable: list[bytes] = []
    left_out: list[str] = []
    for raw in tools:
        tool = decoded(bytes(raw), Tool)
        try:
            mirrors = [] if tool is None else read_mirrors(tool.input_schema)
        except MirrorFault as fault:
            left_out.append(f"{'' if tool is None else tool.name}: {fault}")
            continue
        usable.append(bytes(raw))
        if tool is not None and mirrors:
            known[tool.name] = mirrors
    return (set_member(result, "tools", b"[%b]" % b",".join(usable)) if left_out else result), left_out
