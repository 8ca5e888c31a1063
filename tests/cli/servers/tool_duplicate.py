"""Lists a tool twice."""

from __future__ import annotations

from tests.cli.servers.healthy import Healthy


class ToolDuplicate(Healthy):
    def __init__(self) -> None:
        super().__init__()
        self.tools *= 2


if __name__ == "__main__":
    ToolDuplicate().run()
