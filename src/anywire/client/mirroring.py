"""Which arguments of a tool go into headers as well, where requests travel over HTTP.

Specification: MCP `server/tools#x-mcp-header`, 2026-07-28.
"""

from __future__ import annotations

import logging
from collections.abc import MutableMapping, Sequence

from anywire.protocol.http.mirrored import Mirror, MirrorFault, read_mirrors
from anywire.protocol.types.tools import Tool

__all__ = ("learn_mirrors",)

_log = logging.getLogger("anywire.client")


def learn_mirrors(tools: list[Tool], known: MutableMapping[str, Sequence[Mirror]], name: str) -> list[Tool]:
    """Note what the tools mark in their input schemas; return those that can be called.

    A tool with a mark that cannot be is left out and logged, as the specification wants it.
    """
    known.clear()
    usable: list[Tool] = []
    for tool in tools:
        try:
            mirrors = read_mirrors(tool.input_schema)
        except MirrorFault as fault:
            _log.warning("%s: tool %r is left out: %s", name, tool.name, fault)
            continue
        usable.append(tool)
        if mirrors:
            known[tool.name] = mirrors
    return usable
