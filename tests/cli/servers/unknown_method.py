"""Answers whatever it is asked."""

from __future__ import annotations

from tests.cli.servers.healthy import Healthy, Json


class UnknownMethod(Healthy):
    def answer(self, method: str, params: Json) -> Json:
        answer = super().answer(method, params)
        return answer if "result" in answer else {"result": {}}


if __name__ == "__main__":
    UnknownMethod().run()
