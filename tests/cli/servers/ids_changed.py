"""Makes every id a number."""

from __future__ import annotations

from tests.cli.servers.healthy import Healthy, Json


class IdsChanged(Healthy):
    def reply(self, id: object, member: Json) -> None:
        super().reply(int(id) if isinstance(id, str) and id.isdigit() else id, member)


if __name__ == "__main__":
    IdsChanged().run()
