"""Servers that are broken as servers of ordinary people are, one fault each: the diagnosis is right.

The programs are written by hand and know nothing of anywire.
"""

from __future__ import annotations

import asyncio
import ssl
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import msgspec
import pytest

from anywire.doctor.patience import Patience
from anywire.doctor.report import Report
from anywire.doctor.target import examine_target
from anywire.transport.command import Command
from anywire.wire.framing import Framing
from tests.cli.commands import ROOT
from tests.doctor.broken import web

#: On stdio: the fault, and what is to be found.
LINES = {
    "banner": "noise",
    "block_buffer": "buffered",
    "content_length": "header-framing",
    "no_key": "exits-early",
    "wrong_door": "stderr-only",
    "pretty": "several-lines",
    "text_ids": "ids-changed",
    "union": "tool-schema-top",
    "nothing_in_list": "tool-schema-part",
    "no_handshake": "discover-missing",
    "only_its_own": "newest-refused",
    "short_lines": "long-message",
    "stays": "ignores-eof",
}
#: On stdio, in what is said: the fault, and what is to be found.
TALK = {
    "in_arrays": "bad-message",
    "no_line_feed": "no-line-feed",
    "code_page": "not-utf-8",
    "twice": "answers-twice",
    "old_version": "bad-message",
    "no_ids": "bad-message",
    "ids_of_its_own": "ids-changed",
    "bare_capability": "initialize-result",
    "no_error": "bad-message",
    "pong": "bad-message",
    "text_error": "bad-message",
    "text_code": "bad-message",
    "text_hint": "tool-member",
    "same_page": "tools-list",
    "no_list": "tools-list",
    "dies_of_notifications": "exits-later",
    "dies_of_a_list": "exits-later",
    "dies_of_a_handshake": "exits-later",
    "one_message": "exits-later",
    "hangs_up": "closes-stdout",
    "one_read": "reads-pieces",
    "echo_first": "echo",
    "answers_nobody": "answers-notifications",
    "slow_talk": "serialised",
}
#: Over HTTP: the fault, and what is to be found.
WEB: dict[type[web.Plain], str] = {
    web.AtTheTop: "wrong-path",
    web.OnlyPages: "wrong-path",
    web.OldStream: "old-transport",
    web.WantsJsonOnly: "accept-refused",
    web.WantsCharset: "body-type-refused",
    web.AnotherWorker: "session-sometimes",
    web.LostAtOnce: "session-forgotten",
    web.OldVersions: "version-refused",
    web.NoGuard: "host",
    web.StrictGuard: "host-refused",
    web.Found: "redirect-method",
    web.ToTls: "redirect-elsewhere",
    web.Text: "content-type",
    web.Compressed: "stream-compressed",
    web.Locked: "authorization",
    web.Mixed: "mirror-refused",
    web.Batches: "bad-message",
    web.Mark: "bom-written",
    web.Unfinished: "event-unfinished",
    web.OwnIds: "ids-changed",
    web.Characters: "body-length",
    web.SaysPage: "content-type",
    web.KeepsSession: "session-missing",
    web.Circle: "redirect-loop",
    web.Unmarked: "coding-broken",
}
#: What is there as well by the nature of the fault, and no heavier.
AS_WELL = {"authorization": {"challenge"}, "discover-missing": {"stateless-only"}}
#: What is no program of the folder by itself, and what is to be found.
ELSEWHERE = {
    "echo": "echo",
    "proxy": "stream-buffered",
    "tls": "no-http",
    "certificate": "tls",
    "slow": "very-slow-start",
    "usage": "exits-early",
    "headers": "framing-given",
    "crash": "gone",
}

PATIENCE = Patience(
    start_seconds=4.0,
    silent_seconds=0.8,
    idle_seconds=0.5,
    overdue_seconds=0.5,
    answer_seconds=2.0,
    leave_seconds=1.0,
    head_seconds=1.0,
    stream_seconds=0.2,
)
SLOW = msgspec.structs.replace(PATIENCE, slow_seconds=0.0, very_slow_seconds=0.0)
AT_ONCE = 16
"""So many servers are examined at once."""


def lines(fault: str) -> Command:
    """A server on stdio with this fault."""
    module = f"tests.doctor.broken.{'talk' if fault in TALK else 'lines'}"
    words = (sys.executable, "-S", "-m", module, fault)
    return Command(words, cwd=str(ROOT))


@asynccontextmanager
async def served(server: web.Plain) -> AsyncGenerator[str]:
    """A server over HTTP; yields its address."""
    async with web.listening(server.converse) as port:
        server.port = port
        yield f"http://127.0.0.1:{port}/mcp"


async def examined_web(fault: type[web.Plain]) -> Report:
    """The report on a server over HTTP."""
    async with served(fault()) as url:
        return await examine_target(url, patience=PATIENCE)


