"""Leaves a process behind."""

from __future__ import annotations

import subprocess
import sys

from tests.cli.servers.healthy import Healthy


class LeftBehind(Healthy):
    def run(self) -> None:
        stays = [sys.executable, "-S", "-c", "import signal; signal.pause()"]
        streams = subprocess.DEVNULL
        subprocess.Popen(stays, stdin=streams, stdout=streams, stderr=streams)
        super().run()


if __name__ == "__main__":
    LeftBehind().run()
