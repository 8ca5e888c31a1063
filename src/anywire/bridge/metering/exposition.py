"""What the meters say, in the formats that Prometheus reads.

Everything is made from the meters' own numbers when somebody asks.  Whoever never does needs no
`prometheus_client`.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import inf
from typing import Final

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from anywire._version import __version__
from anywire.bridge.metering.meter import State
from anywire.bridge.metering.meters import Meters

__all__ = ("exposition",)

_SERVER: Final = ["server"]


def exposition(meters: Meters, accept: str, wall: float) -> tuple[bytes, str]:
    """Return what the meters say and its media type, in the format that an `Accept` header prefers.

    `wall` is the time in seconds since 1970.  Many servers take many milliseconds: it may be called in
    another thread than the one that counts.
    """
    encode, content_type = choose_encoder(accept)
    return encode(_Collector(meters, wall)), content_type


class _Collector(Collector):
    def __init__(self, meters: Meters, wall: float) -> None:
        self._meters = meters
        self._wall = wall

    def collect(self) -> Iterable[Metric]:
        yield from self._process()
        yield self._states()
        yield from self._counters()
        yield from self._gauges()
        yield from self._calls()

    def _process(self) -> Iterable[Metric]:
        build = GaugeMetricFamily(
            "anywire_build_info", "Always 1; which version of anywire serves.", labels=["version"]
        )
        build.add_metric([__version__], 1)
        yield build
        since = self._wall - (self._meters.clock() - self._meters.since)
        yield GaugeMetricFamily(
            "anywire_start_time_seconds", "When the process began to serve, since 1970.", since
        )
        yield GaugeMetricFamily(
            "anywire_sessions", "Sessions of clients over HTTP that are open.", self._meters.count_sessions()
        )

    def _states(self) -> Metric:
        states = GaugeMetricFamily(
            "anywire_server_state",
            "1 for the state in which a server is, 0 for the others.",
            labels=["server", "state"],
        )
        for meter in self._meters:
            for state in State:
                states.add_metric([meter.name, state.value], float(meter.state is state))
        return states

    def _counters(self) -> Iterable[Metric]:
        starts = CounterMetricFamily(
            "anywire_server_starts",
            "Conversations with a server that were begun: child processes started, connections over HTTP.",
            labels=_SERVER,
        )
        restarts = CounterMetricFamily(
            "anywire_server_restarts", "Those of the starts that came after a loss.", labels=_SERVER
        )
        noise = CounterMetricFamily(
            "anywire_server_noise_lines",
            "Lines on a server's stdout, and other things it sent, that are no messages.",
            labels=_SERVER,
        )
        for meter in self._meters:
            starts.add_metric([meter.name], meter.starts)
            restarts.add_metric([meter.name], meter.restarts)
            noise.add_metric([meter.name], meter.noise_lines)
        return starts, restarts, noise

    def _gauges(self) -> Iterable[Metric]:
        now = self._meters.clock()
        children = GaugeMetricFamily(
            "anywire_server_children", "Child processes of a server that run.", labels=_SERVER
        )
        sessions = GaugeMetricFamily(
            "anywire_server_sessions", "Sessions of clients that use a server.", labels=_SERVER
        )
        in_flight = GaugeMetricFamily(
            "anywire_calls_in_flight", "Requests to a server that wait for their answer.", labels=_SERVER
        )
        uptime = GaugeMetricFamily(
            "anywire_server_uptime_seconds",
            "For how long at least one conversation with a server has been open; 0 where none is.",
            labels=_SERVER,
        )
        failed = GaugeMetricFamily(
            "anywire_server_last_error_time_seconds",
            "When something last went wrong with a server, since 1970; absent where nothing has.",
            labels=_SERVER,
        )
        for meter in self._meters:
            name = [meter.name]
            children.add_metric(name, meter.children)
            sessions.add_metric(name, meter.sessions)
            in_flight.add_metric(name, meter.in_flight)
            uptime.add_metric(name, meter.uptime(now))
            if meter.last_error is not None:
                failed.add_metric(name, self._wall - (now - meter.last_error.at))
        return children, sessions, in_flight, uptime, failed

    def _calls(self) -> Iterable[Metric]:
        calls = CounterMetricFamily(
            "anywire_calls", "Requests that were sent to a server.", labels=["server", "method"]
        )
        errors = CounterMetricFamily(
            "anywire_call_errors",
            "Requests that failed: a JSON-RPC code, tool (isError), lost, cancelled, timed_out, "
            "unusable_reply or other.",
            labels=["server", "method", "kind"],
        )
        seconds = HistogramMetricFamily(
            "anywire_call_duration_seconds",
            "How long requests took that were answered, with a result or an error.",
            labels=["server", "method"],
        )
        for meter in self._meters:
            for method, counted in list(meter.methods.items()):
                calls.add_metric([meter.name, method], counted.count)
                for kind, number in list(counted.errors.items()):
                    errors.add_metric([meter.name, method, kind], number)
                buckets = [(_bound(most), number) for most, number in counted.cumulated().items()]
                seconds.add_metric([meter.name, method], buckets, counted.seconds)
        return calls, errors, seconds


def _bound(seconds: float) -> str:
    return "+Inf" if seconds == inf else str(seconds)
