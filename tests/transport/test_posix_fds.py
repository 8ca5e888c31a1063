"""Descriptors that others may share: read and written without blocking, and without changing them."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import fcntl
import os
import pty
import socket
import sys
import tty
from collections.abc import Iterator
from pathlib import Path

import pytest

from anywire.transport.posix_fds import FdReader, FdWriter

PATIENCE = 20.0
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="other systems cannot open a pipe anew")


class Heard:
    """What a reader or a writer called."""

    def __init__(self) -> None:
        self.chunks: list[bytes] = []
        self.ends = 0
        self.rooms = 0
        self.broken: list[OSError] = []
        self._news = asyncio.Event()

    def data(self, chunk: bytes) -> None:
        self.chunks.append(chunk)
        self._news.set()

    def end(self) -> None:
        self.ends += 1
        self._news.set()

    def room(self) -> None:
        self.rooms += 1
        self._news.set()

    def breaks(self, error: OSError) -> None:
        self.broken.append(error)
        self._news.set()

    @property
    def all(self) -> bytes:
        return b"".join(self.chunks)

    async def until(self, count: int = 0, ends: int = 0, broken: int = 0, rooms: int = 0) -> None:
        """Wait until so much has been heard."""
        async with asyncio.timeout(PATIENCE):
            while (
                len(self.all) < count or self.ends < ends or len(self.broken) < broken or self.rooms < rooms
            ):
                self._news.clear()
                await self._news.wait()


def reader(fd: int) -> tuple[FdReader, Heard]:
    heard = Heard()
    return FdReader(fd, heard.data, heard.end), heard


def writer(fd: int, low: int = 1024) -> tuple[FdWriter, Heard]:
    heard = Heard()
    return FdWriter(fd, low, heard.room, heard.breaks), heard


async def turn() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


def is_open(fd: int) -> bool:
    with contextlib.suppress(OSError):
        os.fstat(fd)
        return True
    return False


def nonblocking(fd: int) -> bool:
    return bool(fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_NONBLOCK)


class End:
    """A descriptor of a test's own, until it is handed over."""

    def __init__(self, fd: int) -> None:
        self.fd = fd

    def take(self) -> int:
        """Hand it to a new owner."""
        fd, self.fd = self.fd, -1
        return fd

    def close(self) -> None:
        if self.fd >= 0:
            os.close(self.take())


@pytest.fixture
def pipe() -> Iterator[tuple[End, End]]:
    """A pipe: the end to read and the end to write."""
    read, write = map(End, os.pipe())
    yield read, write
    read.close()
    write.close()


@pytest.fixture
def sockets() -> Iterator[tuple[socket.socket, socket.socket]]:
    """Two connected sockets."""
    one, other = socket.socketpair()
    with one, other:
        yield one, other


@pytest.fixture
def terminal() -> Iterator[tuple[End, End]]:
    """A terminal without line editing: the side of its user and the side of a program."""
    user, program = map(End, pty.openpty())
    tty.setraw(program.fd)
    yield user, program
    user.close()
    program.close()


# Reading.


async def test_reader_reads_a_pipe_to_its_end(pipe: tuple[End, End]) -> None:
    """Chunks as they come, the end once, the descriptor closed."""
    read, write = pipe
    fd = read.take()
    fd_reader, heard = reader(fd)
    fd_reader.resume()
    os.write(write.fd, b"one")
    await heard.until(count=3)
    os.write(write.fd, b"two")
    write.close()
    await heard.until(ends=1)
    await turn()

    assert (heard.all, heard.ends) == (b"onetwo", 1)
    assert not is_open(fd)


async def test_reader_says_nothing_before_it_is_resumed(pipe: tuple[End, End]) -> None:
    """And nothing while it is paused."""
    read, write = pipe
    fd_reader, heard = reader(read.take())
    os.write(write.fd, b"one")
    await turn()
    assert heard.all == b""
    fd_reader.resume()
    await heard.until(count=3)
    fd_reader.pause()
    fd_reader.pause()
    os.write(write.fd, b"two")
    await turn()
    assert heard.all == b"one"
    fd_reader.resume()
    fd_reader.resume()
    await heard.until(count=6)
    fd_reader.close()
    fd_reader.close()
    fd_reader.resume()

    assert (heard.all, heard.ends) == (b"onetwo", 0)


