"""Does not answer a client whose revision it does not know."""

from __future__ import annotations

from tests.cli.servers.healthy import REVISIONS, Healthy, Json


class RevisionSilence(Healthy):
    def request(self, message: Json) -> None:
        asked = message.get("params", {}).get("protocolVersion", REVISIONS[0])
        if asked in REVISIONS:
            super().request(message)


if __name__ == "__main__":
    RevisionSilence().run()
