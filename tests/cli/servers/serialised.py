"""Takes its time over a list, and does nothing else meanwhile."""

from __future__ import annotations

import time

from tests.cli.servers.healthy import Healthy, Json


class Serialised(Healthy):
    def answer(self, method: str, params: Json) -> Json:
        if method == "tools/list":
            time.sleep(0.15)
        return super().answer(method, params)


if __name__ == "__main__":
    Serialised().run()
