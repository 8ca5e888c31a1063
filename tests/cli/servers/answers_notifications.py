"""Answers what has no id."""

from __future__ import annotations

from tests.cli.servers.healthy import Healthy, Json


class AnswersNotifications(Healthy):
    def notification(self, message: Json) -> None:
        self.reply(None, {"error": {"code": -32601, "message": "Method not found"}})


if __name__ == "__main__":
    AnswersNotifications().run()
