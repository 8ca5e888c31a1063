"""A server without an SDK behind each face of the bridge: the client gets the bytes that it gets without one."""

from __future__ import annotations

import contextlib
import functools
import json
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from tests.interop.listening import anywire_listening
from tests.interop.peers import SCRIPTS
from tests.interop.pipes import converse as over_pipes
from tests.interop.processes import anywire
from tests.interop.raw_talk import RawTalk, converse, open_talk
from tests.interop.raw_wires import HttpWire, SseWire, Wire

pytestmark = pytest.mark.interop

FACES = {
    "newline": "stdio",
    "headers": "stdio+headers",
    "http": "http://127.0.0.1:0/mcp",
    "sse": "sse+http://127.0.0.1:0/sse",
}
CELLS = [(face, era) for era in ("legacy", "modern") for face in FACES if (face, era) != ("sse", "modern")]
CELL_NAMES = ["-".join(cell) for cell in CELLS]


def twin(era: str, framing: str = "newline", *noise: str) -> list[str]:
    """The command line of the server."""
    return [sys.executable, str(SCRIPTS / "twin.py"), era, framing, *noise]


@contextlib.contextmanager
def bridged(face: str, era: str, framing: str, server: list[str]) -> Generator[Wire]:
    """A client's wire to a bridge with a server behind it."""
    command = anywire("bridge", FACES[face], "--target-framing", framing, "--", *server)
    if face == "newline" or face == "headers":
        with over_pipes(command, face) as talk:
            yield talk
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


@functools.cache
def behind(face: str, era: str, framing: str) -> dict[str, list[bytes]]:
    """The conversation through a face of the bridge."""
    with bridged(face, era, framing, twin(era, framing, *(["noise"] if framing == "newline" else []))) as wire:
        said = RawTalk(wire, era, direct(era))
        converse(said)
    return said.heard


@pytest.mark.parametrize(("face", "era"), CELLS, ids=CELL_NAMES)
def test_every_body_arrives_as_without_a_bridge(face: str, era: str) -> None:
    """Byte for byte: results, errors, notifications, questions, and what the server got of the client's."""
    arrived = behind(face, era, "newline")
    expected = dict(direct(era))
    if (face, era) == ("http", "modern"):
        # The end of a connection is a cancellation without a reason.
        expected["held"] = arrived["held"]
        assert b'"requestId":"h 1"' in arrived["held"][0]
    assert arrived == expected
