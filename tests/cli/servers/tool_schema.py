"""Has a tool without a schema, and one whose schema is of the wrong type."""

from __future__ import annotations

from tests.cli.servers.healthy import Healthy


class ToolSchema(Healthy):
    def __init__(self) -> None:
        super().__init__()
        self.tools = [
            {"name": "bare", "description": "Has none."},
            {"name": "text", "description": "Has a wrong one.", "inputSchema": {"type": "string"}},
        ]


if __name__ == "__main__":
    ToolSchema().run()
