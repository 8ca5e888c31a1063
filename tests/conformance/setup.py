"""The conformance suite, installed by the installer of the other peers, and the node that runs it."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.interop import peers

HERE = Path(__file__).parent
SUITE_MANIFEST = HERE / "node"
NODE_AT_LEAST = 22
"""An older node ends at the suite's first line, without saying why."""


@dataclass(frozen=True)
class Suite:
    """Where the suite is and what runs it."""

    node: Path
    program: Path


def install() -> Suite:
    """Install the suite unless it is there.  Raises `NodeMissing` or `PeerUnavailable`.

    The node comes with it where npm has one for this machine, so that the machine's own may be old.
    """
    modules = peers.node_peers(SUITE_MANIFEST) / "node_modules"
    brought = sorted(modules.glob("node-*/bin/node"))
    node = brought[0] if brought else Path(peers.find_node()[0])
    version = peers.output_of([str(node), "--version"])
    major = re.match(r"v(\d+)\.", version)
    if major is None or int(major[1]) < NODE_AT_LEAST:
        message = f"node is {version}, and the conformance suite needs {NODE_AT_LEAST}, so it is left out"
        raise peers.NodeMissing(message)
    return Suite(node, modules / "@modelcontextprotocol" / "conformance" / "dist" / "index.js")


if __name__ == "__main__":
    print(install(), file=sys.stderr)
