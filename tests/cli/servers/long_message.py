"""Reads lines up to 64 KiB, as streams of asyncio do."""

from __future__ import annotations

import sys

from tests.cli.servers.healthy import Healthy


class LongMessage(Healthy):
    def receive(self, line: bytes) -> None:
        if len(line) > 64 * 1024:
            sys.exit("Separator is not found, and chunk exceed the limit")
        super().receive(line)


if __name__ == "__main__":
    LongMessage().run()
