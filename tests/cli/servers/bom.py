"""Takes a byte order mark for a part of the message."""

from __future__ import annotations

from tests.cli.servers.healthy import BOM, Healthy


class Bom(Healthy):
    def receive(self, line: bytes) -> None:
        if line.startswith(BOM):
            self.malformed(line)
        else:
            super().receive(line)


if __name__ == "__main__":
    Bom().run()
