"""Ignores requests before initialize."""

from __future__ import annotations

from tests.cli.servers.healthy import Healthy, Json


class ProbeSilence(Healthy):
    opened = False

    def request(self, message: Json) -> None:
        self.opened = self.opened or message["method"] == "initialize"
        if self.opened:
            super().request(message)


if __name__ == "__main__":
    ProbeSilence().run()
