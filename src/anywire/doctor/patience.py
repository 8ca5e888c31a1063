"""How long a server under examination is waited for."""

from __future__ import annotations

import msgspec

__all__ = ("Patience",)


class Patience(msgspec.Struct, frozen=True, kw_only=True):
    """Times in seconds; change with `msgspec.structs.replace`."""

    #: The first answer, at most.  Beyond the ten seconds after which many clients give up.
    start_seconds: float = 15.0
    #: A server that is silent and idle for so long is asked in another way.
    silent_seconds: float = 2.0
    #: A server that used no processor time for so long is idle.
    idle_seconds: float = 1.0
    #: The answer to any later request.
    answer_seconds: float = 10.0
    #: An answer that is still missing when a later request has had its own.
    overdue_seconds: float = 1.0
    #: The server's leaving after the end of its input, and again after SIGTERM.
    leave_seconds: float = 2.0
    #: What it started may leave after it within this time.
    stragglers_seconds: float = 0.5
    #: Over HTTP: the head of the stream that a GET opens.
    head_seconds: float = 3.0
    #: ... and how long that stream is watched for an early end.
    stream_seconds: float = 0.5
    #: A first answer later than this is slow ...
    slow_seconds: float = 2.0
    #: ... and later than this is too slow for many clients.
    very_slow_seconds: float = 10.0
