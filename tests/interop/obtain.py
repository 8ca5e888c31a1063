"""A peer for a test, or the reason why the test is left out."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TypeVar

import pytest

from tests.interop import peers

T = TypeVar("T")


def obtain(install: Callable[[], T]) -> T:
    """Install a peer, or say why its tests cannot run: a failure where CI is set, else a skip."""
    try:
        return install()
    except peers.NodeMissing as missing:
        pytest.skip(str(missing))
    except peers.PeerUnavailable as unavailable:
        if os.environ.get("CI"):
            pytest.fail(str(unavailable), pytrace=False)
        what_and_how = str(unavailable).splitlines()[0]
        pytest.skip(f"{what_and_how}; without a network its tests are left out")
