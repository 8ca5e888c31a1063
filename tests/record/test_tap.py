"""What a recording holds of a conversation, and that the conversation does not notice."""

from __future__ import annotations

import asyncio
import json
import os
import stat
import subprocess
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from anywire import Client, Server
from anywire.errors import ConfigError
from anywire.protocol.methods import Direction
from anywire.record.entry import Entry, Unreadable, read_entry
from anywire.record.recorder import Recorder, previous
from anywire.record.tap import Tap
from anywire.testing import check_transport
from anywire.transport.contract import Transport
from anywire.transport.memory import memory_pair
from anywire.wire.message import Fault, FaultKind, Request

server = Server("box")


@server.tool
def echo(text: str) -> str:
    """Say it."""
    return text


@pytest.fixture
def said() -> list[str]:
    """What the recorder tells."""
    return []


@pytest.fixture
def record(tmp_path: Path, said: list[str]) -> Iterator[Callable[..., Recorder]]:
    """Makes recorders."""
    made: list[Recorder] = []

    def make(name: str = "wire.ndjson", **options: Any) -> Recorder:
        made.append(Recorder(str(tmp_path / name), tell=said.append, **options))
        return made[-1]

    yield make
    for each in made:
        each.close()


def read(path: Path) -> list[Entry | Unreadable]:
    """The lines of a recording."""
    return [read_entry(line, number) for number, line in enumerate(path.read_bytes().splitlines(), 1)]


def messages(path: Path) -> list[tuple[str, int, bytes]]:
    """The messages of a recording: direction, session, bytes."""
    found = [each for each in read(path) if isinstance(each, Entry) and each.raw]
    return [(each.direction, each.session, each.raw) for each in found]


async def converse(recorder: Recorder, text: str = "hello") -> str:
    """One conversation with a tap on it."""
    client, served = memory_pair()
    client.on_start = lambda: server.accept(served)
    tapped = Tap(client, recorder.session("box"), Direction.TO_SERVER)
    async with asyncio.timeout(10), Client(tapped, era="legacy") as opened:
        return (await opened.call_tool("echo", {"text": text})).text


async def test_a_tap_keeps_the_contract_of_what_it_is_on(record: Callable[..., Recorder]) -> None:
    """At both ends."""
    recorder = record(with_secrets=True)

    @contextmanager
    def pair() -> Generator[tuple[Transport, Transport]]:
        one, other = memory_pair()
        yield (
            Tap(one, recorder.session("a"), Direction.TO_SERVER),
            Tap(other, recorder.session("b"), Direction.TO_CLIENT),
        )

    await check_transport(pair)


async def test_what_was_on_the_wire_stands_in_the_file(
    record: Callable[..., Recorder], tmp_path: Path
) -> None:
    """In order, whole, with what it is about; nobody else may read it."""
    assert await converse(record()) == "hello"

    path = tmp_path / "wire.ndjson"
    lines = read(path)
    assert [each.event for each in lines if isinstance(each, Entry) and each.event] == [
        *("recording", "opened", "closed")
    ]
    assert [direction for direction, _, _ in messages(path)] == [
        *("client to server", "server to client", "client to server", "client to server", "server to client")
    ]
    assert b'"method":"tools/call"' in messages(path)[3][2]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert {each.server for each in lines if isinstance(each, Entry) and each.session} == {"box"}


async def test_a_file_becomes_no_larger_than_it_may(record: Callable[..., Recorder], tmp_path: Path) -> None:
    """What is full is kept as the one before, and the next says that it goes on."""
    recorder = record(limit=4_000)
    for _ in range(20):
        await converse(recorder, "x" * 100)
    await converse(recorder, "y" * 5_000)

    path = tmp_path / "wire.ndjson"
    first = read(path)[0]
    assert max(path.stat().st_size, previous(path).stat().st_size) <= 4_000
    assert isinstance(first, Entry)
    assert first.continues
    assert "left out" in path.read_text("utf-8")


