"""Shakes no hands."""

from __future__ import annotations

from tests.cli.servers.healthy import Json
from tests.cli.servers.stateless import Stateless


class StatelessOnly(Stateless):
    def answer(self, method: str, params: Json) -> Json:
        if method == "initialize":
            return {"error": self.unsupported("a handshake")}
        return super().answer(method, params)


if __name__ == "__main__":
    StatelessOnly().run()
