"""Writes as a shell on Windows does."""

from __future__ import annotations

from tests.cli.servers.healthy import Healthy


class NotUtf8(Healthy):
    def write_bytes(self, data: bytes) -> None:
        super().write_bytes(data.decode().encode("utf-16"))


if __name__ == "__main__":
    NotUtf8().run()
