"""Begins its output as editors on Windows do."""

from __future__ import annotations

from tests.cli.servers.healthy import BOM, Healthy


class BomWritten(Healthy):
    begun = False

    def write_bytes(self, data: bytes) -> None:
        super().write_bytes(data if self.begun else BOM + data)
        self.begun = True


if __name__ == "__main__":
    BomWritten().run()
