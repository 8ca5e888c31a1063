"""Does not say what its tool does."""

from __future__ import annotations

from tests.cli.servers.healthy import Healthy


class ToolDescription(Healthy):
    def __init__(self) -> None:
        super().__init__()
        del self.tools[0]["description"]


if __name__ == "__main__":
    ToolDescription().run()
