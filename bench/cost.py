"""What processes have cost so far: processor time and memory, as Linux accounts for them in /proc."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from pathlib import Path

__all__ = ("cpu_seconds", "family", "resident_bytes")


def family(pid: int) -> list[int]:
    """Return a process and all that descend from it."""
    found = [pid]
    for each in found:
        with contextlib.suppress(OSError):
            for thread in Path(f"/proc/{each}/task").iterdir():
                found += map(int, (thread / "children").read_text(encoding="utf-8").split())
    return found


def cpu_seconds(pids: Iterable[int]) -> float:
    """Return the processor time that the living threads of these processes have had."""
    nanoseconds = 0
    for pid in pids:
        with contextlib.suppress(OSError):
            for thread in Path(f"/proc/{pid}/task").iterdir():
                with contextlib.suppress(OSError):
                    nanoseconds += int((thread / "schedstat").read_text(encoding="utf-8").split()[0])
    return nanoseconds / 1e9


def resident_bytes(pids: Iterable[int], *, peak: bool = False) -> int:
    """Return the memory that these processes have in use, or the most that they had."""
    label, total = ("VmHWM:" if peak else "VmRSS:"), 0
    for pid in pids:
        with contextlib.suppress(OSError):
            for line in Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines():
                if line.startswith(label):
                    total += int(line.split()[1]) * 1024
    return total
