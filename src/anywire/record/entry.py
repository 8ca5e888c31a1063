"""One line of a recording: a message with its bytes as they were, or something else that happened.

A recording is one JSON object a line.  A message stands in it as the JSON that it was on the wire: numbers,
escapes and the order of members are kept; only line breaks between tokens, which mean nothing, are left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

import msgspec
from msgspec import UNSET, Raw, UnsetType

from anywire.protocol.methods import Direction
from anywire.wire.codec import decode, encode
from anywire.wire.limits import DEFAULT_LIMITS
from anywire.wire.message import Batch, Fault, Message
from anywire.wire.scan import scan_object
from anywire.wire.value import decode_value, encode_value

__all__ = (
    "FORMAT",
    "RECORDED_LIMITS",
    "Entry",
    "Event",
    "Unreadable",
    "bare",
    "directions",
    "format_time",
    "read_entry",
    "write_event",
    "write_message",
)

#: The number of this way to write a recording.
FORMAT: Final = 1

#: The direction of a message, by the words that stand for it.
directions: Final = {each.value: each for each in (Direction.TO_SERVER, Direction.TO_CLIENT)}

#: The limits of the wire hold for what comes in.  What is in a recording was let in.
RECORDED_LIMITS: Final = DEFAULT_LIMITS.replace(batch_messages=1_000_000, members=1_000_000, depth=1_000)


# What is later is no time that a recording was made at, and few programs could show it.
_LATEST: Final = 100_000_000_000


class Event:
    """What else can happen, besides a message; the values of `Entry.event`."""

    #: The first line of a file: `text` says by what it was written.
    RECORDING: Final = "recording"
    #: The wire was opened.
    OPENED: Final = "opened"
    #: The wire could not be opened, `text` says why.
    REFUSED: Final = "refused"
    #: Something came in that is no message: `text` is what there is of it, `reason` what is wrong.
    NOISE: Final = "noise"
    #: A part of the wire failed.
    TROUBLE: Final = "trouble"
    #: A request was sent in vain: `id` says which, `reason` why.
    FAILED: Final = "failed"
    #: The peer had lost the conversation, and the handshake was done again.
    REOPENED: Final = "reopened"
    #: Whoever `direction` comes from sends no more.
    ENDED: Final = "ended"
    #: The wire has closed.  `reason` says why, where it was not in order; `by_peer`: the peer left first,
    #: whom `direction` comes from.
    CLOSED: Final = "closed"
    #: A message is too large for the recording; `text` says how large.
    LEFT_OUT: Final = "left out"


class Entry(msgspec.Struct, kw_only=True, rename={"by_peer": "byPeer"}):
    """A line.  `message` is raw JSON; one without is an event.  `line` is its number in the file.

    `session` counts the conversations, `call` those requests of one that stand for themselves, each on an
    HTTP request of its own.  `secrets` and `continues` stand in the first line: whether secrets were left
    out, and whether the file goes on where another had become too large.
    """

    time: str = ""
    session: int = 0
    call: int = 0
    server: str = ""
    direction: str = ""
    message: Raw | UnsetType = UNSET
    event: str = ""
    text: str = ""
    reason: str = ""
    id: Raw | UnsetType = UNSET
    by_peer: bool = False
    format: int = 0
    secrets: str = ""
    continues: bool = False
    line: int = 0

    @property
    def raw(self) -> bytes:
        """The message as the bytes it is; empty for an event."""
        return b"" if isinstance(self.message, UnsetType) else bytes(self.message)

    @property
    def seconds(self) -> float:
        """The time in seconds of the epoch, 0 where it cannot be read."""
        try:
            seconds = datetime.fromisoformat(self.time).timestamp()
        except (ValueError, OverflowError):
            return 0.0
        return seconds if 0 <= seconds < _LATEST else 0.0

    def read(self) -> Message | Batch | Fault:
        """Return the message that an entry with a message holds."""
        return decode(self.raw, RECORDED_LIMITS)


class Unreadable(msgspec.Struct, frozen=True):
    """A line that is no entry: its number, and why.  `cut`: it is the last one and has no end."""

    line: int
    reason: str
    cut: bool = False


_decoder = msgspec.json.Decoder(Entry)


def format_time(seconds: float) -> bytes:
    """Write a time of the epoch in ISO 8601, UTC, with microseconds."""
    text = datetime.fromtimestamp(seconds, UTC).isoformat(timespec="microseconds")
    return text.replace("+00:00", "Z").encode()


def bare(message: Message | Batch) -> bytes:
    """Return the bytes of a message without the line breaks around and between its tokens."""
    raw = encode(message)
    # In a string a line break is an escape, so that all of these stand between tokens.
    return (raw.translate(None, b"\r\n") if b"\n" in raw or b"\r" in raw else raw).strip()


def write_message(seconds: float, head: bytes, direction: Direction, raw: bytes) -> bytes:
    """Return the line of a message; `head` are the members that say in which conversation, as JSON."""
    return b'{"time":"%b",%b,"direction":"%b","message":%b}\n' % (
        format_time(seconds),
        head,
        direction.value.encode(),
        raw,
    )


def write_event(seconds: float, head: bytes, members: Mapping[str, object]) -> bytes:
    """Return the line of an event; empty `head`: it belongs to no conversation."""
    rest = b",".join(b"%b:%b" % (encode_value(name), encode_value(value)) for name, value in members.items())
    return b'{"time":"%b",%b}\n' % (format_time(seconds), b",".join(filter(None, (head, rest))))


def read_entry(line: bytes, number: int) -> Entry | Unreadable:
    """Read a line, which has that number; what is no entry is told.  Never raises."""
    try:
        entry = _read_line(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        return Unreadable(number, str(error))
    if not entry.event and not entry.raw:
        return Unreadable(number, "it is JSON, and neither a message nor an event of a recording")
    entry.line = number
    return entry


def _read_line(line: bytes) -> Entry:
    try:
        return _decoder.decode(line)
    except (msgspec.MsgspecError, RecursionError):
        # Half of a surrogate pair, or many levels: JSON that the fast decoder refuses.
        scan = scan_object(line, frozenset({"message"}), most=RECORDED_LIMITS.members)
        member = scan.find("message")
        if scan.stopped != -1 or member is None:
            raise
        raw = line[member.value_start : member.value_end]
        if isinstance(decode(raw, RECORDED_LIMITS), Fault):
            raise
        rest = line[: member.value_start] + b"null" + line[member.value_end :]
        entry = decode_value(rest, Entry, _decoder)
        return msgspec.structs.replace(entry, message=Raw(raw))
