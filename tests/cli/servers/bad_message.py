"""Forgets the version of JSON-RPC in what nobody asked for."""

from __future__ import annotations

from tests.cli.servers.healthy import Healthy, Json


class BadMessage(Healthy):
    def notification(self, message: Json) -> None:
        self.write({"method": "notifications/message", "params": {"level": "info", "data": "hello"}})


if __name__ == "__main__":
    BadMessage().run()
