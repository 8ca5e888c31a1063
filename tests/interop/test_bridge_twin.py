"""A server without an SDK behind each face of the bridge: the client gets the bytes that it gets without one."""

from __future__ import annotations

import functools
import json
import re

import pytest

from tests.interop.crossings import ENDS
from tests.interop.raw_shapes import mirrored, shape_of
from tests.interop.raw_talk import RawTalk, converse, open_talk
from tests.interop.twins import bridged, direct, twin

pytestmark = pytest.mark.interop

CELLS = [(end.wire, end.era) for end in ENDS]
CELL_NAMES = ["-".join(cell) for cell in CELLS]
SIDE_BY_SIDE, MEGABYTE = 8, 1 << 20
#: What the bridge itself answers a client whose server is of the other era.
ANSWERED_HERE = {"legacy": ("ping", "level", "listen"), "modern": ("listen",)}


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


def each_face(*always: str) -> pytest.MarkDecorator:
    """Over each wire in each era, of which these are always tried, and all where none is named."""
    return pytest.mark.parametrize(
        ("face", "era"),
        [
            pytest.param(*cell, id=name, marks=() if not always or name in always else pytest.mark.large)
            for cell, name in zip(CELLS, CELL_NAMES, strict=True)
        ],
    )


@each_face()
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


@each_face("http-legacy", "headers-modern")
def test_a_server_in_frames_is_the_same_server(face: str, era: str) -> None:
    """The framing of the server is none of the client's business."""
    assert behind(face, era, "headers") == behind(face, era, "newline")


@each_face("newline-legacy", "newline-modern", "http-legacy", "http-modern")
def test_every_value_crosses_from_one_era_to_the_other(face: str, era: str) -> None:
    """Byte for byte, too: only what either era has of its own is another, and what the bridge says itself."""
    other = "modern" if era == "legacy" else "legacy"
    with bridged(face, era, "newline", twin(other)) as wire:
        said = RawTalk(wire, era, direct(era))
        converse(said)
    arrived, expected = said.heard, direct(era)

    apart = ("mirror", "held", *ANSWERED_HERE[era])
    steps = [step for step in expected if step not in apart]
    assert {step: [*map(shape_of, arrived[step])] for step in steps} == {
        step: [*map(shape_of, expected[step])] for step in steps
    }
    assert mirrored(arrived["mirror"][0]) == mirrored(expected["mirror"][0])
    if (face, era) != ("http", "modern"):  # where each of two calls at once has a server
        assert re.search(rb'"value":\[0,\{"requestId":\d+,"reason":"', arrived["held"][0])
    assert not [body for step in ANSWERED_HERE[era] for body in arrived[step] if b'"error"' in body]


@each_face("newline-legacy", "http-modern")
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


@each_face("newline-modern", "http-legacy", "sse-legacy")
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
