"""Stays when its input has ended, and when it is asked to leave."""

from __future__ import annotations

import signal

from tests.cli.servers.healthy import Healthy


class IgnoresTerm(Healthy):
    def run(self) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        super().run()
        while True:
            signal.pause()


if __name__ == "__main__":
    IgnoresTerm().run()
