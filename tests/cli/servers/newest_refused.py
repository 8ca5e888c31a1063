"""Refuses a client that is newer than itself."""

from __future__ import annotations

from tests.cli.servers.healthy import Healthy, Json


class NewestRefused(Healthy):
    def answer(self, method: str, params: Json) -> Json:
        if method == "initialize" and params["protocolVersion"] == "2025-11-25":
            return {"error": {"code": -32602, "message": "Unsupported protocol version"}}
        return super().answer(method, params)


if __name__ == "__main__":
    NewestRefused().run()
