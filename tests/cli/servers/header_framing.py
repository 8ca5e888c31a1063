"""Speaks the framing of editors."""

from __future__ import annotations

import sys

from tests.cli.servers.healthy import Healthy


class HeaderFraming(Healthy):
    def run(self) -> None:
        stdin = sys.stdin.buffer
        while header := stdin.readline():
            if not header.lower().startswith(b"content-length:"):
                continue
            length = int(header.split(b":")[1])
            while stdin.readline().strip():
                pass
            self.receive(stdin.read(length))

    def write_bytes(self, data: bytes) -> None:
        super().write_bytes(b"Content-Length: %d\r\n\r\n%b" % (len(data), data))


if __name__ == "__main__":
    HeaderFraming().run()
