"""The same server for a bridge to stand before: on stdio, for clients of one era.

`python -m tests.conformance.behind legacy|modern`
"""

from __future__ import annotations

import sys

from tests.conformance.server import server


def main(era: str) -> None:
    """The command."""
    server.eras = frozenset({"legacy"} if era == "legacy" else {"modern"})
    server.run()


if __name__ == "__main__":
    main(sys.argv[1])
