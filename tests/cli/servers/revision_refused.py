"""Refuses a client of a revision that there is not."""

from __future__ import annotations

from tests.cli.servers.healthy import REVISIONS, Healthy, Json


class RevisionRefused(Healthy):
    def answer(self, method: str, params: Json) -> Json:
        if method == "initialize" and params["protocolVersion"] not in REVISIONS:
            return {"error": {"code": -32602, "message": "Unsupported protocol version"}}
        return super().answer(method, params)


if __name__ == "__main__":
    RevisionRefused().run()
