"""Never flushes, so that its answers wait for its end."""

from __future__ import annotations

import os

from tests.cli.servers.healthy import Healthy


class Buffered(Healthy):
    def __init__(self) -> None:
        super().__init__()
        self.stdout = os.fdopen(1, "wb")

    def write_bytes(self, data: bytes) -> None:
        self.stdout.write(data)


if __name__ == "__main__":
    Buffered().run()
