"""Reading and writing file descriptors that other processes may share, on POSIX systems.

A descriptor that was inherited belongs to an open file which the parent, its shell or a sibling may
hold as well, and `O_NONBLOCK` is a property of that open file.  Setting it would break *their*
reads and writes.  So nothing here changes an inherited descriptor's flags: reading waits for
readiness and then takes what is there; writing uses a private open file where the system can give
one (Linux), a flag of the single call for sockets, and plain blocking writes for files.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import socket
import stat
from collections import deque
from collections.abc import Callable

__all__ = ("FdReader", "FdWriter")

_READ_BYTES = 64 * 1024
# A reader that is slow has this many times as long as one that is stuck.
_DRAIN_ROUNDS = 5


class FdReader:
    """Reads a descriptor as it becomes readable; pipes, sockets, terminals and files alike.

    Owns the descriptor.  Calls `on_data` with each chunk and `on_end` once, at the end of input or
    when reading fails.
    """

    def __init__(self, fd: int, on_data: Callable[[bytes], None], on_end: Callable[[], None]) -> None:
        self._fd = fd
        self._on_data = on_data
        self._on_end = on_end
        self._loop = asyncio.get_running_loop()
        self._reading = False
        # The next turn of a file: always readable, and no selector takes it.
        self._turn: asyncio.Handle | None = None
        self._closed = False

    def resume(self) -> None:
        """Read from now on."""
        if self._reading or self._closed:
            return
        self._reading = True
        if not stat.S_ISREG(os.fstat(self._fd).st_mode):
            try:
                self._loop.add_reader(self._fd, self._read)
            except (PermissionError, ValueError):
                pass  # a device that no selector takes, such as /dev/null
            else:
                return
        self._turn = self._loop.call_soon(self._read_polled)

    def pause(self) -> None:
        """Stop reading until `resume()`."""
        if not self._reading:
            return
        self._reading = False
        if self._turn is None:
            self._loop.remove_reader(self._fd)
        else:
            self._turn.cancel()

    def finish(self, at_most: int) -> None:
        """Read what has come already, about so many bytes of it, and let that be the end."""
        while at_most > 0 and not self._closed and _readable(self._fd):
            at_most -= self._read()
        self._end()

    def hung_up(self) -> bool:
        """Say whether whoever wrote has left; there may be something to read all the same."""
        if self._closed:
            return True
        poll = select.poll()
        poll.register(self._fd, 0)
        return any(event & (select.POLLHUP | select.POLLERR) for _, event in poll.poll(0))

    def close(self) -> None:
        """Stop reading and close the descriptor.  Idempotent."""
        if not self._closed:
            self.pause()
            self._closed = True
            os.close(self._fd)

    def _read_polled(self) -> None:
        self._read()
        if self._reading:
            self._turn = self._loop.call_soon(self._read_polled)

    def _read(self) -> int:
        try:
            chunk = os.read(self._fd, _READ_BYTES)
        except (BlockingIOError, InterruptedError):
            return 0
        except OSError:
            chunk = b""  # a terminal that hung up, a socket that was reset: no more input either way
        if chunk:
            self._on_data(chunk)
        else:
            self._end()
        return len(chunk)

    def _end(self) -> None:
        if not self._closed:
            self.close()
            self._on_end()


class FdWriter:
    """Writes a descriptor without ever blocking the event loop on a pipe or a socket.

    Owns the descriptor.  `on_room` is called when what waited has been written, `on_broken` once
    when nobody reads any more; later writes are dropped.
    """

    def __init__(
        self,
        fd: int,
        low_bytes: int,
        on_room: Callable[[], None],
        on_broken: Callable[[OSError], None],
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._fd = _private(fd)
        self._socket = _socket_on(self._fd)
        self._low_bytes = low_bytes
        self._on_room = on_room
        self._on_broken = on_broken
        self._waiting: deque[memoryview] = deque()
        self._buffered = 0
        self._broken = False
        self._lost = False
        self._closed = False
        self._drained = asyncio.Event()
        self._drained.set()
        self._watched = self._watch_for_hang_up()

    @property
    def buffered(self) -> int:
        """The number of bytes that wait."""
        return self._buffered

    @property
    def broken(self) -> bool:
        """True when nobody reads any more."""
        return self._broken

    @property
    def lost(self) -> bool:
        """True when nobody read what was written.  A reader that leaves when all is said loses nothing."""
        return self._lost

    def give_up(self, reason: str) -> None:
        """Take it that nobody will read any more: what waits is lost."""
        self._break(BrokenPipeError(reason))

    def fileno(self) -> int:
        """Return the descriptor that is written, which need not be the one that was given."""
        return self._fd

    def write(self, data: bytes) -> None:
        """Write now what can be written now, keep the rest.  Never raises, never blocks."""
        if self._broken or self._closed:
            self._lost = True
            return
        if self._waiting:
            self._keep(memoryview(data))
            return
        try:
            written = self._send(data)
        except (BlockingIOError, InterruptedError):
            written = 0
        except OSError as error:
            self._lost = True
            self._break(error)
            return
        if written < len(data):
            self._keep(memoryview(data)[written:])
            self._drained.clear()
            self._loop.add_writer(self._fd, self._write_more)

    async def drain(self, seconds: float) -> bool:
        """Wait until everything is written; say whether it was.

        Gives up when nobody read anything for so many seconds, and after some times that in any case.
        """
        for _ in range(_DRAIN_ROUNDS):
            before = self._buffered
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._drained.wait()
            if not self._waiting or self._buffered == before:
                break
        return not self._waiting and not self._broken

    def close(self) -> None:
        """Drop what waits and close the descriptor.  Idempotent."""
        if self._closed:
            return
        self._lost = self._lost or bool(self._waiting)
        self._forget()
        self._closed = True
        if self._socket is not None:
            self._socket.close()
        os.close(self._fd)

    def _send(self, data: bytes | memoryview) -> int:
        if self._socket is None:
            return os.write(self._fd, data)
        return self._socket.send(data, socket.MSG_DONTWAIT)

    def _keep(self, rest: memoryview) -> None:
        self._waiting.append(rest)
        self._buffered += len(rest)

    def _write_more(self) -> None:
        try:
            while self._waiting:
                first = self._waiting[0]
                written = self._send(first)
                self._buffered -= written
                if written < len(first):
                    self._waiting[0] = first[written:]
                    break
                self._waiting.popleft()
        except (BlockingIOError, InterruptedError):
            pass
        except OSError as error:
            self._break(error)
            return
        if not self._waiting:
            self._loop.remove_writer(self._fd)
            self._drained.set()
        if self._buffered <= self._low_bytes:
            self._on_room()

    def _break(self, error: OSError) -> None:
        if not self._broken:
            self._broken = True
            self._lost = self._lost or bool(self._waiting)
            self._forget()
            self._on_broken(error)
            self._on_room()

    def _forget(self) -> None:
        if self._waiting:
            self._loop.remove_writer(self._fd)
            self._waiting.clear()
        if self._watched:
            self._loop.remove_reader(self._fd)
            self._watched = False
        self._buffered = 0
        self._drained.set()

    def _watch_for_hang_up(self) -> bool:
        """Notice that the reader of a pipe went away even while there is nothing to write."""
        if not stat.S_ISFIFO(os.fstat(self._fd).st_mode):
            return False
        self._loop.add_reader(self._fd, self._hung_up)
        return True

    def _hung_up(self) -> None:
        self._break(BrokenPipeError("nobody reads the output any more"))


def _readable(fd: int) -> bool:
    """Say whether reading gives something, the end included, without waiting for it."""
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    return bool(poll.poll(0))


def _private(fd: int) -> int:
    """Exchange a descriptor of a pipe or terminal for one on an open file of our own, non-blocking.

    Where the system cannot open it anew, pipes become non-blocking for all who share them, as
    asyncio itself would have it.
    """
    mode = os.fstat(fd).st_mode
    if not (stat.S_ISFIFO(mode) or (stat.S_ISCHR(mode) and os.isatty(fd))):
        return fd
    try:
        own = os.open(f"/proc/self/fd/{fd}", os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    except OSError:
        if stat.S_ISFIFO(mode):
            os.set_blocking(fd, False)
        return fd
    os.close(fd)
    return own


def _socket_on(fd: int) -> socket.socket | None:
    """Return a socket object on a duplicate of a socket's descriptor, None for anything else."""
    if not stat.S_ISSOCK(os.fstat(fd).st_mode):
        return None
    return socket.socket(fileno=os.dup(fd))
