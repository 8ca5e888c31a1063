"""Takes the end of its input for an error."""

from __future__ import annotations

import sys

from tests.cli.servers.healthy import Healthy


class ExitCode(Healthy):
    def run(self) -> None:
        super().run()
        sys.exit("EOFError: the client has gone")


if __name__ == "__main__":
    ExitCode().run()
