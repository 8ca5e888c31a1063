"""The driver of a server on stdio: it builds its messages beforehand and counts the lines that come back."""

from __future__ import annotations

import json
import os
import select
import time
from collections.abc import Callable

from bench.child import Child
from bench.cost import cpu_seconds, family
from bench.message import INITIALIZE, INITIALIZED, TEXT, Era, call

__all__ = ("Pipe",)

CHUNK = 1 << 20
PATIENCE = 30.0
"""Seconds of silence after which a server is given up."""
BLOCK = 500
"""Messages that are sent together when it is counted how many a server answers in a second."""


class Pipe:
    """A conversation with a child over its stdin and stdout."""

    def __init__(self, child: Child, era: Era) -> None:
        self._child = child
        self._era: Era = era
        self._in, self._out = child.stdin.fileno(), child.stdout.fileno()
        os.set_blocking(self._in, False)
        self._room = select.poll()
        self._room.register(self._out, select.POLLIN)
        self._room.register(self._in, select.POLLOUT)
        self._heard = select.poll()
        self._heard.register(self._out, select.POLLIN)

    def open(self) -> None:
        """Shake hands where the era has that, and see that `echo` is answered.  Raises `ChildFailed`."""
        if self._era == "legacy":
            self.greet()
            self.exchange(INITIALIZED + b"\n", 0)
        if TEXT.encode() not in (reply := self.ask(call(1, self._era) + b"\n")):
            raise self._child.failed(f"a wrong answer came: {reply[:300]!r}")

    def greet(self) -> None:
        """Send `initialize` and see that it is answered."""
        if "result" not in json.loads(self.ask(INITIALIZE + b"\n")):
            raise self._child.failed("initialize was refused")

    def ask(self, line: bytes) -> bytes:
        """Send one line and return the line that comes back."""
        if len(line) > 4096:
            return self.exchange(line, 1, keep=True)
        try:
            os.write(self._in, line)
        except OSError as error:
            raise self._child.failed(f"nothing can be written: {error}") from error
        reply = os.read(self._out, CHUNK)
        if reply.endswith(b"\n"):
            return reply
        return reply + self._rest()

    def _rest(self) -> bytes:
        parts = [self._read()]
        while not parts[-1].endswith(b"\n"):
            parts.append(self._read())
        return b"".join(parts)

    def _read(self) -> bytes:
        if not self._heard.poll(PATIENCE * 1000):
            raise self._child.failed(f"nothing came for {PATIENCE:g} s")
        if chunk := os.read(self._out, CHUNK):
            return chunk
        raise self._child.failed("the output ended")

    def exchange(self, data: bytes, lines: int, *, keep: bool = False) -> bytes:
        """Send data while reading, until so many lines have come back and all is sent."""
        rest, parts = memoryview(data), list[bytes]()
        while lines > 0 or rest:
            ready = (self._room if rest else self._heard).poll(PATIENCE * 1000)
            if not ready:
                raise self._child.failed(f"nothing came for {PATIENCE:g} s, {lines} answers are missing")
            for descriptor, events in ready:
                if descriptor == self._in:
                    rest = self._write(rest)
                elif events & (select.POLLIN | select.POLLHUP):
                    chunk = self._read()
                    lines -= chunk.count(b"\n")
                    if keep:
                        parts.append(chunk)
        return b"".join(parts)

    def _write(self, rest: memoryview) -> memoryview:
        try:
            return rest[os.write(self._in, rest[: 1 << 18]) :]
        except BlockingIOError:
            return rest
        except OSError as error:
            raise self._child.failed(f"nothing can be written: {error}") from error

    def serial(self, seconds: float) -> list[float]:
        """Call one after the other and return the seconds that each took."""
        lines = [call(10 + number, self._era) + b"\n" for number in range(1000)]
        took: list[float] = []
        clock = time.perf_counter
        for line in lines[:20]:
            self.ask(line)
        end = clock() + seconds
        while (began := clock()) < end or len(took) < 5:
            self.ask(lines[len(took) % 1000])
            took.append(clock() - began)
        return took

    def blocks(self, seconds: float) -> tuple[float, float]:
        """Send blocks of calls, each when the one before is answered: calls a second, CPU seconds a call."""
        lines = [call(10_000 + number, self._era) + b"\n" for number in range(BLOCK)]
        began = time.perf_counter()
        self.exchange(b"".join(lines[:50]), 50)
        # One who is slow gets smaller blocks, so that the time is kept.
        few = (time.perf_counter() - began) / 50 * BLOCK > seconds / 2
        size = 50 if few else BLOCK
        data = b"".join(lines[:size])
        return self._measured(lambda: self.exchange(data, size), size, seconds)

    def windows(self, width: int, seconds: float) -> tuple[float, float]:
        """Keep so many calls unanswered at a time: calls a second, CPU seconds a call."""
        lines = [call(10_000 + number, self._era) + b"\n" for number in range(8 * width)]
        self.exchange(b"".join(lines[:width]), width)

        def turn() -> None:
            os.write(self._in, b"".join(lines[:width]))
            sent, got = width, 0
            while got < len(lines):
                answered = self._read().count(b"\n")
                got += answered
                if more := lines[sent : sent + answered]:
                    os.write(self._in, b"".join(more))
                    sent += len(more)

        return self._measured(turn, len(lines), seconds)

    def _measured(self, turn: Callable[[], object], calls: int, seconds: float) -> tuple[float, float]:
        pids = family(self._child.pid)
        turns, before, began = 0, cpu_seconds(pids), time.perf_counter()
        while (took := time.perf_counter() - began) < seconds:
            turn()
            turns += 1
        done = turns * calls
        return done / took, (cpu_seconds(pids) - before) / done
