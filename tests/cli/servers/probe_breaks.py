"""Takes initialize as its very first request only."""

from __future__ import annotations

from tests.cli.servers.healthy import Healthy, Json


class ProbeBreaks(Healthy):
    requests = 0

    def answer(self, method: str, params: Json) -> Json:
        self.requests += 1
        if method == "initialize" and self.requests > 1:
            return {"error": {"code": -32600, "message": "already begun"}}
        return super().answer(method, params)


if __name__ == "__main__":
    ProbeBreaks().run()
