"""What the meters say, as documents: plain data that JSON has."""

from __future__ import annotations

from anywire._version import __version__
from anywire.bridge.metering.meter import ServerMeter
from anywire.bridge.metering.meters import Meters
from anywire.bridge.metering.wall_time import rfc3339

__all__ = ("health_of", "status_of")


def health_of(meters: Meters) -> dict[str, object]:
    """Say whether the process serves, and nothing that is nobody's business."""
    return {
        "status": "shutting_down" if meters.closing else "serving",
        "version": __version__,
        "uptime_seconds": _rounded(meters.clock() - meters.since),
    }


def status_of(meters: Meters, wall: float, *, plain: bool) -> dict[str, object]:
    """Say what the process and each of its servers does; `wall` is the time now, in seconds since 1970.

    `plain`: whoever asks may be anybody, and is told of errors only how it went wrong.
    """
    now = meters.clock()
    return {
        "process": {
            **health_of(meters),
            "since": rfc3339(wall - (now - meters.since)),
            "sessions": meters.count_sessions(),
        },
        "servers": [_server(meter, now, wall, plain=plain) for meter in meters],
    }


def _server(meter: ServerMeter, now: float, wall: float, *, plain: bool) -> dict[str, object]:
    document: dict[str, object] = {
        "name": meter.name,
        "state": meter.state.value,
        "since": rfc3339(wall - (now - meter.since)),
        "uptime_seconds": _rounded(meter.uptime(now)),
        "starts": meter.starts,
        "restarts": meter.restarts,
        "children": meter.children,
        "sessions": meter.sessions,
        "calls": sum(calls.count for calls in meter.methods.values()),
        "in_flight": meter.in_flight,
        "errors": sum(sum(calls.errors.values()) for calls in meter.methods.values()),
        "noise_lines": meter.noise_lines,
        "last_error": None,
        "methods": {
            name: {
                "calls": calls.count,
                "answered": calls.answered,
                "seconds": _rounded(calls.seconds),
                "errors": dict(calls.errors),
            }
            for name, calls in meter.methods.items()
        },
    }
    if meter.reason and not plain:
        document["reason"] = meter.reason
    if meter.last_error is not None:
        document["last_error"] = {
            "time": rfc3339(wall - (now - meter.last_error.at)),
            "text": meter.last_error.plain if plain else meter.last_error.text,
        }
    return document


def _rounded(seconds: float) -> float:
    return round(seconds, 6)
