"""Servers on stdio that talk as clients do not expect: `python -m tests.doctor.broken.talk FAULT`."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from tests.doctor.broken.lines import flushed, plain, serve
from tests.doctor.broken.speak import ADD, PARSE_ERROR, Json, answer


def spoiled(method: str, spoil: Callable[[Json], object]) -> None:
    """Serve, and do that to each answer to this method."""

    def told(message: Json) -> Json | None:
        reply = plain(message)
        if reply is not None and message["method"] == method:
            spoil(reply)
        return reply

    serve(told)


def written(text: Callable[[str], str], encoding: str = "utf-8", end: bytes = b"\n") -> None:
    """Serve, and write each message in this way."""

    def write(message: Json) -> None:
        line = text(json.dumps(message, ensure_ascii=False)).encode(encoding)
        sys.stdout.buffer.write(line + end)
        sys.stdout.flush()

    serve(plain, write)


def in_arrays() -> None:
    """Writes batches of one."""
    written(lambda text: f"[{text}]")


def no_line_feed() -> None:
    """Writes no end of a line."""
    written(str, end=b"")


def code_page() -> None:
    """Writes what Windows wrote in another century."""
    written(str, "cp1252")


def twice() -> None:
    """Writes each answer once more."""
    written(lambda text: f"{text}\n{text}")


def old_version() -> None:
    """Speaks JSON-RPC 1.0."""
    written(lambda text: text.replace('"2.0"', '"1.0"', 1))


def no_ids() -> None:
    """Forgets to whom it answers."""
    spoiled("initialize", lambda reply: reply.update(id=None))


def ids_of_its_own() -> None:
    """Counts by itself."""
    spoiled("initialize", lambda reply: reply.update(id=1000 + int(reply["id"])))


def bare_capability() -> None:
    """Says yes where an object belongs."""
    spoiled("initialize", lambda reply: reply["result"].update(capabilities={"tools": True}))


def no_error() -> None:
    """Says in each answer that nothing went wrong."""
    spoiled("tools/list", lambda reply: reply.update(error=None))


def pong() -> None:
    """Answers ping as people would."""
    spoiled("ping", lambda reply: reply.update(result="pong"))


def text_error() -> None:
    """Says what is wrong, and nothing else."""
    spoiled("anywire/unknown", lambda reply: reply.update(error="no such method"))


def text_code() -> None:
    """Writes numbers as text."""
    spoiled("anywire/unknown", lambda reply: reply["error"].update(code="-32601"))


def text_hint() -> None:
    """Writes yes for true."""
    serve(lambda message: answer(message, [{**ADD, "annotations": {"readOnlyHint": "yes"}}]))


def same_page() -> None:
    """Leads to the page that was read."""
    spoiled("tools/list", lambda reply: reply["result"].update(nextCursor=""))


def no_list() -> None:
    """Takes its tools from a place that does not answer."""
    serve(lambda message: None if message.get("method") == "tools/list" else plain(message))


def dies(after: str, *, seconds: float = 0.0) -> None:
    """End with an error once that has been handled."""

    def end() -> None:
        time.sleep(seconds)
        os.write(2, b"Segmentation fault\n")
        os._exit(139)

    def told(message: Json) -> Json | None:
        if message.get("method") == after:
            reply = plain(message)
            if reply is not None:
                flushed(reply)
            threading.Thread(target=end).start() if seconds else end()
            return None
        return plain(message)

    serve(told)


def dies_of_notifications() -> None:
    """Has no handler for them."""
    dies("notifications/initialized")


def dies_of_a_list() -> None:
    """Crashes some time after it has listed its tools."""
    dies("tools/list", seconds=0.05)


def dies_of_a_handshake() -> None:
    """Shakes hands, and is gone."""
    dies("initialize", seconds=0.1)


def one_message() -> None:
    """Answers once."""
    line = sys.stdin.readline()
    flushed(plain(json.loads(line)) or {})


def hangs_up() -> None:
    """Answers initialize and closes its stdout."""

    def write(message: Json) -> None:
        flushed(message)
        os.close(1)
        time.sleep(1000)

    serve(plain, write)


def one_read() -> None:
    """Takes what it reads at once for one message."""
    while data := os.read(0, 1 << 20):
        try:
            reply: Json | None = plain(json.loads(data))
        except ValueError:
            reply = PARSE_ERROR
        if reply is not None:
            flushed(reply)


def echo_first() -> None:
    """Sends back what it gets, and answers then."""

    def told(message: Json) -> Json | None:
        flushed(message)
        return plain(message)

    serve(told)


def answers_nobody() -> None:
    """Answers notifications with a result, for nobody."""
    nothing: dict[str, Any] = {"jsonrpc": "2.0", "id": None, "result": {}}
    serve(lambda message: plain(message) if "id" in message else nothing)


def slow_talk() -> None:
    """Takes its time for each message; nothing is wrong with it."""

    def told(message: Json) -> Json | None:
        time.sleep(0.3)
        return plain(message)

    serve(told)


if __name__ == "__main__":
    globals()[sys.argv[1]]()
