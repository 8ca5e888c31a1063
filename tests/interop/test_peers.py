"""The peers are pinned, and nothing about them depends on where they were first installed."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.interop.peers import NODE_MANIFEST, SDK_1, SDK_2

pytestmark = pytest.mark.interop


def test_every_peer_is_pinned_to_one_version() -> None:
    """A new release of a peer is taken in by a change here, never by itself."""
    manifest: dict[str, Any] = json.loads((NODE_MANIFEST / "package.json").read_text(encoding="utf-8"))
    lock: dict[str, Any] = json.loads((NODE_MANIFEST / "package-lock.json").read_text(encoding="utf-8"))

    assert all(re.fullmatch(r"[a-z]+==\d+\.\d+\.\d+", pin) for pin in (SDK_1, SDK_2))
    for name, version in manifest["dependencies"].items():
        assert re.fullmatch(r"\d+\.\d+\.\d+", version), name
        assert lock["packages"][f"node_modules/{name}"]["version"] == version


def test_the_lock_file_names_no_registry() -> None:
    """Whoever installs decides where from."""
    lock: dict[str, Any] = json.loads((NODE_MANIFEST / "package-lock.json").read_text(encoding="utf-8"))

    assert [name for name, package in lock["packages"].items() if "resolved" in package] == []
