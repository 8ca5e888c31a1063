"""Ends over a line that it cannot parse."""

from __future__ import annotations

import json

from tests.cli.servers.healthy import Healthy


class MalformedFatal(Healthy):
    def malformed(self, text: bytes) -> None:
        json.loads(text)


if __name__ == "__main__":
    MalformedFatal().run()
