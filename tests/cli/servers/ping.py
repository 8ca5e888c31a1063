"""Does not answer ping."""

from __future__ import annotations

from tests.cli.servers.healthy import Healthy, Json


class Ping(Healthy):
    def request(self, message: Json) -> None:
        if message["method"] != "ping":
            super().request(message)


if __name__ == "__main__":
    Ping().run()
