"""Keeps ids in doubles, as JavaScript does."""

from __future__ import annotations

from tests.cli.servers.healthy import Healthy, Json


class BigIds(Healthy):
    def reply(self, id: object, member: Json) -> None:
        super().reply(int(float(id)) if isinstance(id, int) else id, member)


if __name__ == "__main__":
    BigIds().run()
