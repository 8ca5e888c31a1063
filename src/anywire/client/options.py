"""What a program may say of its side when it makes a client."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypedDict

from anywire.client.discovery import EraChoice
from anywire.protocol.types.initialize import ClientCapabilities, Implementation
from anywire.wire.limits import Limits
from anywire.wire.message import Notification

if TYPE_CHECKING:
    from anywire.client.eliciting import OnElicit
    from anywire.client.roots import RootsSource
    from anywire.client.sampling import OnSample

__all__ = ("ClientOptions",)


class ClientOptions(TypedDict, total=False):
    """The options of every client, whatever it is connected to; `connect` tells what they mean."""

    info: Implementation | None
    limits: Limits
    on_log: Callable[[dict[str, Any]], None] | None
    on_notification: Callable[[Notification], None] | None
    on_sample: OnSample | None
    on_elicit: OnElicit | None
    roots: RootsSource | None
    capabilities: ClientCapabilities | None
    era: EraChoice
    cache: bool
