"""What is told on stderr while the command works: progress, the server's log, its own stderr."""

from __future__ import annotations

import logging
import shutil
import sys
from collections.abc import Collection, Generator
from contextlib import contextmanager
from types import TracebackType
from typing import Any

from anywire.cli.failure import write_stderr
from anywire.cli.output import visible
from anywire.transport.redact import without_values
from anywire.wire.value import encode_value

__all__ = ("Status",)


class Status:
    """Tells what goes on.  On a terminal the newest report of progress takes the place of the last.

    Use it as `with`: it also takes what anywire itself logs meanwhile.  None of the `secrets` is told.
    """

    def __init__(self, *, verbose: bool = False, secrets: Collection[str] = ()) -> None:
        self._secrets = secrets
        self._terminal = sys.stderr is not None and sys.stderr.isatty()  # stderr may be closed
        self._verbose = verbose
        self._passing = False  # a line is shown that the next one takes the place of
        self._held = False  # a person is typing
        self._handler = _Handler(self)

    def __enter__(self) -> Status:
        log = logging.getLogger("anywire")
        self._handler.setLevel(logging.INFO if self._verbose else logging.WARNING)
        self._before = log.level
        if self._verbose and log.getEffectiveLevel() > logging.INFO:
            log.setLevel(logging.INFO)
        log.addHandler(self._handler)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        log = logging.getLogger("anywire")
        log.removeHandler(self._handler)
        log.setLevel(self._before)
        self.clear()

    def say(self, sentence: str) -> None:
        """Say something that stays."""
        self.clear()
        self._write(f"anywire: {visible(sentence)}\n".encode("utf-8", "backslashreplace"))

    def passing(self, text: str) -> None:
        """Show something that the next report takes the place of; nothing where there is no terminal."""
        if self._terminal and not self._held:
            columns = shutil.get_terminal_size().columns
            told = without_values(text.encode("utf-8", "backslashreplace"), self._secrets).decode()
            line = visible(told.replace("\n", " "))[: max(columns - 1, 10)]
            self._passing = True
            write_stderr(b"\r\x1b[K" + line.encode("utf-8", "backslashreplace"))

    @contextmanager
    def held(self) -> Generator[None]:
        """Show nothing in passing meanwhile: a person is typing in that line."""
        self.clear()
        self._held = True
        try:
            yield
        finally:
            self._held = False

    def clear(self) -> None:
        """Take away what was only passing."""
        if self._passing:
            self._passing = False
            write_stderr(b"\r\x1b[K")

    def progress(self, progress: float, total: float | None, message: str | None) -> None:
        """Tell a report of progress: in passing on a terminal, as a line elsewhere."""
        share = f"{progress:.10g}" if total is None else f"{progress:.10g}/{total:.10g}"
        text = f"progress {share}" + (f": {message}" if message else "")
        if self._terminal:
            self.passing(text)
        else:
            self.say(text.replace("\n", " "))

    def log(self, params: dict[str, Any]) -> None:
        """Tell a log message of the server."""
        data = params.get("data")
        text = data if isinstance(data, str) else encode_value(data).decode()
        logger = params.get("logger")
        source = f" ({logger})" if logger else ""
        self.say(f"server {params.get('level', 'log')}{source}: {text}")

    def server_stderr(self, line: bytes) -> None:
        """Pass on a line of the server's stderr when more was asked for."""
        if self._verbose:
            self.clear()
            self._write(line + b"\n")

    def _write(self, data: bytes) -> None:
        write_stderr(without_values(data, self._secrets))


class _Handler(logging.Handler):
    """Tells what anywire logs, such as noise on the server's stdout."""

    def __init__(self, status: Status) -> None:
        super().__init__()
        self._status = status

    def emit(self, record: logging.LogRecord) -> None:
        self._status.say(record.getMessage())
