"""Every limit of the wire, with its reason.

A stranger may send anything; what is kept for it is bounded here and nowhere else.  Sizes are
bytes, times are seconds.  All values can be set: pass another `Limits` where one is taken.
"""

from __future__ import annotations

import math

import msgspec

__all__ = ("DEFAULT_LIMITS", "Limits")


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What one connection may cost, and how long it may take.  Immutable; change with `replace`."""

    #: One message.  Screenshots and file contents reach tens of megabytes; other readers stop at
    #: 64 KiB or 1 MiB and lose the connection.
    message_bytes: int = 64 * 1024 * 1024
    #: What is kept of a message that is too large: enough, at either end, to find its id.
    excerpt_bytes: int = 4 * 1024
    #: One block of headers in header framing.  Real ones have one or two lines.
    header_bytes: int = 8 * 1024
    #: Nesting of arrays and objects.  Rust's reader refuses 128, Python's fails near 1,000.
    depth: int = 256
    #: Members of one envelope that has to be looked at closely.  Real ones have four, and a few more.
    members: int = 1_000
    #: Messages in one batch (2025-03-26 only).
    batch_messages: int = 1_000
    #: Requests of one peer that may be unanswered at once; one more is refused.
    requests_in_flight: int = 10_000
    #: ... and of one of several clients that share a server, which together have the above.
    shared_requests: int = 1_000
    #: Replies are gathered while one chunk is handled, and written when this much has gathered.
    gather_bytes: int = 64 * 1024
    #: ... or when the oldest of them has waited this long.
    gather_seconds: float = 0.005
    #: Bytes that wait to be written before the serving side stops reading ...
    write_high_bytes: int = 1024 * 1024
    #: ... and at which it reads again.
    write_low_bytes: int = 256 * 1024
    #: What may wait for a client over HTTP+SSE that goes on not reading; more of it ends its session.
    unread_bytes: int = 64 * 1024 * 1024
    #: A request without an answer or progress.
    request_seconds: float = 60.0
    #: A request that keeps reporting progress.
    request_total_seconds: float = 1_800.0
    #: A request of a server's that a person may have to answer, or a model: nothing is slower.
    input_seconds: float = 1_800.0
    #: Calls that may wait for their client's input between two requests (2026-07-28): how many ...
    held_calls: int = 1_000
    #: ... with how much of params together ...
    held_bytes: int = 64 * 1024 * 1024
    #: ... and how long each of them.
    held_seconds: float = 900.0
    #: Rounds of input that one call may ask for.
    rounds: int = 32
    #: Resources that one client may be told the changes of.
    subscriptions: int = 1_000
    #: Events that wait for one listener of a client's; what comes beyond is left out, and that is told.
    listen_events: int = 1_000
    #: Start-up of a peer until it has answered `initialize`.
    connect_seconds: float = 10.0
    #: A server that answered nothing for so long may speak another framing, or another era.
    probe_seconds: float = 2.0
    #: A server that did not say so long whether it is of the stateless era is greeted with a handshake.
    era_seconds: float = 1.0
    #: From the end of input until the handlers that still run are cancelled ...
    drain_seconds: float = 3.5
    #: ... and from then until what does not stop is left behind.
    shutdown_seconds: float = 0.8
    #: The body of one HTTP request.
    body_bytes: int = 4 * 1024 * 1024
    #: ... and how long nothing more of it may come.
    body_seconds: float = 30.0
    #: What may have come of all bodies together that are not complete; those that bring more are refused.
    bodies_bytes: int = 256 * 1024 * 1024
    #: The head of one HTTP request, where the socket is ours ...
    head_bytes: int = 64 * 1024
    #: ... and how long it may take, from the opening of a connection on.
    head_seconds: float = 20.0
    #: Connections that a socket of ours takes at once; one more is refused.
    server_connections: int = 4_096
    #: A reply that takes longer than this is announced by the head of an event stream ...
    stream_open_seconds: float = 10.0
    #: ... which is kept alive by a comment as often as this.  Proxies cut silent streams after 60 s.
    keep_alive_seconds: float = 15.0
    #: Clients that are given an id to come back with (2025-11-25) have it no later than this: before
    #: that a connection that breaks takes the reply with it.
    prime_seconds: float = 1.0
    #: HTTP sessions that exist at once; one more takes the place of the one that idles longest.
    sessions: int = 10_000
    #: ... and of a bridge that starts a child for each of them: a process costs more than a session.
    child_sessions: int = 64
    #: A message that is held back because whom it is for takes nothing more; then its sender is told so.
    gate_seconds: float = 10.0
    #: A session that nobody uses for so long is ended.
    session_idle_seconds: float = 1_800.0
    #: Events of one session that can be sent again to a client that lost its stream: how many ...
    replay_events: int = 1_000
    #: ... and how much of them.
    replay_bytes: int = 8 * 1024 * 1024
    #: ... and of all sessions of a server together; those that have been silent longest lose theirs first.
    replay_total_bytes: int = 256 * 1024 * 1024
    #: Connections of one HTTP client at once.
    connections: int = 256
    #: From the moment a request has a connection until the head of the answer is there.
    first_byte_seconds: float = 120.0
    #: Silence within an answer or a stream, comments included, after which it is taken for dead.  Many
    #: servers send nothing for hours on a stream that they have nothing to say on; a peer that vanished
    #: is noticed all the same, by TCP, after two minutes.
    stream_idle_seconds: float = math.inf
    #: From a request until the end of its answer, however much of it comes meanwhile.  Whoever asks has a
    #: clock of its own (`request_seconds`), which lets go of the answer.
    answer_seconds: float = math.inf
    #: The first wait before a lost stream is opened again; doubled with each try that brought nothing ...
    reconnect_seconds: float = 1.0
    #: ... up to this.
    reconnect_most_seconds: float = 60.0
    #: Starts in a row of a bridge's lost server that bring nothing: then it is given up.
    restarts: int = 5
    #: A bridge's server that was lost again soon waits so long for its next start; doubled each time ...
    restart_seconds: float = 0.5
    #: ... up to this ...
    restart_most_seconds: float = 30.0
    #: ... until it has run for so long: then what was before is forgotten.
    restart_forgiven_seconds: float = 60.0
    #: A server of several that stand behind one bridge, from its start until it has answered `initialize`:
    #: it may have to be downloaded first.
    member_start_seconds: float = 60.0
    #: A list of all of them is answered without those that have not said so long what they have: clients
    #: give up a list after a minute, some after twenty seconds ...
    member_list_seconds: float = 15.0
    #: ... what they have said is asked again after so long, since some do not say when it changes ...
    list_seconds: float = 600.0
    #: ... and one page of it has no more than this: many clients ask for no second one.
    list_page_bytes: int = 16 * 1024 * 1024
    #: Worker threads for handlers that block.
    worker_threads: int = 32

    def replace(self, **changes: float) -> Limits:
        """Return these limits with some changed."""
        return msgspec.structs.replace(self, **changes)


#: The limits in force where none are given.
DEFAULT_LIMITS = Limits()
