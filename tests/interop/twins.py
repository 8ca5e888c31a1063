"""The raw server `scripts/twin.py`: alone, and behind a bridge that a client reaches over any wire."""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Generator

from tests.interop.crossings import FACES
from tests.interop.listening import anywire_listening
from tests.interop.peers import SCRIPTS
from tests.interop.pipes import FRAMINGS
from tests.interop.pipes import converse as over_pipes
from tests.interop.processes import anywire
from tests.interop.raw_talk import RawTalk, converse
from tests.interop.raw_wires import HttpWire, SseWire, Wire


def twin(era: str, framing: str = "newline", *noise: str) -> list[str]:
    """The command line of the server."""
    return [sys.executable, str(SCRIPTS / "twin.py"), era, framing, *noise]


@contextlib.contextmanager
def bridged(face: str, era: str, framing: str, server: list[str], *, lives: bool = True) -> Generator[Wire]:
    """A client's wire to a bridge with a server behind it, which lives as long as the client wants."""
    command = anywire("bridge", FACES[face], "--target-framing", framing, "--", *server)
    if face in FRAMINGS:
        with over_pipes(command, face) as talk:
            yield talk
            if lives:
                assert talk.finish() == [], "something came that was not asked for"
        return
    with anywire_listening(command) as url:
        wire = HttpWire(url, era) if face == "http" else SseWire(url)
        try:
            yield wire
        finally:
            wire.close()


@functools.cache
def direct(era: str) -> dict[str, list[bytes]]:
    """The conversation without a bridge."""
    with over_pipes(twin(era), "newline") as talk:
        said = RawTalk(talk, era)
        converse(said)
        talk.finish()
    return said.heard