@pytest.mark.parametrize("times", [1, 5])
async def test_reader_reads_a_file_in_order_however_often_it_is_paused(tmp_path: Path, times: int) -> None:
    """No selector takes a file, so it is read in turns; pausing must not multiply them."""
    path = tmp_path / "input"
    content = os.urandom(3_000_000)
    path.write_bytes(content)
    fd_reader, heard = reader(os.open(path, os.O_RDONLY))
    for _ in range(times):
        fd_reader.resume()
        fd_reader.pause()
    fd_reader.resume()
    await heard.until(count=1)
    before = len(heard.chunks)
    await asyncio.sleep(0)
    assert len(heard.chunks) <= before + 1
    for _ in range(times):
        fd_reader.pause()
        fd_reader.resume()
    await heard.until(ends=1)
    await turn()

    assert heard.all == content
    assert heard.ends == 1


@pytest.mark.parametrize("path", [os.devnull, "empty"])
async def test_reader_ends_at_once_where_there_is_nothing(path: str, tmp_path: Path) -> None:
    """/dev/null and an empty file."""
    (tmp_path / "empty").touch()
    fd_reader, heard = reader(os.open(path if path == os.devnull else tmp_path / path, os.O_RDONLY))
    fd_reader.resume()
    await heard.until(ends=1)
    await turn()

    assert (heard.all, heard.ends) == (b"", 1)


async def test_reader_reads_a_socket(sockets: tuple[socket.socket, socket.socket]) -> None:
    """Until the other side shuts it down."""
    one, other = sockets
    fd_reader, heard = reader(one.detach())
    fd_reader.resume()
    other.sendall(b"hello")
    await heard.until(count=5)
    other.shutdown(socket.SHUT_WR)
    await heard.until(ends=1)

    assert heard.all == b"hello"


async def test_reader_takes_a_terminal_that_hangs_up_for_the_end(terminal: tuple[End, End]) -> None:
    """The system reports an error there, not an end."""
    user, program = terminal
    fd_reader, heard = reader(program.take())
    fd_reader.resume()
    os.write(user.fd, b"typed\n")
    await heard.until(count=6)
    user.close()
    await heard.until(ends=1)

    assert heard.all == b"typed\n"


async def test_reader_leaves_the_descriptors_flags_alone(pipe: tuple[End, End]) -> None:
    """The open file is shared with whoever started us; it stays blocking for them."""
    read, write = pipe
    shared = os.dup(read.fd)
    fd_reader, heard = reader(read.take())
    fd_reader.resume()
    os.write(write.fd, b"x")
    await heard.until(count=1)

    assert not nonblocking(shared)
    fd_reader.close()
    os.close(shared)


@pytest.mark.parametrize("waiting", [b"", b"the rest"])
async def test_reader_finishes_with_what_has_come(pipe: tuple[End, End], waiting: bytes) -> None:
    """Without waiting for more, or for the end."""
    read, write = pipe
    fd = read.take()
    fd_reader, heard = reader(fd)
    fd_reader.resume()
    fd_reader.pause()
    os.write(write.fd, waiting)
    fd_reader.finish(1_000_000)

    assert (heard.all, heard.ends) == (waiting, 1)
    assert not is_open(fd)
    fd_reader.finish(1_000_000)
    assert heard.ends == 1


async def test_reader_finishes_within_bounds(tmp_path: Path) -> None:
    """A source that always has more is not read for ever."""
    path = tmp_path / "input"
    path.write_bytes(bytes(5_000_000))
    fd_reader, heard = reader(os.open(path, os.O_RDONLY))
    fd_reader.finish(1_000_000)

    assert 1_000_000 <= len(heard.all) < 2_000_000
    assert heard.ends == 1


# Writing.


async def test_writer_writes_at_once_what_a_pipe_takes(pipe: tuple[End, End]) -> None:
    """No turn of the loop lies between."""
    read, write = pipe
    fd_writer, _ = writer(write.take())
    fd_writer.write(b"hello")

    assert os.read(read.fd, 100) == b"hello"
    assert fd_writer.buffered == 0
    fd_writer.close()
    fd_writer.close()
    assert os.read(read.fd, 100) == b""


async def drain_pipe(fd: int) -> bytes:
    """Read a pipe to its end, in a thread."""

    def read_all() -> bytes:
        with open(fd, "rb", closefd=False) as file:
            return file.read()

    return await asyncio.to_thread(read_all)


async def test_writer_keeps_what_a_pipe_does_not_take(pipe: tuple[End, End]) -> None:
    """Everything arrives in order; room is told of once little waits."""
    read, write = pipe
    fd_writer, heard = writer(write.take(), low=1000)
    content = [os.urandom(300_000) for _ in range(3)]
    for part in content:
        fd_writer.write(part)
    assert 0 < fd_writer.buffered < 900_000
    assert heard.rooms == 0
    assert not await fd_writer.drain(0)
    reading = asyncio.ensure_future(drain_pipe(read.fd))
    assert await fd_writer.drain(PATIENCE)
    assert fd_writer.buffered == 0
    assert heard.rooms >= 1
    fd_writer.write(b"last")
    fd_writer.close()

    assert await reading == b"".join(content) + b"last"


