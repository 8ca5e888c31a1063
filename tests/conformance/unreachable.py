"""Which checks of the suite cannot pass where a bridge stands before a server on stdio, and why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

#: The suite finds nothing to check, which is a failure to us.
_NO_CONNECTIONS: Final = {
    "server-sse-polling:no-checks": "the tool ends the connection that its client waits on, which a server on "
    "stdio does not have",
}
_NO_STATE: Final = (
    "answers that come without the state that their questions came with: which call waits for them cannot be "
    "told, so none is made"
)
_NO_CODE: Final = (
    "a handshake server does not know the error -32021; a call that lacks a capability of its client's is "
    "answered as that server likes, with a result for instance"
)
_NO_KEY: Final = (
    "a question of a handshake server has no key, so the bridge makes one up, and the suite looks for its own"
)
_OF_THE_OTHER_ERA: Final = {
    "server-stateless:sep-2575-server-rejects-undeclared-capability": _NO_CODE,
    "server-stateless:sep-2575-missing-capability-http-400": _NO_CODE,
    "input-required-result-basic-elicitation:sep-2322-elicitation-incomplete": _NO_KEY,
    "input-required-result-missing-input-response:sep-2322-missing-response-rerequests": _NO_STATE,
    "input-required-result-ignore-extra-params:sep-2322-ignore-unexpected-params": _NO_STATE,
}

#: By the era of the server and the leg: the scenario with its check, and why it cannot pass.
UNREACHABLE: Final[Mapping[tuple[str, str], Mapping[str, str]]] = {
    ("legacy", "2025-11-25"): _NO_CONNECTIONS,
    ("modern", "2025-11-25"): _NO_CONNECTIONS,
    ("legacy", "2026-07-28"): _OF_THE_OTHER_ERA,
    ("legacy", "req:2026-07-28"): _OF_THE_OTHER_ERA,
}
