"""Refuses what it does not know as if that were its own fault."""

from __future__ import annotations

from tests.cli.servers.healthy import Healthy, Json


class UnknownMethodCode(Healthy):
    def answer(self, method: str, params: Json) -> Json:
        answer = super().answer(method, params)
        return answer if "result" in answer else {"error": {"code": -32603, "message": "Internal error"}}


if __name__ == "__main__":
    UnknownMethodCode().run()
