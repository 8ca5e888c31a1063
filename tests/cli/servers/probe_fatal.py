"""Ends when the first request is not initialize."""

from __future__ import annotations

import sys

from tests.cli.servers.healthy import Healthy, Json


class ProbeFatal(Healthy):
    opened = False

    def request(self, message: Json) -> None:
        self.opened = self.opened or message["method"] == "initialize"
        if not self.opened:
            sys.exit("expected initialize")
        super().request(message)


if __name__ == "__main__":
    ProbeFatal().run()