@on_linux
async def test_writer_leaves_the_shared_pipe_blocking(pipe: tuple[End, End]) -> None:
    """`O_NONBLOCK` is set on an open file of our own: a child that prints must not fail."""
    read, write = pipe
    shared = os.dup(write.fd)
    fd_writer, _ = writer(write.take())
    fd_writer.write(bytes(1_000_000))

    assert not nonblocking(shared)
    assert nonblocking(fd_writer.fileno())
    assert not os.get_inheritable(fd_writer.fileno())
    fd_writer.close()
    os.close(shared)
    assert len(await drain_pipe(read.fd)) > 0


@on_linux
async def test_writer_leaves_a_dead_pipe_alone_as_well(pipe: tuple[End, End]) -> None:
    """It cannot be opened anew when nobody reads it; its flags are still the others'."""
    read, write = pipe
    shared = os.dup(write.fd)
    read.close()
    fd_writer, heard = writer(write.take())

    assert not nonblocking(shared)
    fd_writer.write(b"x")
    await heard.until(broken=1)
    fd_writer.close()
    os.close(shared)


@on_linux
async def test_writer_leaves_the_shared_terminal_blocking(terminal: tuple[End, End]) -> None:
    """A shell that finds its terminal non-blocking leaves."""
    user, program = terminal
    shared = os.dup(program.fd)
    fd_writer, _ = writer(program.take())
    fd_writer.write(b"hello")

    assert os.read(user.fd, 100) == b"hello"
    assert not nonblocking(shared)
    fd_writer.close()
    os.close(shared)


async def test_writer_leaves_the_shared_socket_blocking(sockets: tuple[socket.socket, socket.socket]) -> None:
    """Each call says for itself that it does not want to wait."""
    one, other = sockets
    shared = one.dup()
    fd_writer, heard = writer(one.detach())
    content = os.urandom(3_000_000)
    fd_writer.write(content)
    assert fd_writer.buffered > 0
    assert not nonblocking(shared.fileno())
    shared.close()
    reading = asyncio.ensure_future(drain_pipe(other.fileno()))
    assert await fd_writer.drain(PATIENCE)
    assert heard.rooms >= 1
    fd_writer.close()

    assert await reading == content


async def test_writer_writes_a_file_and_nothing() -> None:
    """Neither can make us wait."""
    fd_writer, heard = writer(os.open(os.devnull, os.O_WRONLY))
    fd_writer.write(b"x" * 1_000_000)
    assert fd_writer.buffered == 0
    fd_writer.close()

    assert heard.broken == []


async def test_writer_reports_a_full_device_once() -> None:
    """A failure that is no broken pipe is told as what it is."""
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full")
    fd_writer, heard = writer(os.open("/dev/full", os.O_WRONLY))
    fd_writer.write(b"x")
    fd_writer.write(b"x")

    assert [error.errno for error in heard.broken] == [errno.ENOSPC]
    assert fd_writer.broken
    fd_writer.close()


async def test_writer_reports_a_broken_pipe_once(pipe: tuple[End, End]) -> None:
    """Later writes are dropped; whoever waits for room is let go."""
    read, write = pipe
    fd_writer, heard = writer(write.take())
    fd_writer.write(bytes(1_000_000))
    assert fd_writer.buffered > 0
    read.close()
    await heard.until(broken=1)
    fd_writer.write(b"more")
    await turn()

    assert len(heard.broken) == 1
    assert fd_writer.broken
    assert fd_writer.buffered == 0
    assert heard.rooms == 1
    assert not await fd_writer.drain(PATIENCE)
    fd_writer.close()


@on_linux
async def test_writer_notices_that_its_reader_left_while_there_is_nothing_to_write(
    pipe: tuple[End, End],
) -> None:
    """A server that waits for its client must hear that it has gone."""
    read, write = pipe
    fd_writer, heard = writer(write.take())
    await turn()
    assert heard.broken == []
    read.close()
    await heard.until(broken=1)

    assert isinstance(heard.broken[0], BrokenPipeError)
    fd_writer.close()


async def test_writer_reports_a_socket_that_was_closed_when_it_writes(
    sockets: tuple[socket.socket, socket.socket],
) -> None:
    """Once, and without a signal."""
    one, other = sockets
    fd_writer, heard = writer(one.detach())
    other.close()
    fd_writer.write(b"x")
    fd_writer.write(b"x")
    await turn()

    assert len(heard.broken) == 1
    fd_writer.close()
