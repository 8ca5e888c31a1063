"""Logs far more than a pipe holds."""

from __future__ import annotations

import sys

from tests.cli.servers.healthy import Healthy


class StderrFlood(Healthy):
    def run(self) -> None:
        for number in range(4_000):
            print(f"debug: starting part {number:06} of this server", file=sys.stderr)
        super().run()


if __name__ == "__main__":
    StderrFlood().run()
