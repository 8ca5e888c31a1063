"""Never flushes, so that its answers wait for its end."""

from __future__ import annotations

import sys

from tests.cli.servers.healthy import Healthy


class Buffered(Healthy):
    def write_bytes(self, data: bytes) -> None:
        sys.stdout.buffer.write(data)


if __name__ == "__main__":
    Buffered().run()
