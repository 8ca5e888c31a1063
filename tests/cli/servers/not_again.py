"""Can be started once, as long as the file that it is given is there."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.cli.servers.healthy import Healthy


class NotAgain(Healthy):
    def run(self) -> None:
        lock = Path(sys.argv[1])
        if lock.exists():
            sys.exit(f"{lock} exists: is another server running?")
        lock.touch()
        super().run()


if __name__ == "__main__":
    NotAgain().run()
