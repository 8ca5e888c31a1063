"""Prints before and between its messages."""

from __future__ import annotations

from tests.cli.servers.healthy import Healthy, Json


class Noise(Healthy):
    def run(self) -> None:
        self.write_bytes(b"Server ready\n")
        super().run()

    def answer(self, method: str, params: Json) -> Json:
        if method == "tools/list":
            self.write_bytes(b"[debug] listing\n")
        return super().answer(method, params)


if __name__ == "__main__":
    Noise().run()
