"""Wants another client."""

from __future__ import annotations

from tests.cli.servers.healthy import Healthy, Json


class InitializeRefused(Healthy):
    def answer(self, method: str, params: Json) -> Json:
        if method == "initialize":
            return {"error": {"code": -32602, "message": "I do not know you"}}
        return super().answer(method, params)


if __name__ == "__main__":
    InitializeRefused().run()
