"""Writes its messages to the wrong stream."""

from __future__ import annotations

import sys

from tests.cli.servers.healthy import Healthy


class StderrOnly(Healthy):
    def write_bytes(self, data: bytes) -> None:
        sys.stderr.buffer.write(data)
        sys.stderr.buffer.flush()


if __name__ == "__main__":
    StderrOnly().run()
