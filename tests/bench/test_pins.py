"""What is measured is pinned, and nothing about it depends on where it was first installed."""

from __future__ import annotations

import json
import re

from bench.peers import PINS, PYTHON_PEERS

NODE = PINS / "node"


def test_every_peer_is_pinned_to_one_version() -> None:
    """Figures are those of a version, and the next run measures the same."""
    lines = [
        line for name in PYTHON_PEERS for line in (PINS / f"{name}.txt").read_text(encoding="utf-8").split()
    ]
    dependencies: dict[str, str] = json.loads((NODE / "package.json").read_text(encoding="utf-8"))[
        "dependencies"
    ]

    assert [line for line in lines if not re.fullmatch(r"[a-z-]+==\d+\.\d+\.\d+", line)] == []
    assert [
        name for name, version in dependencies.items() if not re.fullmatch(r"\d+\.\d+\.\d+", version)
    ] == []


def test_the_lock_file_holds_these_versions_and_names_no_registry() -> None:
    """Whoever installs decides where from."""
    dependencies: dict[str, str] = json.loads((NODE / "package.json").read_text(encoding="utf-8"))[
        "dependencies"
    ]
    packages: dict[str, dict[str, object]] = json.loads(
        (NODE / "package-lock.json").read_text(encoding="utf-8")
    )["packages"]

    assert {name: packages[f"node_modules/{name}"]["version"] for name in dependencies} == dependencies
    assert [name for name, package in packages.items() if "resolved" in package] == []
