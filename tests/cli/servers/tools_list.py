"""Declares tools and cannot list them."""

from __future__ import annotations

from tests.cli.servers.healthy import Healthy, Json


class ToolsList(Healthy):
    def answer(self, method: str, params: Json) -> Json:
        if method == "tools/list":
            return {"error": {"code": -32603, "message": "KeyError: 'tools'"}}
        return super().answer(method, params)


if __name__ == "__main__":
    ToolsList().run()
