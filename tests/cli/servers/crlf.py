"""Takes a carriage return for a part of the message."""

from __future__ import annotations

from tests.cli.servers.healthy import Healthy


class Crlf(Healthy):
    def receive(self, line: bytes) -> None:
        if line.endswith(b"\r\n"):
            self.malformed(line)
        else:
            super().receive(line)


if __name__ == "__main__":
    Crlf().run()
