"""A command line, and why it could not be started."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from anywire.transport.environment import base_environment
from anywire.transport.redact import show_command_line

__all__ = ("Command", "why_not_started")

_SHOWN_LENGTH: Final = 200


class Command(msgspec.Struct, frozen=True):
    """What to start: `argv` without a shell, `env` merged over the base environment, `cwd`.

    `inherit_env` takes this process's whole environment for the base.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str] = msgspec.field(default_factory=dict[str, str])
    cwd: str | None = None
    inherit_env: bool = False

    def __str__(self) -> str:
        """Return the command line for people: without its secrets, without the middle of a long one."""
        line = " ".join(show_command_line(self.argv).split())
        return line if len(line) <= _SHOWN_LENGTH else f"{line[: _SHOWN_LENGTH - 43]} … {line[-40:]}"

    def environment(self) -> dict[str, str]:
        """Return the environment the child gets.

        Python writes in blocks to a pipe unless told otherwise, which would keep replies back.
        """
        base = dict(os.environ) if self.inherit_env else base_environment(os.environ)
        return {"PYTHONUNBUFFERED": "1", **base, **self.env}


def why_not_started(command: Command, error: OSError | ValueError) -> str:
    """Say in a sentence why starting this failed with that."""
    program = command.argv[0] if command.argv else ""
    start = f"{command} was not started: "
    if command.cwd is not None and not Path(command.cwd).is_dir():
        return f"{start}there is no folder {command.cwd}"
    match error:
        case FileNotFoundError() if (script := _interpreted(command, program)) is not None:
            return f"{start}the interpreter that {str(script)!r} names in its first line was not found"
        case FileNotFoundError():
            path = command.environment().get("PATH", "")
            where = "" if "/" in program else f" on the PATH {path!r}"
            return f"{start}no program {program!r} was found{where}"
        case PermissionError():
            return f"{start}{program!r} may not be executed"
        case OSError(errno=errno.ENOEXEC):
            return f"{start}{program!r} is no program that this system can execute"
        case _:
            return f"{start}{error}"


def _interpreted(command: Command, program: str) -> Path | None:
    """Return the script that is there, though the system says that something is not."""
    if "/" in program:
        path = Path(command.cwd or ".") / program
    else:
        path = Path(shutil.which(program, path=command.environment().get("PATH", "")) or "/nowhere")
    return path if path.is_file() else None
