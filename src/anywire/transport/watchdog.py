"""Ends the children of a process that was killed before it could do so itself.

Nobody can handle SIGKILL.  So a process that owns children starts this file as a small program of
its own (standard library only, in its own session) and tells it, over a pipe, which children it
has.  The pipe ends when the owner does, however that came about; children that read their stdin
have seen the end of it in the same moment and leave by themselves.  The watchdog gives them a short
grace, then sends TERM, then KILL to each child's process group and to its descendants, and is gone
within two seconds.  It uses no CPU while it waits.

The protocol on the pipe: a line `+PID` for a child that was started (its process group has the same
number), `-PID` for one that has been ended.
"""

from __future__ import annotations

import os
import signal
import sys
import time

__all__ = ("group_is_alive", "signal_tree", "tree_of")

_GRACE_SECONDS = 0.7
_TERM_SECONDS = 0.6
_POLL_SECONDS = 0.05


def tree_of(pid: int) -> set[int]:
    """Return the live processes of a child: its group, its session, and all descendants of those.

    Zombies do not count.  Where there is no /proc, nothing but the group can be reached, and
    `signal_tree` reaches it without this list.
    """
    parents: dict[int, int] = {}
    members: set[int] = set()
    for entry in _process_ids():
        status = _status(entry)
        if status is None:
            continue
        state, parent, group, session = status
        parents[entry] = parent
        if state not in "ZX" and (entry == pid or pid in (group, session)):
            members.add(entry)
    found = True
    while found:
        found = {entry for entry, parent in parents.items() if parent in members} - members
        members |= found
    return members - {os.getpid()}


def group_is_alive(pid: int) -> bool:
    """Say whether the process group of a child still has a member."""
    try:
        os.killpg(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def signal_tree(pid: int, number: int, members: set[int] | None = None) -> None:
    """Send a signal to the process group of a child, and to each of `members` outside of it."""
    try:
        os.killpg(pid, number)
    except (ProcessLookupError, PermissionError):
        pass
    for member in members or ():
        try:
            if os.getpgid(member) != pid:
                os.kill(member, number)
        except (ProcessLookupError, PermissionError):
            pass


def _process_ids() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208 pathlib costs a start
    except OSError:
        return []


def _status(pid: int) -> tuple[str, int, int, int] | None:
    """Read state, parent, group and session of a process; None when it is gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123 pathlib costs a start
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return None
    return fields[0].decode(), int(fields[1]), int(fields[2]), int(fields[3])


def _read_children() -> set[int]:
    """Follow the owner's list until the pipe ends; return the children that are left then."""
    children: set[int] = set()
    for line in sys.stdin.buffer:
        sign, number = line[:1], line[1:].strip()
        if number.isdigit():
            (children.add if sign == b"+" else children.discard)(int(number))
    return children


def _wait_while_alive(children: set[int], seconds: float) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until and any(map(group_is_alive, children)):
        time.sleep(_POLL_SECONDS)


def _end(children: set[int]) -> None:
    # The trees are read first: a process whose parent has gone can no longer be found by it.
    trees = {child: tree_of(child) for child in children}
    _wait_while_alive(children, _GRACE_SECONDS)
    for number, seconds in ((signal.SIGTERM, _TERM_SECONDS), (signal.SIGKILL, 0.0)):
        for child, tree in trees.items():
            signal_tree(child, number, _alive(tree | tree_of(child)))
        _wait_while_alive(children, seconds)


def _alive(members: set[int]) -> set[int]:
    return {member for member in members if _status(member) is not None}


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    _left = _read_children()
    if _left:
        _end(_left)
