"""Shakes no hands, and does not say what it can do either."""

from __future__ import annotations

from tests.cli.servers.healthy import Json
from tests.cli.servers.stateless import Stateless


class DiscoverMissing(Stateless):
    def answer(self, method: str, params: Json) -> Json:
        if method == "initialize":
            return {"error": self.unsupported("a handshake")}
        return super().answer(method, params)

    def serve(self, method: str) -> Json:
        return super().serve("nothing" if method == "server/discover" else method)


if __name__ == "__main__":
    DiscoverMissing().run()
