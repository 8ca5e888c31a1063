"""Names a tool as people write."""

from __future__ import annotations

from tests.cli.servers.healthy import Healthy


class ToolName(Healthy):
    def __init__(self) -> None:
        super().__init__()
        self.tools[0]["name"] = "add two numbers"


if __name__ == "__main__":
    ToolName().run()
