"""Does not say who it is."""

from __future__ import annotations

from tests.cli.servers.healthy import Healthy, Json


class InitializeResult(Healthy):
    def initialize(self, params: Json) -> Json:
        return {"protocolVersion": "2025-11-25"}


if __name__ == "__main__":
    InitializeResult().run()
