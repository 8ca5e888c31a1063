"""The peers are pinned, and nothing about them depends on where they were first installed."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.setup import SUITE_MANIFEST
from tests.interop.peers import CLAUDE_CODE, NODE_MANIFEST, SDK_1, SDK_2

pytestmark = pytest.mark.interop

manifests = pytest.mark.parametrize("folder", [NODE_MANIFEST, SUITE_MANIFEST], ids=["peers", "suite"])


@manifests
def test_every_peer_is_pinned_to_one_version(folder: Path) -> None:
    """A new release of a peer is taken in by a change here, never by itself."""
    manifest: dict[str, Any] = json.loads((folder / "package.json").read_text(encoding="utf-8"))
    lock: dict[str, Any] = json.loads((folder / "package-lock.json").read_text(encoding="utf-8"))

    assert all(re.fullmatch(r"[a-z-]+==\d+\.\d+\.\d+", pin) for pin in (SDK_1, SDK_2, CLAUDE_CODE))
    for name, version in (manifest["dependencies"] | manifest.get("optionalDependencies", {})).items():
        assert re.fullmatch(r"\d+\.\d+\.\d+(-alpha\.\d+)?", version), name
        assert lock["packages"][f"node_modules/{name}"]["version"] == version


@manifests
def test_the_lock_file_names_no_registry(folder: Path) -> None:
    """Whoever installs decides where from."""
    lock: dict[str, Any] = json.loads((folder / "package-lock.json").read_text(encoding="utf-8"))

    assert [name for name, package in lock["packages"].items() if "resolved" in package] == []
