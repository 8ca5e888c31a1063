"""The command `anywire bridge` and a server that crashes: it goes on, and leaves nothing behind."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.bridge.stage import REVISION
from tests.interop.processes import anywire, spawn, wait_until, watch

pytestmark = pytest.mark.chaos

LEDGER = Path(__file__).with_name("servers") / "ledger.py"


class Client:
    """A client of the command on its pipes."""

    def __init__(self, *words: str) -> None:
        self.process = anywire("bridge", "stdio", "--", sys.executable, "-I", "-S", *words)

    @contextmanager
    def open(self) -> Generator[Client]:
        """Start it and shake hands; at the end no process is left."""
        with watch(), spawn(self.process) as self.running:
            client = {"name": "played", "version": "1"}
            params = {"protocolVersion": REVISION, "capabilities": {}, "clientInfo": client}
            assert "result" in self.ask(0, "initialize", params)
            self.write({"method": "notifications/initialized"})
            yield self

    def write(self, message: dict[str, Any]) -> None:
        """Say something."""
        assert self.running.stdin is not None
        self.running.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def read(self) -> dict[str, Any]:
        """Return the next reply; notifications are passed over."""
        assert self.running.stdout is not None
        while "method" in (message := json.loads(self.running.stdout.readline())):
            pass
        return message

    def ask(self, id: int, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """Ask something; return the answer."""
        self.write({"id": id, "method": method, "params": params or {}})
        return self.read()

    def call(self, id: int, name: str) -> str:
        """Call the tool; return its text, or the text of the error."""
        reply = self.ask(id, "tools/call", {"name": "work", "arguments": {"name": name}})
        assert reply["id"] == id
        return reply["result"]["content"][0]["text"] if "result" in reply else reply["error"]["message"]

    def end(self) -> tuple[int, str]:
        """Leave; return the exit code and stderr."""
        _, err = self.running.communicate(timeout=20)
        return self.running.returncode, err.decode()


def test_a_server_that_crashes_is_started_again_and_its_client_stays(tmp_path: Path) -> None:
    with Client(str(LEDGER), str(tmp_path / "ledger")).open() as client:
        before = client.call(1, "before").split()
        crashed = client.call(2, "fatal")
        after = client.call(3, "after").split()
        code, err = client.end()

    assert "exited with code 3; its last words: the ink has run out" in crashed
    assert (before[0], after[0]) == ("before", "after")
    assert before[1] != after[1]
    assert code == 0
    assert "another takes over" in err
    assert (tmp_path / "ledger").read_text("utf-8").split() == ["before", "fatal", "after"]


@pytest.mark.parametrize("how", [None, signal.SIGTERM, signal.SIGKILL], ids=["left", "ended", "killed"])
def test_a_bridge_that_ends_while_a_server_takes_over_leaves_none(how: int | None, tmp_path: Path) -> None:
    """The new one has not answered, and nobody waits until it does."""
    ledger = tmp_path / "ledger"
    with Client(str(LEDGER), str(ledger), "mute").open() as client:
        client.call(1, "fatal")
        assert wait_until(lambda: "mute" in ledger.read_text("utf-8"), within=10)
        if how is not None:
            client.running.send_signal(how)
            client.running.wait(timeout=10)
        client.end()
