"""Indents its JSON."""

from __future__ import annotations

import json

from tests.cli.servers.healthy import Healthy


class SeveralLines(Healthy):
    def write(self, message: object) -> None:
        self.write_bytes(json.dumps(message, indent=2).encode() + b"\n")


if __name__ == "__main__":
    SeveralLines().run()