async def test_a_disk_that_is_full_ends_the_recording_alone(
    record: Callable[..., Recorder], said: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is said once; the conversation goes on."""
    recorder = record()
    full = os.open("/dev/full", os.O_WRONLY)
    recorder._fd, old = full, recorder._fd
    assert old is not None
    os.close(old)

    assert await converse(recorder) == "hello"
    assert [each.partition(": ")[2] for each in said] == ["No space left on device"]


async def test_a_fault_of_the_recorder_is_none_of_the_wire(
    record: Callable[..., Recorder], said: list[str]
) -> None:
    """Whatever it is."""

    def clock() -> float:
        raise ValueError("no time")

    recorder = record()
    recorder._clock = clock

    assert await converse(recorder) == "hello"
    assert len(said) == 1
    assert said[0].endswith("ends here: no time")


@pytest.mark.parametrize("path", ["/dev/full", "/no/such/folder/wire.ndjson", "/proc/version"])
def test_what_cannot_be_written_is_said_at_once(path: str) -> None:
    """Before anything is started."""
    with pytest.raises(ConfigError, match="--record: "):
        Recorder(path, tell=print)


async def test_a_pipe_is_written_to_while_somebody_reads(tmp_path: Path, said: list[str]) -> None:
    """One that nobody reads is refused, one that fills is no reason to wait."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with pytest.raises(ConfigError):
        Recorder(str(path), tell=said.append)
    reading = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    recorder = Recorder(str(path), tell=said.append, patience=0.01)

    assert await converse(recorder) == "hello"
    assert os.read(reading, 100_000).count(b"\n") == 8
    assert await converse(recorder, "x" * 200_000) == "x" * 200_000
    recorder.close()
    assert len(said) == 1
    os.close(reading)


async def test_a_pipe_takes_messages_larger_than_it_is(tmp_path: Path, said: list[str]) -> None:
    """While somebody reads, however slowly."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with subprocess.Popen(["cat", path], stdout=subprocess.PIPE) as reading:
        assert reading.stdout is not None
        recorder = await asyncio.to_thread(opened, path, said)
        assert await converse(recorder, "x" * 1_000_000) == "x" * 1_000_000
        read_all = asyncio.get_running_loop().run_in_executor(None, reading.stdout.read)
        recorder.close()
        lines = (await read_all).splitlines()

    assert (len(lines), said) == (8, [])
    assert all(json.loads(line) for line in lines)


def opened(path: Path, said: list[str]) -> Recorder:
    """A recorder of a pipe, as soon as somebody reads."""
    with path.open("wb"):
        return Recorder(str(path), tell=said.append)


async def test_large_messages_are_written_in_their_order(
    record: Callable[..., Recorder], tmp_path: Path
) -> None:
    """Beside the wire, and before the recording is closed."""
    recorder = record()
    session = recorder.session("a")
    for id in range(20):
        size = 100_000 if id % 5 == 0 else 10
        params = json.dumps({"password": "abcd1234" * size, "id": id}).encode()
        session.message(Direction.TO_SERVER, Request(b"%d" % id, "ping", params))
        recorder.know([f"known-{id}"])
    recorder.close()

    said = [json.loads(raw) for _, _, raw in messages(tmp_path / "wire.ndjson")]
    assert [each["id"] for each in said] == list(range(20))
    assert {each["params"]["password"][:3] for each in said} == {"***"}


async def test_whatever_is_written_down_is_without_its_secrets(
    record: Callable[..., Recorder], tmp_path: Path
) -> None:
    """The name of the server, noise that stands in several lines, what is known later."""
    recorder = record(hidden=["s3cret-1"])
    recorder.know(["Bearer s3cret-2"], passing=True)
    session = recorder.session("sh -c 'MY_TOKEN=s3cret-3 exec python x --password s3cret-4 s3cret-1'")
    session.message(Direction.TO_SERVER, Request(b"1", "ping", b'{"a":"s3cret-2"}'))
    for line in (
        '"password":',
        '  "s3cret-5",',
        '"tokens": [',
        '"s3cret-6"',
        "]",
        '"a":{"password":"s3cret-7',
    ):
        session.fault(Direction.TO_CLIENT, Fault(FaultKind.PARSE_ERROR, "no JSON", data=line.encode()))
    session.happened("trouble", "s3cret-5 s3cret-6")
    recorder.close()

    assert "s3cret" not in (tmp_path / "wire.ndjson").read_text("utf-8")


async def test_two_that_record_in_one_file_each_have_theirs(
    record: Callable[..., Recorder], said: list[str], tmp_path: Path
) -> None:
    """The second takes another name, and says so."""
    first, second = record(), record()
    await asyncio.gather(converse(first, "one"), converse(second, "two"))

    other = tmp_path / f"wire.ndjson.{os.getpid()}"
    assert len(said) == 1
    assert said[0].endswith(f"this one does so in {other}")
    assert [len(messages(path)) for path in (tmp_path / "wire.ndjson", other)] == [5, 5]


async def test_a_later_recording_keeps_the_one_before(
    record: Callable[..., Recorder], tmp_path: Path
) -> None:
    """Beside it; what is no recording stays where it is."""
    path = tmp_path / "wire.ndjson"
    first = record()
    await converse(first)
    first.close()
    record()

    assert len(messages(previous(path))) == 5
    (tmp_path / "mine.py").write_text("mine\n", "utf-8")
    with pytest.raises(ConfigError, match="exists, and is no recording"):
        record("mine.py")


async def test_what_is_read_while_it_is_written_is_whole_lines(
    record: Callable[..., Recorder], tmp_path: Path
) -> None:
    """Each goes out at once, so that a process which is killed leaves what it has said."""
    session = record().session("a")
    session.message(Direction.TO_SERVER, Request(b"1", "ping"))

    assert (tmp_path / "wire.ndjson").read_bytes().endswith(b'{"jsonrpc":"2.0","id":1,"method":"ping"}}\n')
