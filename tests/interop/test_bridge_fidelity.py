"""What goes into the bridge comes out of it, byte for byte, in both directions and all framings."""

from __future__ import annotations

import contextlib
import functools
import json
import sys
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.interop.bodies import (
    IDS,
    OPENING,
    Exchange,
    bare,
    crosses_untouched,
    exchanges,
    first_difference,
    same_json,
)
from tests.interop.peers import SCRIPTS
from tests.interop.pipes import FRAMINGS, Conversation, Framing, converse
from tests.interop.processes import anywire, wait_until

pytestmark = pytest.mark.interop

FACE = {"newline": "stdio", "headers": "stdio+headers"}
WAYS: list[tuple[Framing, Framing]] = [(face, target) for face in FRAMINGS for target in FRAMINGS]
WAY_NAMES = [f"{face}-to-{target}" for face, target in WAYS]
CROSS_WITHIN = 10.0


@dataclass(frozen=True)
class Arrival:
    """What came of an exchange: what the server got, and what the client got."""

    header: bytes
    up: bytes
    down: list[bytes]


Carried = Callable[[Framing, Framing], dict[str, Arrival | str]]


class RawServer:
    """The server behind the bridge: its prepared answers, and the record of what it got."""

    def __init__(self, folder: Path, framing: Framing, answers: list[tuple[bytes, ...]]) -> None:
        self._log = folder / "log.jsonl"
        self._log.unlink(missing_ok=True)
        prepared = folder / "answers.json"
        prepared.write_text(json.dumps([[body.hex() for body in down] for down in answers]), encoding="utf-8")
        self.command = [sys.executable, SCRIPTS / "raw_server.py", framing, prepared, self._log]

    def got(self) -> list[tuple[bytes, bytes]]:
        """Each body so far, behind the bytes that stood before it."""
        lines = self._log.read_text(encoding="utf-8").splitlines(keepends=True) if self._log.exists() else []
        entries = [json.loads(line) for line in lines if line.endswith("\n")]
        return [(bytes.fromhex(entry["header"]), bytes.fromhex(entry["body"])) for entry in entries]


@contextlib.contextmanager
def bridged(
    folder: Path, face: Framing, target: Framing, answers: list[tuple[bytes, ...]]
) -> Generator[tuple[Conversation, RawServer]]:
    """A bridge with a raw server behind it."""
    server = RawServer(folder, target, answers)
    command = anywire("bridge", FACE[face], "--target-framing", target, "--", *server.command)
    with converse(command, face) as talk:
        yield talk, server


def carry(folder: Path, face: Framing, target: Framing, script: list[Exchange]) -> dict[str, Arrival | str]:
    """Take exchanges in turn; what happened to each, or why it did not get through.

    An exchange that gets stuck ends its bridge, and the next one begins with a fresh bridge.
    """
    outcome: dict[str, Arrival | str] = {}
    waiting = script
    while waiting:
        turns = waiting if waiting[0] is OPENING else [OPENING, *waiting]
        waiting = []
        with bridged(folder, face, target, [turn.down for turn in turns]) as (talk, server):
            for number, turn in enumerate(turns):
                try:
                    outcome[turn.name] = exchange(talk, server, number, turn)
                except AssertionError as stuck:
                    outcome[turn.name] = str(stuck)
                    waiting = turns[number + 1 :]
                    break
            else:
                finish(talk, outcome)
        if isinstance(failed := outcome[OPENING.name], str):
            return dict.fromkeys((*(turn.name for turn in script), "the end"), failed)
    return outcome


def exchange(talk: Conversation, server: RawServer, number: int, turn: Exchange) -> Arrival:
    """Send one body and wait for all that comes of it, on both ends."""
    talk.send(turn.up)
    down = [talk.receive(within=CROSS_WITHIN) for _ in turn.down]
    arrived = wait_until(lambda: len(server.got()) > number, within=CROSS_WITHIN)
    assert arrived, f"it did not reach the server; stderr:\n{talk.stderr}"
    header, up = server.got()[number]
    return Arrival(header, up, down)


def finish(talk: Conversation, outcome: dict[str, Arrival | str]) -> None:
    """Close in order; whatever was said beyond what was sent is an outcome of its own."""
    try:
        extra = talk.finish()
    except AssertionError as failed:
        outcome["the end"] = str(failed)
    else:
        outcome["the end"] = Arrival(b"", b"", extra)


@pytest.fixture(scope="module")
def carried(tmp_path_factory: pytest.TempPathFactory) -> Carried:
    """All exchanges of a way, in one conversation where nothing gets stuck; done when first asked for."""

    @functools.cache
    def carried(face: Framing, target: Framing) -> dict[str, Arrival | str]:
        return carry(tmp_path_factory.mktemp("way"), face, target, exchanges(face, target))

    return carried


def check(sent: bytes, arrived: bytes, to: Framing) -> None:
    """A body arrived as it was sent, or as this framing asks for it."""
    if crosses_untouched(sent, to):
        assert bare(sent) == bare(arrived), first_difference(sent, arrived)
        return
    assert same_json(sent, arrived), first_difference(sent, arrived)
    if to == "headers":
        assert arrived.isascii(), f"not ASCII: {arrived!r}"
    else:
        assert not {0x0A, 0x0D} & set(arrived), f"a line end inside a line: {arrived!r}"


@pytest.mark.parametrize(
    ("face", "target", "turn"),
    [
        pytest.param(face, target, turn, id=f"{face}-to-{target}-{turn.name}")
        for face, target in WAYS
        for turn in exchanges(face, target)
    ],
)
def test_a_body_crosses_the_bridge_unchanged(
    face: Framing, target: Framing, turn: Exchange, carried: Carried
) -> None:
    """Both the request and what the server answered, on each way that can carry them."""
    arrival = carried(face, target)[turn.name]
    assert isinstance(arrival, Arrival), arrival

    check(turn.up, arrival.up, to=target)
    for sent, arrived in zip(turn.down, arrival.down, strict=True):
        check(sent, arrived, to=face)
    if target == "headers":
        assert arrival.header == b"Content-Length: %d\r\n\r\n" % len(arrival.up)


@pytest.mark.parametrize(("face", "target"), WAYS, ids=WAY_NAMES)
def test_the_bridge_ends_in_order_and_adds_nothing(face: Framing, target: Framing, carried: Carried) -> None:
    """When the client closes, the exit code is 0 and no byte follows that nobody sent."""
    assert carried(face, target)["the end"] == Arrival(b"", b"", [])


@pytest.mark.parametrize(("face", "target"), WAYS, ids=WAY_NAMES)
def test_ids_that_look_alike_are_kept_apart_while_all_wait(
    face: Framing, target: Framing, tmp_path: Path
) -> None:
    """`1`, `1.0` and `"1"` at once: each reply keeps the very bytes of its id."""
    requests = [b'{"jsonrpc":"2.0","id":%b,"method":"ping"}' % id.encode() for id in IDS.values()]
    replies = [b'{"jsonrpc":"2.0","id":%b,"result":{"n":1.0}}' % id.encode() for id in IDS.values()]
    # The server keeps still until the last request, then answers all of them in the reverse order.
    answers: list[tuple[bytes, ...]] = [OPENING.down, *([()] * (len(requests) - 1)), tuple(reversed(replies))]

    with bridged(tmp_path, face, target, answers) as (talk, server):
        talk.send(OPENING.up)
        assert talk.receive() == OPENING.down[0]
        talk.send(*requests)
        arrived = [talk.receive() for _ in replies]
        assert talk.finish() == []

    assert arrived == replies[::-1]
    assert [body for _, body in server.got()[1:]] == requests
