"""Exits over a method that it does not know."""

from __future__ import annotations

import sys

from tests.cli.servers.healthy import Healthy, Json


class ExitsLater(Healthy):
    def answer(self, method: str, params: Json) -> Json:
        answer = super().answer(method, params)
        if "error" in answer and method.startswith("anywire/"):
            sys.exit(f"no handler for {method}")
        return answer


if __name__ == "__main__":
    ExitsLater().run()
