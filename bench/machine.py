"""On what was measured: the machine, how busy it is, the Python, and our own versions."""

from __future__ import annotations

import os
import platform
import sys
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

__all__ = ("load", "machine", "our_versions", "python_version")

OURS: Final = ("anywire", "msgspec", "aiohttp", "uvicorn", "httptools", "uvloop")


def python_version() -> str:
    """Return the version of this Python, such as 3.11.7."""
    return platform.python_version()


def machine() -> dict[str, object]:
    """Return what the machine is."""
    return {
        "date": time.strftime("%Y-%m-%d %H:%M", time.gmtime()),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)),
        "python": f"{platform.python_implementation()} {sys.version}",
    }


def load() -> float:
    """Return how many programs wanted a core at a time in the last minute; ours is one or two of them."""
    return round(os.getloadavg()[0], 1)


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor()


def our_versions() -> dict[str, str]:
    """Return the versions of what our own programs run with, as far as it is installed."""
    found: dict[str, str] = {}
    for name in OURS:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
