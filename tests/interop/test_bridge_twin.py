"""A server without an SDK behind each face of the bridge: the client gets the bytes that it gets without one."""

from __future__ import annotations

import contextlib
import functools
import json
import re
import sys
from collections.abc import Generator

import pytest

from tests.interop.crossings import ENDS, FACES
from tests.interop.listening import anywire_listening
from tests.interop.peers import SCRIPTS
from tests.interop.pipes import FRAMINGS
from tests.interop.pipes import converse as over_pipes
from tests.interop.processes import anywire
from tests.interop.raw_talk import RawTalk, converse, open_talk
from tests.interop.raw_wires import HttpWire, SseWire, Wire

pytestmark = pytest.mark.interop

CELLS = [(end.wire, end.era) for end in ENDS]
SIDE_BY_SIDE, MEGABYTE = 8, 1 << 20
CELL_NAMES = ["-".join(cell) for cell in CELLS]


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


@functools.cache
def behind(face: str, era: str, framing: str) -> dict[str, list[bytes]]:
    """The conversation through a face of the bridge."""
    with bridged(
        face, era, framing, twin(era, framing, *(["noise"] if framing == "newline" else []))
    ) as wire:
        said = RawTalk(wire, era, direct(era))
        converse(said)
    return said.heard


def without_ids(body: bytes) -> bytes:
    """What a server gave back of requests, but for their ids: one that several share has its own for them."""
    return re.sub(rb'(?<="x-top":\[1\.0\],"jsonrpc":"2\.0","id":)(\d+|"[^"]*")', b"0", body)


each_face = pytest.mark.parametrize(("face", "era"), CELLS, ids=CELL_NAMES)


@each_face
def test_every_body_arrives_as_without_a_bridge(face: str, era: str) -> None:
    """Byte for byte: results, errors, notifications, questions, and what the server got of the client's."""
    arrived = behind(face, era, "newline")
    expected = dict(direct(era))
    if (face, era) == ("http", "modern"):
        arrived = arrived | {"mirror": [without_ids(body) for body in arrived["mirror"]]}
        expected["mirror"] = [without_ids(body) for body in expected["mirror"]]
        # The end of a connection is a cancellation with nothing of the client's in it.
        expected["held"] = arrived["held"]
        assert re.search(rb'"value":\[0,\{"requestId":\d+,"reason":', arrived["held"][0])
    assert arrived == expected


@each_face
def test_a_server_in_frames_is_the_same_server(face: str, era: str) -> None:
    """The framing of the server is none of the client's business."""
    assert behind(face, era, "headers") == behind(face, era, "newline")


@each_face
def test_calls_with_large_arguments_are_under_way_side_by_side(face: str, era: str) -> None:
    """None of eight is answered before all are there; each gets its own megabyte back, the last first."""
    ids = range(50, 50 + SIDE_BY_SIDE)
    with bridged(face, era, "newline", twin(era)) as wire:
        said = RawTalk(wire, era)
        open_talk(said)
        for id in ids:
            arguments = f'{{"many":{SIDE_BY_SIDE},"baggage":"{id:0{MEGABYTE}}"}}'
            wire.send(said.request(str(id), "tools/call", f'"name":"meet","arguments":{arguments}'))
        replies = [json.loads(wire.receive()) for _ in ids]

    got = {reply["id"]: reply["result"]["structuredContent"]["value"] for reply in replies}
    assert got == {id: f"{id:0{MEGABYTE}}" for id in ids}


@each_face
def test_a_server_that_crashes_fails_its_call_with_the_reason(face: str, era: str) -> None:
    """Over HTTP the client is told how the server failed and not what it is."""
    with bridged(face, era, "newline", twin(era), lives=False) as wire:
        said = RawTalk(wire, era)
        open_talk(said)
        said.call("crash", "60")

    [reply] = map(json.loads, said.heard["crash"])
    assert (reply["id"], reply["error"]["code"]) == (60, -32603)
    assert "exited with code 3" in reply["error"]["message"]
    is_near = face in ("newline", "headers")
    assert ("twin.py" in reply["error"]["message"]) == is_near
    assert ("the database is gone" in reply["error"]["message"]) == is_near