async def examined_elsewhere(what: str) -> Report:
    """The report on what is no program of the folder by itself."""
    match what:
        case "echo":
            return await examine_target(Command(("cat",)), patience=PATIENCE)
        case "headers":
            plain = lines("plain_server")
            return await examine_target(plain, framing=Framing.HEADERS, patience=PATIENCE)
        case "crash":
            server = web.GoesAway()
            async with await asyncio.start_server(server.converse, "127.0.0.1", 0) as server.listener:
                server.port = server.listener.sockets[0].getsockname()[1]
                return await examine_target(f"http://127.0.0.1:{server.port}/mcp", patience=PATIENCE)
        case "slow":
            return await examine_target(lines("plain_server"), patience=SLOW)
        case "usage":
            words = "print('usage: weather [-h] {stdio,http}'); raise SystemExit(2)"
            return await examine_target(Command((sys.executable, "-S", "-c", words)), patience=PATIENCE)
        case "certificate":
            folder = ROOT / "tests" / "http" / "certificates"
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(folder / "certificate.pem", folder / "key.pem")
            async with web.listening(web.Plain().converse, context) as port:
                return await examine_target(f"https://127.0.0.1:{port}/mcp", patience=PATIENCE)
        case "tls":
            async with web.listening(web.no_http) as port:
                return await examine_target(f"http://127.0.0.1:{port}/mcp", patience=PATIENCE)
        case _:
            server = web.Plain()
            async with (
                web.listening(server.converse) as behind,
                web.listening(web.Proxy(behind).converse) as port,
            ):
                server.port = port  # the name in Host is that of the proxy
                return await examine_target(f"http://127.0.0.1:{port}/mcp", patience=PATIENCE)


EXPECTED = {**LINES, **TALK, **{fault.__name__: check for fault, check in WEB.items()}, **ELSEWHERE}


@pytest.fixture(scope="module")
def reports() -> dict[str, Report]:
    """The report on every server.  They are waited for, mostly, so a few are examined at once."""
    few = asyncio.Semaphore(AT_ONCE)

    async def one(name: str) -> Report:
        async with few:
            if name in LINES or name in TALK:
                return await examine_target(lines(name), patience=PATIENCE)
            by_name = {fault.__name__: fault for fault in WEB}
            return await (examined_web(by_name[name]) if name in by_name else examined_elsewhere(name))

    async def all_of_them() -> list[Report]:
        return await asyncio.gather(*map(one, EXPECTED))

    return dict(zip(EXPECTED, asyncio.run(all_of_them()), strict=True))


@pytest.mark.parametrize("name", EXPECTED)
def test_the_heaviest_finding_is_the_fault_and_no_other_is_wrong(
    name: str, reports: dict[str, Report]
) -> None:
    """One fault, one diagnosis, and not a word too much."""
    first, *others = [finding.check.id for finding in reports[name].findings]

    assert first == EXPECTED[name]
    assert set(others) <= AS_WELL.get(first, set())
    assert reports[name].trifles == ()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("banner", "✓ Weather server is running on stdio"),
        ("no_key", "its last words: Error: the variable API_KEY is not set"),
        ("usage", "on stdout it had written 'usage: weather"),
        ("certificate", "certificate verify failed"),
        ("nothing_in_list", "'add': /properties/numbers/items is null"),
        ("only_its_own", "it agrees to 2025-06-18"),
        ("AtTheTop", "/ a server answers"),
        ("OldStream", "/sse names an endpoint"),
        ("WantsJsonOnly", "with Accept: application/json it is taken"),
        ("AnotherWorker", "of 6 times at once"),
        ("OldVersions", "MCP-Protocol-Version: 2025-11-25; with 2025-06-18 it is taken"),
        ("Found", "HTTP 302, to http://127.0.0.1"),
        ("tls", "if TLS is spoken there, the address begins with https://"),
    ],
)
def test_a_diagnosis_says_what_it_rests_on(name: str, expected: str, reports: dict[str, Report]) -> None:
    """What was sent, what came, and what would help."""
    assert expected in reports[name].findings[0].found


def test_a_server_that_takes_its_time_for_each_answer_is_healthy(reports: dict[str, Report]) -> None:
    """That it answers one request after the other is worth a note, and no more."""
    assert reports["slow_talk"].healthy


async def test_the_same_servers_without_their_faults_are_healthy() -> None:
    """So it is the fault that is found."""
    on_stdio = await examine_target(lines("plain_server"), patience=PATIENCE)
    async with served(web.Plain()) as url:
        over_http = await examine_target(url, patience=PATIENCE)

    assert [(report.findings, report.trifles) for report in (on_stdio, over_http)] == [((), ()), ((), ())]
