"""The core loads nothing that could do I/O, and nothing that takes time to load."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

SRC = Path(__file__).resolve().parents[2] / "src"
HEAVY = {
    "asyncio",
    "http",
    "logging",
    "multiprocessing",
    "select",
    "socket",
    "ssl",
    "subprocess",
    "threading",
}
CORE = [
    ".".join(path.relative_to(SRC).with_suffix("").parts).removesuffix(".__init__")
    for package in ("wire", "protocol")
    for path in sorted((SRC / "anywire" / package).rglob("*.py"))
]


def loaded_by(*modules: str) -> set[str]:
    """The modules that a new interpreter holds after importing these."""
    code = f"import json, sys, {', '.join(modules)}; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60, check=True)
    return set(json.loads(done.stdout))


def test_the_core_loads_no_more_than_its_decoder_does() -> None:
    """All modules of wire and protocol against msgspec alone."""
    assert "anywire.wire.codec" in CORE

    added = loaded_by(*CORE) - loaded_by("msgspec")

    assert set(CORE) <= added
    assert added & HEAVY == set()
