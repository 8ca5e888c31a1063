"""What no test may inherit from another."""

from __future__ import annotations

import pytest

from anywire.client import greeting
from anywire.client.verdicts import Verdicts


@pytest.fixture(autouse=True)
def _nothing_is_known_of_any_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """An ephemeral port comes back, and what listens on it then is another server than was met there before."""
    monkeypatch.setattr(greeting, "_verdicts", Verdicts())
