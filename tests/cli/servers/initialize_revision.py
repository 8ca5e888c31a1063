"""Speaks a revision of its own."""

from __future__ import annotations

from tests.cli.servers.healthy import Healthy, Json


class InitializeRevision(Healthy):
    def initialize(self, params: Json) -> Json:
        return {**super().initialize(params), "protocolVersion": "1.0"}


if __name__ == "__main__":
    InitializeRevision().run()
