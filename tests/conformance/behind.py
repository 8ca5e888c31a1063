"""The same server for a bridge to stand before: on stdio, for clients of one era.

`python -m tests.conformance.behind legacy|modern`
"""

from __future__ import annotations

import sys
from typing import Final, Literal

from tests.conformance.server import server

ERAS: Final[dict[str, frozenset[Literal["legacy", "modern"]]]] = {
    "legacy": frozenset({"legacy"}),
    "modern": frozenset({"modern"}),
}


def main(era: str) -> None:
    """The command."""
    server.eras = ERAS[era]
    server.run()


if __name__ == "__main__":
    main(sys.argv[1])
