"""Passes over what it cannot parse."""

from __future__ import annotations

from tests.cli.servers.healthy import Healthy


class MalformedUnanswered(Healthy):
    def malformed(self, text: bytes) -> None:
        pass


if __name__ == "__main__":
    MalformedUnanswered().run()
