"""Agrees to any revision."""

from __future__ import annotations

from tests.cli.servers.healthy import Healthy, Json


class RevisionEchoed(Healthy):
    def initialize(self, params: Json) -> Json:
        return {**super().initialize(params), "protocolVersion": params.get("protocolVersion")}


if __name__ == "__main__":
    RevisionEchoed().run()
