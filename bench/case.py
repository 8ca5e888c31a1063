"""A case: one program that is measured in one way; and a group of them, which are measured in turns."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.child import run
from bench.figures import Figures
from bench.peers import Peers

__all__ = ("PROGRAMS", "ROOT", "Case", "Group", "Program", "Surroundings", "node", "ours", "theirs")

ROOT = Path(__file__).resolve().parents[1]
PROGRAMS = Path(__file__).parent / "programs"
SOURCE = ROOT / "src"


@dataclass(frozen=True)
class Surroundings:
    """What a measurement needs to know: whose Python, where the peers are, and for how long to measure."""

    python: str
    peers: Peers
    seconds: float
    quick: bool = False


@dataclass(frozen=True)
class Program:
    """A program that is measured: the words of its command but for the interpreter, and whose it is.

    `peer` is None for programs that run on our own Python with our own packages.  In a word `{port}` stands
    for a port that is free, `{loop}` for the quickest event loop there is, `{modules}` for node's packages.
    """

    words: tuple[str, ...]
    peer: str | None = None
    fast: bool = False
    """Whether uvloop and httptools are put where it finds them."""

    @property
    def needs(self) -> tuple[str, ...]:
        """The peers that have to be there."""
        loop = ("loop",) if self.fast and self.peer else ()
        return loop if self.peer is None else (self.peer, *loop)

    def command(self, around: Surroundings, *arguments: str, port: int = 0) -> list[str]:
        """Return the whole command.  Raises `PeerUnavailable`."""
        if self.peer is None:
            interpreter = around.python
        else:
            peers = around.peers
            interpreter = peers.node() if self.peer == "node" else str(peers.python(self.peer))
        places = {"{port}": str(port), "{loop}": around.peers.loop_name()}
        if self.peer == "node":
            places["{modules}"] = str(around.peers.node_modules())
        words = list(self.words)
        for place, value in places.items():
            words = [word.replace(place, value) for word in words]
        return [interpreter, *words, *arguments]

    def env(self, around: Surroundings) -> dict[str, str]:
        """Return what is added to the environment.  Raises `PeerUnavailable`."""
        if self.peer == "node":
            return {"NODE_MODULES": str(around.peers.node_modules())}
        paths = [str(SOURCE)] if self.peer is None else []
        if self.fast and (packages := around.peers.loop()) is not None:
            paths.append(str(packages))
        return {"PYTHONPATH": ":".join(paths)} if paths else {}

    def figures(self, around: Surroundings, *arguments: str) -> Figures:
        """Run it to its end and return the figures it prints.  Raises `ChildFailed`, `PeerUnavailable`."""
        return json.loads(run(self.command(around, *arguments), self.env(around), 10.0))


def ours(program: str, *arguments: str, fast: bool = False) -> Program:
    """Return a program of `programs` that runs on our own Python."""
    return Program((str(PROGRAMS / program), *arguments), fast=fast)


def theirs(peer: str, program: str, *arguments: str, fast: bool = False) -> Program:
    """Return a program of `programs` that runs in a peer's environment."""
    return Program((str(PROGRAMS / program), *arguments), peer, fast)


def node(program: str, *arguments: str) -> Program:
    """Return a program of `programs` that runs on node."""
    return theirs("node", program, *arguments)


@dataclass(frozen=True)
class Case:
    """One line of a group: its name, the peers it needs, and how one round of it is measured."""

    name: str
    measure: Callable[[Surroundings], Figures]
    needs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Group:
    """Cases that are measured in turns, since they are compared."""

    name: str
    title: str
    cases: Sequence[Case]
    rounds: int
    seconds: float
    within: float = 60.0
    """Seconds after which one round of a case is given up."""
