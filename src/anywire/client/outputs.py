"""What the structured results of tools must look like, as far as the server has said.

Nothing is checked of a tool that was not listed, nor where the library for it is not installed.

Specification: MCP `server/tools#output-schema`, since 2025-06-18.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Any

from msgspec import UnsetType

from anywire.client.result import ToolResult
from anywire.errors import ConfigError, RemoteProtocolError
from anywire.protocol.types.tools import Tool
from anywire.session.json_schema import Validator, make_validator

__all__ = ("Outputs",)

_log = logging.getLogger("anywire.client")


class Outputs:
    """The output schemas of the tools that were listed last."""

    def __init__(self, server: str) -> None:
        self._server = server
        #: The schemas by tool.
        self.known: dict[str, dict[str, Any]] = {}
        # Made of a schema when it is first used.
        self._validators: dict[str, Validator] = {}

    def learn(self, tools: Iterable[Tool]) -> None:
        """The server has listed all its tools."""
        self._validators.clear()
        self.known = {
            tool.name: tool.output_schema for tool in tools if not isinstance(tool.output_schema, UnsetType)
        }

    def forget(self) -> None:
        """The list has changed: a schema may be another by now."""
        self.learn(())

    def check(self, name: str, result: ToolResult) -> None:
        """Raise `RemoteProtocolError` for a structured result that is not as its schema says."""
        if isinstance(result.message.structured_content, UnsetType) or result.is_error:
            return
        validator = self._validators.get(name)
        if validator is None:
            validator = self._validators[name] = self._make(name, self.known[name])
        fault = validator(result.structured)
        if fault:
            what = f"{self._server}: the structured result of tool {name!r}"
            raise RemoteProtocolError(f"{what} is not as its schema says: {fault}")

    def _make(self, name: str, schema: dict[str, Any]) -> Validator:
        try:
            return make_validator(schema)
        except ConfigError as error:
            _log.warning("%s: the output of tool %r is not checked: %s", self._server, name, error)
            return lambda _: ""
