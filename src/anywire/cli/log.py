"""The one door to stderr for whatever runs on: sentences for people, or lines of JSON for programs.

What the command says, what anywire logs, and what the servers behind it write on stderr all leave by it.
"""

from __future__ import annotations

import argparse
import logging
import time
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from typing import Final, Literal, TypeAlias

from anywire.bridge.report import Event
from anywire.cli.failure import document_of
from anywire.cli.stderr import Stderr
from anywire.transport.redact import without_values
from anywire.wire.value import encode_value

__all__ = ("Level", "Log", "add_log_options", "log_of", "wants_json_log")

Level: TypeAlias = Literal["debug", "info", "warning", "error"]
_LEVELS: Final[dict[Level, int]] = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
}
_FORMAT: Final = "--log-format"
#: How long the last lines may take to be read.
_LAST_SECONDS: Final = 1.0


def add_log_options(parser: argparse.ArgumentParser) -> None:
    """Add what says how it is told of what happens, and how much."""
    parser.add_argument(
        _FORMAT,
        choices=("text", "json"),
        default="text",
        metavar="FORMAT",
        help="how stderr tells what happens: text (default), or json, one object a line, for example: "
        f"{_FORMAT} json 2>>bridge.log",
    )
    parser.add_argument(
        "--log-level",
        choices=tuple(_LEVELS),
        default=None,
        metavar="LEVEL",
        help="the least that is told: debug, info (also what the servers write on stderr), warning or error, "
        "such as --log-level warning",
    )


def log_of(options: argparse.Namespace) -> Log:
    """Return the door that the options describe."""
    return Log(as_json=options.log_format == "json", level=options.log_level)


def wants_json_log(words: Iterable[str]) -> bool:
    """Say whether these words, which may be wrong ones, ask for a log in JSON."""
    before = ""
    for word in words:
        if word == f"{_FORMAT}=json" or (before == _FORMAT and word == "json"):
            return True
        before = word
    return False


class Log:
    """Tells on stderr what happens.

    `level` is the least that is told; None: all that the command itself has to say and what servers write,
    and of what is logged inside only warnings and worse.  `several`: there are several servers, so that
    text names the one that is meant; JSON always does.
    """

    def __init__(self, *, as_json: bool = False, level: Level | None = None, several: bool = False) -> None:
        self.as_json = as_json
        #: Whether text has to say which server is meant.
        self.several = several
        self._least = _LEVELS[level or "info"]
        self._least_logged = _LEVELS[level or "warning"]
        self._secrets: set[str] = set()
        self._stderr = Stderr()

    def hide(self, values: Iterable[str]) -> None:
        """Let none of these values be told: tokens, values of headers."""
        self._secrets.update(values)

    def without_secrets(self, text: bytes) -> bytes:
        """Return a text in which none of the hidden values is told."""
        return without_values(text, self._secrets) if self._secrets else text

    def tell(
        self,
        sentence: str,
        *,
        server: str | None = None,
        level: Level = "warning",
        session: int | None = None,
    ) -> None:
        """Tell a sentence, about a server or about this process.  An `Event` has members for programs."""
        if _LEVELS[level] < self._least:
            return
        if not self.as_json:
            about = f"{server}: " if self.several and server is not None else ""
            self._write(f"anywire: {about}{sentence}".encode("utf-8", "backslashreplace"))
            return
        members: dict[str, object] = {}
        if isinstance(sentence, Event):
            members = {"event": sentence.kind, **sentence.fields}
        if session is not None:
            members["session"] = session
        self._write_document(level, server, str(sentence), members)

    def line(self, line: bytes, server: str | None = None) -> None:
        """Pass on a line that a server wrote on stderr, without its line feed."""
        if self._least > logging.INFO:
            return
        if self.as_json:
            text = line.decode("utf-8", "backslashreplace")
            self._write_document("info", server, text, {"event": "stderr"})
        elif self.several and server is not None:
            self._write(server.encode("utf-8", "backslashreplace") + b": " + line)
        else:
            self._write(line)

    def reporter(self, server: str | None = None, *, level: Level = "warning") -> Callable[[str], None]:
        """Return what tells sentences about a server; None: the only one, or this process."""
        return lambda sentence: self.tell(sentence, server=server, level=level)

    def tell_failure(self, error: Exception, hint: str = "") -> int:
        """Tell what ended the process, as a line of JSON; return the exit code."""
        code, document = document_of(error, hint)
        text = str(document.pop("message"))
        name = document.pop("code")
        self._write_document("error", None, text, {"event": "failed", "code": name, **document})
        self.finish()
        return code

    def finish(self) -> None:
        """Let the last lines be read, within bounds."""
        self._stderr.finish(_LAST_SECONDS)

    @contextmanager
    def listening(self, *, modest: bool = False) -> Generator[None]:
        """Tell what is logged meanwhile, and let the last lines be read at the end.

        `modest`: text is not for a program that has set up its logging itself and would tell all twice.
        """
        if modest and logging.root.handlers and not self.as_json:
            try:
                yield
            finally:
                self.finish()
            return
        # Where that has been done, it hears of other people's loggers there.
        log = logging.getLogger("anywire") if logging.root.handlers else logging.root
        ours, handler = logging.getLogger("anywire"), _Handler(self)
        handler.setLevel(self._least_logged)
        before = ours.level
        if ours.getEffectiveLevel() > self._least_logged:
            ours.setLevel(self._least_logged)
        log.addHandler(handler)
        try:
            yield
        finally:
            log.removeHandler(handler)
            ours.setLevel(before)
            self.finish()

    def logged(self, record: logging.LogRecord, text: str) -> None:
        """Tell what was logged."""
        if self.as_json:
            level = max((each for each in _LEVELS.items() if each[1] <= record.levelno), key=lambda e: e[1])
            self._write_document(level[0], None, text, {"event": "log", "logger": record.name})
        else:
            self._write(f"anywire: {text}".encode("utf-8", "backslashreplace"))

    def _write_document(
        self, level: Level, server: str | None, message: str, members: dict[str, object]
    ) -> None:
        from anywire.bridge.metering.wall_time import rfc3339

        document: dict[str, object] = {"time": rfc3339(time.time()), "level": level}
        if server is not None:
            document["server"] = server
        self._write(encode_value({**document, **members, "message": message}).translate(None, b"\r\n"))

    def _write(self, line: bytes) -> None:
        self._stderr.write(self.without_secrets(line) + b"\n")


class _Handler(logging.Handler):
    """Tells what is logged."""

    def __init__(self, log: Log) -> None:
        super().__init__()
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        self._log.logged(record, self.format(record))
