"""The suite, and a look at what is left of it after each test."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

if sys.platform == "win32":
    collect_ignore_glob = ["test_*.py"]
else:
    from tests.conformance.setup import Suite, install
    from tests.interop import processes
    from tests.interop.obtain import obtain

    @pytest.fixture(scope="session")
    def suite() -> Suite:
        """The conformance suite."""
        return obtain(install)

    @pytest.fixture(autouse=True)
    def _no_process_left() -> Iterator[None]:
        """No test may leave a process behind."""
        with processes.watch():
            yield
