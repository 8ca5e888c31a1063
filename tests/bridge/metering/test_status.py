"""What the meters say, as documents."""

from __future__ import annotations

import re

from anywire import __version__
from anywire.bridge.metering.conversation import MeteredConversation
from anywire.bridge.metering.exposition import exposition
from anywire.bridge.metering.meter import ServerMeter
from anywire.bridge.metering.meters import Meters
from anywire.bridge.metering.status import health_of, status_of
from anywire.errors import ProcessExited
from anywire.wire.message import create_request, create_response
from anywire.wire.value import encode_value

#: 2026-11-30T10:00:00Z.
WALL = 1_796_032_800.0


class Clock:
    """A clock that a test turns."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        """The time."""
        return self.now


def crashed() -> tuple[Meters, ServerMeter]:
    """Meters of a server that was called twice, and then crashed; it is ten seconds ago."""
    clock = Clock()
    meters = Meters(clock)
    notes = meters.of("notes")
    conversation = MeteredConversation(notes, is_child=True)
    conversation.starting(clock.now)
    conversation.started(clock.now)
    conversation.sent(create_request(1, "tools/call"), clock.now)
    conversation.received(create_response(1, {}), clock.now + 0.25)
    conversation.sent(create_request(2, "tools/call"), clock.now)
    clock.now = 140.0
    conversation.lost(ProcessExited("serve notes", 3, "the disk is full"), clock.now)
    clock.now = 150.0
    return meters, notes


def test_health_tells_whether_it_serves_and_no_more() -> None:
    """Neither names nor errors of servers."""
    meters, _ = crashed()
    assert health_of(meters) == {"status": "serving", "version": __version__, "uptime_seconds": 50.0}

    meters.closing = True

    assert health_of(meters)["status"] == "shutting_down"


def test_the_status_has_everything_of_each_server() -> None:
    """Times of day are of the wall clock, and hold when that was set meanwhile."""
    meters, _ = crashed()
    meters.count_sessions = lambda: 2
    meters.of("idle").disable("the file says so", meters.clock())

    status = status_of(meters, WALL, plain=False)

    assert status["process"] == {
        "status": "serving",
        "version": __version__,
        "uptime_seconds": 50.0,
        "since": "2026-11-30T09:59:10.000Z",
        "sessions": 2,
    }
    servers = status["servers"]
    assert isinstance(servers, list)
    assert servers[0] == {
        "name": "notes",
        "state": "failing",
        "since": "2026-11-30T09:59:50.000Z",
        "uptime_seconds": 0.0,
        "starts": 1,
        "restarts": 0,
        "children": 0,
        "sessions": 0,
        "calls": 2,
        "in_flight": 0,
        "errors": 1,
        "noise_lines": 0,
        "last_error": {
            "time": "2026-11-30T09:59:50.000Z",
            "text": "serve notes exited with code 3; its last words: the disk is full",
        },
        "methods": {
            "tools/call": {"calls": 2, "answered": 1, "seconds": 0.25, "errors": {"lost": 1}},
        },
    }
    assert (servers[1]["name"], servers[1]["state"], servers[1]["reason"]) == (
        "idle",
        "disabled",
        "the file says so",
    )


def test_strangers_are_told_how_it_went_wrong_and_no_more() -> None:
    """Not what was run, nor its last words, nor why its owner does not want it."""
    meters, notes = crashed()
    notes.refuse("there is no /home/ann/serve", meters.clock())

    told = encode_value(status_of(meters, WALL, plain=True))

    assert b"the server behind the bridge exited with code 3; see the bridge's log" in told
    assert not re.search(rb"disk|serve notes|/home/ann", told)


def test_servers_come_and_go() -> None:
    """One that comes again begins anew."""
    meters, notes = crashed()
    assert meters.of("notes") is notes
    meters.drop("notes")
    meters.drop("notes")

    assert (len(meters), list(meters)) == (0, [])
    assert meters.of("notes").starts == 0


def test_metrics_are_what_prometheus_reads() -> None:
    """With help texts; labels of any text are escaped."""
    meters, _ = crashed()
    meters.of('a "b"\n')

    body, content_type = exposition(meters, "", WALL)

    lines = body.decode().splitlines()
    assert content_type == "text/plain; version=0.0.4; charset=utf-8"
    for line in (
        f'anywire_build_info{{version="{__version__}"}} 1.0',
        "anywire_start_time_seconds 1.79603275e+09",
        "anywire_sessions 0.0",
        'anywire_server_state{server="notes",state="failing"} 1.0',
        'anywire_server_state{server="notes",state="running"} 0.0',
        'anywire_server_starts_total{server="notes"} 1.0',
        'anywire_server_last_error_time_seconds{server="notes"} 1.79603279e+09',
        'anywire_calls_total{method="tools/call",server="notes"} 2.0',
        'anywire_call_errors_total{kind="lost",method="tools/call",server="notes"} 1.0',
        'anywire_call_duration_seconds_bucket{le="0.1",method="tools/call",server="notes"} 0.0',
        'anywire_call_duration_seconds_bucket{le="0.25",method="tools/call",server="notes"} 1.0',
        'anywire_call_duration_seconds_bucket{le="+Inf",method="tools/call",server="notes"} 1.0',
        'anywire_call_duration_seconds_sum{method="tools/call",server="notes"} 0.25',
        r'anywire_server_starts_total{server="a \"b\"\n"} 0.0',
    ):
        assert line in lines, line
    named = {line.split()[2] for line in lines if line.startswith("# HELP")}
    assert all(name.startswith("anywire_") for name in named)
    assert named == {line.split()[2] for line in lines if line.startswith("# TYPE")}


def test_metrics_come_in_the_format_that_is_asked_for() -> None:
    """What Prometheus itself asks for today."""
    meters, _ = crashed()

    body, content_type = exposition(meters, "application/openmetrics-text;version=1.0.0", WALL)

    assert content_type.startswith("application/openmetrics-text; version=1.0.0")
    assert body.endswith(b"# EOF\n")
