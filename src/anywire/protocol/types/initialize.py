"""The params and the result of `initialize`, and what either side can do.

Specification: MCP `basic/lifecycle#initialization`, 2024-11-05 to 2025-11-25; the capabilities are those of
2026-07-28 as well.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET, Raw, UnsetType

from anywire.protocol.types.icons import Icon
from anywire.protocol.types.metadata import WithMeta
from anywire.protocol.types.reading import Received

__all__ = (
    "ClientCapabilities",
    "ElicitationCapability",
    "Implementation",
    "InitializeParams",
    "InitializeResult",
    "PromptsCapability",
    "ResourcesCapability",
    "RootsCapability",
    "SamplingCapability",
    "ServerCapabilities",
    "ToolsCapability",
)


class Implementation(msgspec.Struct, frozen=True, rename="camel"):
    """A program and its version.  Members beyond these are ignored; none of them may be relied on."""

    name: str = ""
    version: str = ""
    title: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    icons: list[Icon] | UnsetType = UNSET
    website_url: str | UnsetType = UNSET


class RootsCapability(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """The client has roots; `list_changed`, until 2025-11-25, promises a notification when they change."""

    list_changed: bool | UnsetType = UNSET


class SamplingCapability(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """The client's model can be asked; with `tools`, and with the `context` of servers, if named."""

    tools: dict[str, Any] | UnsetType = UNSET
    context: dict[str, Any] | UnsetType = UNSET


class ElicitationCapability(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """The client's user can be asked, with forms or with addresses."""

    form: dict[str, Any] | UnsetType = UNSET
    url: dict[str, Any] | UnsetType = UNSET

    @property
    def takes_forms(self) -> bool:
        """Whether forms can be shown: also where neither of the two is named."""
        return self.form is not UNSET or self.url is UNSET

    @property
    def takes_urls(self) -> bool:
        """Whether addresses can be shown."""
        return self.url is not UNSET


class ClientCapabilities(Received, frozen=True):
    """What a client can do; absent members are features it does not have."""

    roots: RootsCapability | UnsetType = UNSET
    sampling: SamplingCapability | UnsetType = UNSET
    elicitation: ElicitationCapability | UnsetType = UNSET
    experimental: dict[str, Any] | UnsetType = UNSET
    extensions: dict[str, Any] | UnsetType = UNSET
    tasks: dict[str, Any] | UnsetType = UNSET


class InitializeParams(msgspec.Struct, frozen=True, rename="camel"):
    """What a client says of itself; `capabilities` stays raw JSON until a feature asks for it.

    Every member may be absent or of a wrong type in what real clients send; `protocol_version` is
    therefore any value, and negotiation copes.
    """

    protocol_version: object = None
    capabilities: Raw = Raw(b"{}")
    client_info: Implementation = Implementation()
    meta: dict[str, Any] | UnsetType = msgspec.field(default=UNSET, name="_meta")


class ToolsCapability(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """The server has tools; `list_changed` promises a notification when they change."""

    list_changed: bool | UnsetType = UNSET


class PromptsCapability(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """The server has prompts; `list_changed` promises a notification when they change."""

    list_changed: bool | UnsetType = UNSET


class ResourcesCapability(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """The server has resources; a client may `subscribe` to one, `list_changed` is about the list."""

    subscribe: bool | UnsetType = UNSET
    list_changed: bool | UnsetType = UNSET


class ServerCapabilities(Received, frozen=True):
    """What a server can do; absent members are features it does not have."""

    tools: ToolsCapability | UnsetType = UNSET
    logging: dict[str, Any] | UnsetType = UNSET
    prompts: PromptsCapability | UnsetType = UNSET
    resources: ResourcesCapability | UnsetType = UNSET
    completions: dict[str, Any] | UnsetType = UNSET
    experimental: dict[str, Any] | UnsetType = UNSET
    extensions: dict[str, Any] | UnsetType = UNSET
    tasks: dict[str, Any] | UnsetType = UNSET


class InitializeResult(WithMeta, frozen=True):
    """What a server says of itself; `capabilities` is raw JSON, so that nothing of it is lost."""

    protocol_version: str
    capabilities: Raw
    server_info: Implementation
    instructions: str | UnsetType = UNSET
