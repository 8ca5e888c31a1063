"""Ends the children of a process that was killed before it could do so itself.

Nobody can handle SIGKILL.  So a process that owns children starts this file as a small program of
its own (standard library only, in its own session) and tells it, over a pipe, which children it
has.  The pipe ends when the owner does, however that came about, and where the system has process
descriptors (Linux) the owner's own one is watched as well, in case a fork of it holds the pipe open.
Children that read their stdin have seen its end in the same moment and leave by themselves.  The
watchdog gives them a short grace, then sends TERM, then KILL to each child's whole tree, and is
gone within three seconds.  It uses no CPU while it waits.

To a child's tree belong its process group, its session, all descendants, and every process that has
inherited the mark which the child got in the variable `ANYWIRE_CHILD` of its environment: a
grandchild that made a session of its own is found by it when its parent has gone.

The protocol on the pipe: a line `MARK 0` for a child that is about to be started, `MARK PID` for one
that was (its process group has the same number), `MARK -` for one that has been ended.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time

__all__ = ("MARK_VARIABLE", "Tree")

#: The variable in a child's environment by which the processes of its tree are known.
MARK_VARIABLE = "ANYWIRE_CHILD"

_GRACE_SECONDS = 0.6
_TERM_SECONDS = 0.5
_KILL_SECONDS = 1.0
_POLL_SECONDS = 0.05
_PIPE_BYTES = 65536


class Tree:
    """The processes of one child, as the system's table of processes shows them.

    What was seen once is remembered, so that a process whose parent has gone is still known.  A
    process is its number and the time of its start: numbers are used again.  Where there is no
    /proc, nothing but the process group can be reached.
    """

    def __init__(self, mark: str, pid: int = 0) -> None:
        self._mark = mark.encode()
        self._pid = pid
        self._since = 0
        self._known: dict[int, int] = {}

    def started(self, pid: int) -> None:
        """The child has this number; nothing that was there before it can belong to it."""
        self._pid = pid
        status = _status(pid)
        self._since = status[4] if status is not None else 0

    def alive(self) -> dict[int, int]:
        """Return the live processes of the tree, zombies left out: the number and start of each."""
        table = _table()
        members = {pid: status[4] for pid, status in table.items() if self._is_root(pid, status)}
        found = members
        while found:
            found = {
                pid: status[4]
                for pid, status in table.items()
                if pid not in members and status[1] in members and status[0] not in "ZX"
            }
            members = {**members, **found}
        members.pop(os.getpid(), None)
        self._known = members
        return members

    def exists(self) -> bool:
        """Say whether anything of the tree lives."""
        return bool(self.alive()) or (not _has_table() and self._signal_group(0))

    def signal(self, number: int) -> None:
        """Send a signal to the whole tree."""
        members = self.alive()
        self._signal_group(number)
        for member in members:
            try:
                if os.getpgid(member) != self._pid:
                    os.kill(member, number)
            except (ProcessLookupError, PermissionError):
                pass

    def _signal_group(self, number: int) -> bool:
        if not self._pid:
            return False
        try:
            os.killpg(self._pid, number)
        except (ProcessLookupError, PermissionError):
            return False
        return True

    def _is_root(self, pid: int, status: tuple[str, int, int, int, int]) -> bool:
        """Say whether a process belongs to the tree by itself, whoever its parent is."""
        state, _, group, session, start = status
        if state in "ZX":
            return False
        if self._pid and self._pid in (pid, group, session):
            return True
        if self._known.get(pid) == start:
            return True
        return bool(self._mark) and start >= self._since and self._mark in _environment(pid)


def _has_table() -> bool:
    return os.path.exists("/proc/self/stat")  # noqa: PTH110 pathlib costs a start


def _table() -> dict[int, tuple[str, int, int, int, int]]:
    """Read state, parent, group, session and start of every process."""
    try:
        names = os.listdir("/proc")  # noqa: PTH208 pathlib costs a start
    except OSError:
        return {}
    statuses = ((int(name), _status(int(name))) for name in names if name.isdigit())
    return {pid: status for pid, status in statuses if status is not None}


def _status(pid: int) -> tuple[str, int, int, int, int] | None:
    """Read state, parent, group, session and start of a process; None when it is gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123 pathlib costs a start
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return None
    return fields[0].decode(), int(fields[1]), int(fields[2]), int(fields[3]), int(fields[19])


def _environment(pid: int) -> bytes:
    """Read the environment that a process was started with; empty for another user's."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:  # noqa: PTH123 pathlib costs a start
            return file.read()
    except OSError:
        return b""


def _follow(owner: int) -> dict[bytes, Tree]:
    """Follow the owner's list until the owner is gone; return the trees that are left then."""
    trees: dict[bytes, Tree] = {}
    poll = select.poll()
    poll.register(sys.stdin.fileno(), select.POLLIN)
    patience = None if _watch_owner(poll, owner) else 0
    pending = b""
    while True:
        ready = {fd for fd, _ in poll.poll(patience)}
        if sys.stdin.fileno() not in ready:
            return trees  # a fork of the owner holds the pipe, and all that was written has been read
        chunk = os.read(sys.stdin.fileno(), _PIPE_BYTES)
        if not chunk:
            return trees
        *lines, pending = (pending + chunk).split(b"\n")
        for line in lines:
            _take(line, trees)


def _watch_owner(poll: select.poll, owner: int) -> bool:
    """Have the poll tell when the owner is gone, where the system can; say whether it is there."""
    try:
        poll.register(os.pidfd_open(owner), select.POLLIN)
    except ProcessLookupError:
        return False
    except (AttributeError, OSError):
        pass  # no such thing here: the pipe tells
    return True


def _take(line: bytes, trees: dict[bytes, Tree]) -> None:
    mark, _, number = line.partition(b" ")
    if number.isdigit():
        trees[mark] = Tree(mark.decode(), int(number))
    else:
        trees.pop(mark, None)


def _gone_within(trees: list[Tree], seconds: float) -> bool:
    until = time.monotonic() + seconds
    while any([tree.exists() for tree in trees]):  # noqa: C419 each looks, and remembers what it saw
        if time.monotonic() >= until:
            return False
        time.sleep(_POLL_SECONDS)
    return True


def _end(trees: list[Tree]) -> None:
    if _gone_within(trees, _GRACE_SECONDS):
        return
    for tree in trees:
        tree.signal(signal.SIGTERM)
    if _gone_within(trees, _TERM_SECONDS):
        return
    until = time.monotonic() + _KILL_SECONDS
    while time.monotonic() < until:
        for tree in trees:
            tree.signal(signal.SIGKILL)
        if _gone_within(trees, _POLL_SECONDS):
            return


if __name__ == "__main__":
    for _number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(_number, signal.SIG_IGN)
    _end(list(_follow(int(sys.argv[1])).values()))
