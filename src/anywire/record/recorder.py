"""The file that a recording is written to: private, bounded, and of no consequence for the wire.

A recording that cannot be written any further ends, and that is said once; the conversation goes on.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import select
import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Final

import msgspec

from anywire._version import __version__
from anywire.errors import AnywireError, ConfigError
from anywire.protocol.methods import Direction
from anywire.record.backlog import Backlog
from anywire.record.entry import FORMAT, Event, bare, write_event, write_message
from anywire.record.secrets import Secrets
from anywire.transport.redact import show_word
from anywire.wire.message import Batch, Fault, Message
from anywire.wire.value import encode_value

__all__ = ("DEFAULT_RECORD_BYTES", "Recorder", "SessionRecorder", "previous")

#: How large a file becomes, unless something else is asked for: a day of talk, and no burden for a disk.
DEFAULT_RECORD_BYTES: Final = 100 * 1024 * 1024
#: How long a recording waits for its reader, or its disk.
DEFAULT_PATIENCE_SECONDS: Final = 5.0
# The first line of a recording is shorter.
_FIRST_LINE: Final = 1_000
# Descriptors below are those of stdio, closed or not.
_FIRST_FD: Final = 3


def previous(path: Path) -> Path:
    """Return where the file before this one is kept."""
    return path.with_name(f"{path.name}.1")


class Recorder:
    """Writes a recording at `path`.  Whoever makes it closes it; it may be closed twice.

    The recording that was at `path` before, and what has become larger than `limit` bytes, is kept beside it,
    see `previous`; where another process records at `path`, this one does so beside it, under its own number.
    `tell` gets a sentence when that is so, and when the recording has to end early.  `hidden` are values
    that are left out wherever they stand, along with what `Secrets` finds; `with_secrets` keeps all of it.
    `clock` gives the seconds of the epoch.  `patience` is how many seconds a pipe may be full, and how long
    `close` waits for what is not written yet.  Raises `ConfigError` for a path that cannot be written.

    Large messages are written in a thread, in their order.
    """

    def __init__(
        self,
        path: str,
        *,
        tell: Callable[[str], None],
        limit: int = DEFAULT_RECORD_BYTES,
        hidden: Iterable[str] = (),
        with_secrets: bool = False,
        clock: Callable[[], float] | None = None,
        patience: float = DEFAULT_PATIENCE_SECONDS,
    ) -> None:
        real = Path(os.path.realpath(path))
        # What leads to a pipe of this process has a name that is none.
        self._path = real if real.exists() or not Path(path).exists() else Path(path)
        self._shown = show_word(path)
        self._limit = limit
        self._tell = tell
        self._clock = clock or _steady_clock()
        self._patience = patience
        self._backlog = Backlog()
        self._sessions = 0
        self._size = 0
        #: What leaves secrets out; None: they are kept.
        self.secrets = None if with_secrets else Secrets(secrets.token_bytes(16), hidden)
        self._fd: int | None = None
        try:
            self._choose()
            self._open(continues=False)
        except OSError as error:
            self.close()
            raise ConfigError(f"--record: {self._shown}: {error.strerror or error}") from error

    def session(self, server: str) -> SessionRecorder:
        """Return what records one more conversation with that server."""
        self._sessions += 1
        return SessionRecorder(self, self._sessions, server)

    def message(self, head: bytes, direction: Direction, message: Message | Batch) -> None:
        """Write a message down."""
        if self._fd is None:
            return
        try:
            raw, at = bare(message), self._clock()
            if self._backlog.is_full:
                members = _left_out(direction, len(raw), "while too many were not written yet")
                self._backlog.do(lambda: self._write_event(at, head, members))
            else:
                self._backlog.do(lambda: self._write_message(at, head, direction, raw), len(raw))
        except Exception as error:  # noqa: BLE001 the conversation goes on, whatever becomes of its recording
            self._end(error)

    def event(self, head: bytes, members: Mapping[str, object]) -> None:
        """Write something else down that happened; of its texts, secrets are left out."""
        if self._fd is None:
            return
        try:
            at, size = self._clock(), sum(len(each) for each in members.values() if isinstance(each, str))
            self._backlog.do(lambda: self._write_event(at, head, members), size)
        except Exception as error:  # noqa: BLE001 the conversation goes on, whatever becomes of its recording
            self._end(error)

    def know(self, values: Iterable[str], *, passing: bool = False) -> None:
        """Leave these out as well from now on; `passing`: until many others have come."""
        secrets, known = self.secrets, tuple(values)
        if secrets is not None:
            self._backlog.do(lambda: secrets.pass_by(known) if passing else secrets.know(known))

    def close(self) -> None:
        """End the recording, when what is not written yet is, or has been waited for."""
        if not self._backlog.close(self._patience) and self._fd is not None:
            # The thread has the file still: it is closed with the process.
            self._fd = None
            self._tell(f"the recording in {self._shown} ends here: it could not be written in time")
        self._close_file()

    def _close_file(self) -> None:
        fd, self._fd = self._fd, None
        if fd is not None:
            with contextlib.suppress(OSError):
                os.close(fd)

    # Lines.

    def _write_message(self, at: float, head: bytes, direction: Direction, raw: bytes) -> None:
        try:
            if self.secrets is not None:
                raw = self.secrets.hide(raw)
            line = write_message(at, head, direction, raw)
            if len(line) > self._limit:
                members = _left_out(direction, len(raw), "more than the recording may have")
                self._write(write_event(at, head, members))
            else:
                self._write(line)
        except Exception as error:  # noqa: BLE001 the conversation goes on, whatever becomes of its recording
            self._end(error)

    def _write_event(self, at: float, head: bytes, members: Mapping[str, object]) -> None:
        try:
            self._write(write_event(at, head, {**members, **self._hidden(head, members)}))
        except Exception as error:  # noqa: BLE001 the conversation goes on, whatever becomes of its recording
            self._end(error)

    def without_secrets(self, text: str) -> str:
        """Return a text as it may stand in the recording."""
        return text if self.secrets is None else self.secrets.hide_text(text)

    def _hidden(self, head: bytes, members: Mapping[str, object]) -> dict[str, object]:
        if self.secrets is None:
            return {}
        hidden: dict[str, object] = {}
        for name in ("text", "reason"):
            if name in members:
                text = str(members[name])
                if name == "text" and members.get("event") == Event.NOISE:
                    hidden[name] = self.secrets.hide_line(text, head)
                else:
                    hidden[name] = self.secrets.hide_text(text)
        return hidden

    # The file.

    def _choose(self) -> None:
        """See whether the path is free, and take another where it is not."""
        self._is_file = not self._path.exists() or self._path.is_file()
        if not self._is_file:
            return
        for each in (self._path, previous(self._path)):
            if each.exists() and not _is_recording(each):
                raise OSError(0, f"{each.name} exists, and is no recording")
        if not self._path.exists() or not _is_locked(self._path):
            return
        path = self._path.with_name(f"{self._path.name}.{os.getpid()}")
        if path.exists() and (_is_locked(path) or not _is_recording(path)):
            raise OSError(0, "another process records there")
        shown, self._path = self._shown, path
        self._shown = f"{shown}.{os.getpid()}"
        self._tell(f"another process records in {shown}; this one does so in {self._shown}")

    def _open(self, *, continues: bool) -> None:
        if self._is_file and self._path.exists() and self._path.stat().st_size:
            self._path.replace(previous(self._path))
        # A pipe that nobody reads is an error at once, and one that is full is one later: nothing waits here.
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NONBLOCK
        fd = os.open(self._path, flags, 0o600)
        if fd < _FIRST_FD:
            fd = _out_of_the_way(fd)
        self._fd, self._size = fd, 0
        if self._is_file:
            os.fchmod(fd, 0o600)
            with contextlib.suppress(OSError):  # some file systems have no locks
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        members: dict[str, object] = {
            "event": Event.RECORDING,
            "format": FORMAT,
            "text": f"anywire {__version__}",
            "secrets": "kept" if self.secrets is None else "left out",
        }
        if continues:
            members["continues"] = True
        self._put(write_event(self._clock(), b"", members))

    def _write(self, line: bytes) -> None:
        if self._is_file and self._size + len(line) > self._limit:
            self._begin_next()
        self._put(line)

    def _end(self, error: Exception) -> None:
        self._close_file()
        why = (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__
        self._tell(f"the recording in {self._shown} ends here: {why}")

    def _begin_next(self) -> None:
        assert self._fd is not None
        if not os.path.samestat(os.fstat(self._fd), self._path.stat()):
            raise OSError(0, "the file was replaced by another")
        self._close_file()
        self._open(continues=True)

    def _put(self, data: bytes) -> None:
        self._size += len(data)
        while data and self._fd is not None:
            try:
                data = data[os.write(self._fd, data) :]
            except BlockingIOError:
                if not self._backlog.is_here:
                    self._backlog.do(partial(self._put_rest, data), len(data), later=True)
                    return
                # A pipe: who reads it may be slow.
                if not select.select((), (self._fd,), (), self._patience)[1]:
                    raise

    def _put_rest(self, data: bytes) -> None:
        try:
            self._put(data)
        except Exception as error:  # noqa: BLE001 the conversation goes on, whatever becomes of its recording
            self._end(error)


class SessionRecorder:
    """Records one conversation."""

    def __init__(self, recorder: Recorder, number: int, server: str, call: int = 0) -> None:
        self._recorder = recorder
        self._number = number
        self._server = server
        self._call = call
        self._calls = 0
        of_call = b',"call":%d' % call if call else b""
        shown = recorder.without_secrets(server)
        self._head = b'"session":%d%b,"server":%b' % (number, of_call, encode_value(shown))

    def call(self) -> SessionRecorder:
        """Return what records one more request that stands for itself, as a part of this conversation."""
        self._calls += 1
        return SessionRecorder(self._recorder, self._number, self._server, self._calls)

    def message(self, direction: Direction, message: Message | Batch) -> None:
        """A message went over the wire."""
        self._recorder.message(self._head, direction, message)

    def know(self, secret: str) -> None:
        """Leave this out as well from now on, until many others have come."""
        self._recorder.know((secret,), passing=True)

    def fault(self, direction: Direction, fault: Fault) -> None:
        """Something came in that is no message."""
        text = fault.data.decode("utf-8", "backslashreplace")
        self._event(Event.NOISE, direction=direction.value, text=text, reason=fault.reason)

    def failed(self, id: bytes, error: AnywireError) -> None:
        """The request of that raw id was sent in vain."""
        self._event(Event.FAILED, id=msgspec.Raw(id), reason=str(error))

    def happened(
        self, event: str, reason: object = "", *, direction: Direction | None = None, by_peer: bool = False
    ) -> None:
        """Something else happened, see `Event`."""
        if self._call and event == Event.OPENED:
            return  # the request shows that
        members: dict[str, object] = {}
        if direction is not None:
            members["direction"] = direction.value
        if by_peer:
            members["byPeer"] = True
        if reason:
            members["reason"] = str(reason)
        self._event(event, **members)

    def _event(self, event: str, **members: object) -> None:
        self._recorder.event(self._head, {"event": event, **members})


def _left_out(direction: Direction, count: int, why: str) -> dict[str, object]:
    text = f"a message of {count} bytes, {why}"
    return {"event": Event.LEFT_OUT, "direction": direction.value, "text": text}


def _out_of_the_way(fd: int) -> int:
    """Return a descriptor in the place of one that belongs to stdio, even while that is closed."""
    moved = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _FIRST_FD)
    os.close(fd)
    return moved


def _is_recording(path: Path) -> bool:
    """Say whether a file is empty, or begins like a recording: others are not put aside."""
    try:
        with path.open("rb") as file:
            line = file.readline(_FIRST_LINE)
    except OSError:
        return True  # opening it for writing will say why
    return not line or b'"event":"recording"' in line


def _is_locked(path: Path) -> bool:
    """Say whether another process records there."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return False  # opening it for writing will say why
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(fd)
    return False


def _steady_clock() -> Callable[[], float]:
    """Return a clock of the epoch that goes on evenly, whatever is done to that of the machine."""
    began = time.time() - time.monotonic()
    return lambda: began + time.monotonic()
