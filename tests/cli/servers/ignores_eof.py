"""Stays when its input has ended."""

from __future__ import annotations

import signal

from tests.cli.servers.healthy import Healthy


class IgnoresEof(Healthy):
    def run(self) -> None:
        super().run()
        signal.pause()


if __name__ == "__main__":
    IgnoresEof().run()
