"""Has a tool and does not say that it has tools."""

from __future__ import annotations

from tests.cli.servers.healthy import Healthy


class ToolsUndeclared(Healthy):
    def __init__(self) -> None:
        super().__init__()
        self.capabilities = {}


if __name__ == "__main__":
    ToolsUndeclared().run()
