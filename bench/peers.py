"""The programs by other people that are measured, at the versions that the files in `pins` name.

They are installed on demand, each Python package in an environment of its own, into the folder that the tests
against other implementations use as well, so that nothing is fetched twice.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Final, TypeVar

from tests.interop.peers import NodeMissing, PeerUnavailable, find_node, node_peers, output_of, python_peer

__all__ = ("PYTHON_PEERS", "PeerUnavailable", "Peers")

PINS: Final = Path(__file__).parent / "pins"
PYTHON_PEERS: Final = ("official", "fastmcp", "mcp-proxy", "loop")
#: Packages whose versions are worth knowing next to a figure.
TOLD: Final = frozenset(
    "anyio fastmcp h11 httptools httpx httpx2 mcp mcp-proxy pydantic starlette uvicorn uvloop".split()  # noqa: SIM905
)

T = TypeVar("T")


class Peers:
    """Where the peers are; each is installed when it is first asked for, and asked for once."""

    def __init__(self, *, wanted: bool = True) -> None:
        self._wanted = wanted
        self.python = cache(self._python)
        self.node_modules = cache(self._node_modules)
        self.failures: dict[str, str] = {}

    def _python(self, name: str) -> Path:
        """Return the interpreter of a peer's environment.  Raises `PeerUnavailable`."""
        requirements = (PINS / f"{name}.txt").read_text(encoding="utf-8").split()
        return self._obtain(name, lambda: python_peer(*requirements))

    def _node_modules(self) -> Path:
        """Return the folder of node's packages.  Raises `PeerUnavailable`."""
        return self._obtain("node", lambda: node_peers(PINS / "node")) / "node_modules"

    def node(self) -> str:
        """Return the path of node.  Raises `PeerUnavailable`."""
        self.node_modules()
        return find_node()[0]

    def loop(self) -> Path | None:
        """Return the folder with uvloop and httptools; None where our own Python has them, or nobody does."""
        if find_spec("uvloop") and find_spec("httptools"):
            return None
        try:
            return self.packages("loop")
        except PeerUnavailable:
            return None

    def loop_name(self) -> str:
        """Return the name of the quickest event loop that there is."""
        return "uvloop" if find_spec("uvloop") or self.loop() is not None else "asyncio"

    def packages(self, name: str) -> Path:
        """Return the folder of a peer's packages.  Raises `PeerUnavailable`."""
        (found,) = self.python(name).parent.parent.glob("lib/python*/site-packages")
        return found

    def _obtain(self, name: str, install: Callable[[], T]) -> T:
        if not self._wanted:
            raise PeerUnavailable(f"{name} was left out")
        if name in self.failures:
            raise PeerUnavailable(self.failures[name])
        try:
            return install()
        except (PeerUnavailable, NodeMissing) as error:
            self.failures[name] = str(error)
            raise PeerUnavailable(str(error)) from error

    def obtain(self, names: Iterable[str]) -> None:
        """Install these now, so that nothing is installed while something is measured."""
        for name in names:
            try:
                self.node_modules() if name == "node" else self.python(name)
            except PeerUnavailable:
                continue

    def versions(self, names: Iterable[str]) -> dict[str, dict[str, str]]:
        """Return the versions of what these peers consist of."""
        found: dict[str, dict[str, str]] = {}
        for name in names:
            try:
                found[name] = _of_node(self.node()) if name == "node" else _installed(self.packages(name))
            except PeerUnavailable as error:
                found[name] = {"unavailable": str(error).splitlines()[0]}
        return found


def _of_node(node: str) -> dict[str, str]:
    manifest = json.loads((PINS / "node" / "package.json").read_text(encoding="utf-8"))
    return {"node": output_of([node, "--version"]), **manifest["dependencies"]}


def _installed(packages: Path) -> dict[str, str]:
    pairs = (each.name.removesuffix(".dist-info").rsplit("-", 1) for each in packages.glob("*.dist-info"))
    known = {name.replace("_", "-").lower(): version for name, version in pairs}
    return {name: version for name, version in sorted(known.items()) if name in TOLD}
