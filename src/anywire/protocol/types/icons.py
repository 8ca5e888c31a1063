"""Pictures to show for servers, tools, prompts and resources.

Specification: MCP `basic/index#icons`, since 2025-11-25.
"""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec import UNSET, UnsetType

__all__ = ("Icon",)


class Icon(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """A picture at a URI (`https:` or `data:`); `sizes` such as `48x48` or `any`; `theme`: the background."""

    src: str
    mime_type: str | UnsetType = UNSET
    sizes: list[str] | UnsetType = UNSET
    theme: Literal["light", "dark"] | UnsetType = UNSET
