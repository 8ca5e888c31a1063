"""Which scenarios of the suite cannot pass where a bridge stands before a server on stdio, and why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

#: A server behind a pipe has no connections to end.
_NO_CONNECTIONS: Final = (
    "the tool ends the connection that its client waits on, which a server on stdio does not have"
)

#: By the era of the server and the leg: the scenario, and why it cannot pass.
UNREACHABLE: Final[Mapping[tuple[str, str], Mapping[str, str]]] = {
    ("legacy", "2025-11-25"): {"server-sse-polling": _NO_CONNECTIONS},
}
