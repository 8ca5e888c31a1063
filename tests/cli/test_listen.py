"""`listen` from end to end: one line per event, and its end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.commands import WITHIN, anywire, server
from tests.cli.serving import listening
from tests.cli.test_signals import running, said
from tests.interop.processes import watch

GALLERY = ["--", *server("gallery")]


def test_each_event_is_a_line() -> None:
    """Lists, resources, log messages, the rest; it ends with the server."""
    done = anywire("listen", "--resource", "notes://end", *GALLERY)

    assert (done.code, done.err) == (0, "anywire: listening to Gallery\n")
    assert done.out == (
        "tools changed\n"
        "resource notes://end changed\n"
        "log info (box): two\\nlines\n"
        "elicitation 1 completed\n"
        'notifications/odd {"a": 1.5}\n'
    )


def test_as_json_each_line_is_a_notification_as_it_came() -> None:
    """Its method and its params."""
    done = anywire("listen", "--json", "--log", "debug", "--resource", "notes://end", *GALLERY)

    lines = [json.loads(line) for line in done.out.splitlines()]
    assert done.code == 0
    assert [line["method"] for line in lines] == [
        "notifications/tools/list_changed",
        "notifications/resources/updated",
        "notifications/message",
        "notifications/elicitation/complete",
        "notifications/odd",
    ]
    assert lines[2]["params"] == {"level": "info", "logger": "box", "data": "two\nlines"}


def test_a_server_that_dies_ends_it_with_1() -> None:
    """What it told before is printed; its last words are said."""
    done = anywire("listen", "--resource", "notes://crash", *GALLERY)

    assert done.code == 1
    assert done.out.startswith("tools changed\n")
    assert "exited with code 1" in done.err
    assert "the gallery fell down" in done.err


@pytest.mark.parametrize("words", [["--log", "info"], ["--resource", "notes://today"]])
def test_a_server_that_does_not_agree_ends_it_with_5(words: list[str]) -> None:
    """It cannot be asked to tell."""
    done = anywire("listen", *words, "--", *server("healthy"))

    assert (done.code, done.out) == (5, "")
    assert "Method not found" in done.err


def test_a_wrong_level_is_refused() -> None:
    """With the right one."""
    done = anywire("listen", "--log", "warn", *GALLERY)

    assert (done.code, done.out) == (2, "")
    assert "there is no level 'warn'; did you mean warning?; levels are: debug, " in done.err


@pytest.mark.chaos
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_it_and_its_server(number: signal.Signals, code: int) -> None:
    """Each line was there as soon as it was told; nobody is left behind."""
    with watch(), running("listen", "--resource", "notes://today", *GALLERY) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(5)]
        process.send_signal(number)
        out, err = process.communicate(timeout=WITHIN)

    assert lines[:2] == [b"tools changed\n", b"resource notes://today changed\n"]
    assert (process.returncode, out, err) == (code, b"", b"anywire: listening to Gallery\n")


@pytest.mark.chaos
def test_a_reader_that_leaves_ends_it() -> None:
    """As `| head -1` does."""
    with watch(), running("listen", "--resource", "notes://today", *GALLERY) as process:
        said(process, b"listening to Gallery")
        assert process.stdout is not None
        process.stdout.close()
        process.stdout = None
        process.send_signal(signal.SIGTERM)  # it may have written all before
        process.communicate(timeout=WITHIN)

    assert process.returncode in (141, 143)


COUNTER = """
import asyncio
from anywire import Context, Server

server = Server("counter")
count = 0


@server.resource("counter://now")
def now() -> int:
    return count


@server.tool
async def step(context: Context) -> None:
    global count
    count += 1
    server.resource_updated("counter://now")
    server.tool(lambda: None, name=f"step_{count}")
"""


def test_a_server_on_http_tells_over_its_stream(tmp_path: Path) -> None:
    """Another client's call is what is told of."""
    (tmp_path / "counter.py").write_text(COUNTER, encoding="utf-8")
    target = f"{tmp_path / 'counter.py'}:server"
    with watch(), listening("serve", target, "--http", "127.0.0.1:0") as served:
        with running("listen", "--resource", "counter://now", served.url) as process:
            said(process, b"listening to counter")
            assert process.stdout is not None
            assert anywire("call", "step", served.url).code == 0
            lines = {process.stdout.readline(), process.stdout.readline()}
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=WITHIN)
        served.end()

    assert lines == {b"resource counter://now changed\n", b"tools changed\n"}
    assert process.returncode == 130


def test_it_does_not_begin_with_a_closed_stdout() -> None:
    """What is told could be shown to nobody."""
    process = subprocess.run(
        [
            "sh",
            "-c",
            f'exec "{sys.executable}" -m anywire listen --resource notes://end "$@" >&-',
            "sh",
            *GALLERY,
        ],
        capture_output=True,
        timeout=WITHIN,
        check=False,
        env={**os.environ, "PYTHONUTF8": "1"},
    )

    assert (process.returncode, process.stdout) == (1, b"")
