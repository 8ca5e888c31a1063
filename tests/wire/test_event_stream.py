"""Event streams: against a plain reading of the standard, within bounds, and written as they are read."""

from __future__ import annotations

import itertools
import json
import re
import tracemalloc
from collections.abc import Iterator
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anywire.errors import LocalProtocolError
from anywire.wire.codec import decode, encode
from anywire.wire.event_stream import EventStreamDecoder, ServerEvent, encode_comment, encode_event
from anywire.wire.limits import Limits
from anywire.wire.message import Fault, FaultKind, Response, create_response
from tests.wire.strategies import envelopes, thorough

KILOBYTE: Final = 1024
MEGABYTE: Final = 1024 * KILOBYTE
SMALL: Final = Limits(message_bytes=16 * KILOBYTE, header_bytes=KILOBYTE, excerpt_bytes=KILOBYTE)


def in_pieces(data: bytes, size: int) -> Iterator[bytes]:
    """The data in chunks of that size."""
    return (data[at : at + size] for at in range(0, len(data), size))


def read(data: bytes, size: int = MEGABYTE, limits: Limits = SMALL) -> list[ServerEvent | Fault]:
    """All that is found in a stream that comes in chunks of that size, its end included."""
    decoder = EventStreamDecoder(limits)
    return [item for piece in in_pieces(data, size) for item in decoder.feed(piece)] + decoder.end()


def one_event(data: bytes) -> ServerEvent:
    """The one event of a stream."""
    (event,) = read(data)
    assert isinstance(event, ServerEvent)
    return event


# Reading, against the standard.


def read_by_the_book(data: bytes) -> tuple[list[tuple[bytes, str, str]], str, int | None]:
    """Read a whole stream as the standard tells it, step for step: events, last id, retry."""
    *lines, _ = re.split(rb"\r\n|\r|\n", data.removeprefix(b"\xef\xbb\xbf"))
    events: list[tuple[bytes, str, str]] = []
    buffer, kind, id, last_id = b"", b"", "", ""
    retry: int | None = None
    for line in lines:
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if not line:
            last_id = id
            if buffer:
                events.append((buffer[:-1], kind.decode() or "message", last_id))
            buffer, kind = b"", b""
        elif name == b"data":
            buffer += value + b"\n"
        elif name == b"event":
            kind = value
        elif name == b"id" and b"\0" not in value:
            id = value.decode()
        elif name == b"retry" and re.fullmatch(rb"[0-9]+", value):
            retry = int(value)
    return events, last_id, retry


names = st.sampled_from([b"data", b"data", b"data", b"id", b"event", b"retry", b"", b"x", b"dat", b"DATA"])
values = st.sampled_from(
    [b"", b" ", b"1", b"2", b"{}", b" [1]", b"  a", b"\xc3\xa9", b":", b"\0", b"message"]
)
fields = st.tuples(names, st.sampled_from([b"", b":", b": ", b": ", b": "]), values).map(b"".join)
lines = st.tuples(st.one_of(fields, st.just(b"")), st.sampled_from([b"\n", b"\r\n", b"\r"])).map(b"".join)
streams = st.tuples(
    st.sampled_from([b"", b"\xef\xbb\xbf"]), st.lists(lines, max_size=20).map(b"".join), st.just(b"\n\n")
).map(b"".join)


@given(streams, st.integers(1, 40))
@thorough(400, in_ci=2000)
def test_a_stream_is_read_as_the_standard_tells(data: bytes, size: int) -> None:
    decoder = EventStreamDecoder(SMALL)
    found = [item for piece in in_pieces(data, size) for item in decoder.feed(piece)]
    events, last_id, retry = read_by_the_book(data)

    assert found == [ServerEvent(*event) for event in events]
    assert (decoder.last_event_id, decoder.retry) == (last_id, retry)
    assert decoder.end() == []


# Hostile streams.

hostile_pieces = st.one_of(
    st.binary(max_size=30),
    st.sampled_from(
        [
            *(b"data", b"data:", b"data: ", b"id: 7", b"id", b"event: x", b"retry: 1", b":", b": ping"),
            *(b"\n", b"\r", b"\r\n", b"\n\n", b"\r\r", b"\xef\xbb\xbf", b"\0", b"x" * 50, b"{", b'"', b"}"),
            *(b'{"jsonrpc":"2.0","id":7,"result":{}}', b'"id":7', b"\xed\xa0\x80", b"\xff"),
        ]
    ),
)
tiny_limits = st.builds(
    Limits,
    message_bytes=st.integers(1, 80),
    header_bytes=st.integers(16, 40),
    excerpt_bytes=st.integers(1, 60),
)


@given(st.lists(hostile_pieces, max_size=30), st.lists(st.integers(0, 600), max_size=8), tiny_limits)
@thorough(600, in_ci=5000)
def test_no_stream_raises_and_no_cut_changes_what_is_found(
    pieces: list[bytes], cuts: list[int], limits: Limits
) -> None:
    data = b"".join(pieces)
    edges = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    decoder = EventStreamDecoder(limits)

    found = [item for start, stop in itertools.pairwise(edges) for item in decoder.feed(data[start:stop])]
    found += decoder.end()

    assert found == read(data, limits=limits) == read(data, 1, limits=limits)
    for item in found:
        assert item.kind is FaultKind.TOO_LARGE if isinstance(item, Fault) else item.data is not None
        assert len(item.data) <= (limits.excerpt_bytes if isinstance(item, Fault) else limits.message_bytes)


# Bounds.


# What it is, how it starts, how it goes on, and how many faults it is.
ENDLESS: Final = {
    "data in one line": (b"data: ", b"x", 1),
    "data in one line without a space": (b"data:", b"x", 1),
    "data in short lines": (b"", b"data: xy\n", 1),
    "data in empty lines": (b"", b"data\n", 1),
    "data in lines with comments between": (b"", b"data: 1\n: ping\n", 1),
    "data in carriage returns": (b"", b"data:1\r", 1),
    "a comment": (b":", b"x", 0),
    "comments": (b"", b": ping\n", 0),
    "an id": (b"id: ", b"x", 0),
    "ids": (b"", b"id: 1234567890\n", 0),
    "a type": (b"event: ", b"x", 0),
    "types": (b"", b"event: 1234567890\n", 0),
    "a time": (b"retry: ", b"9", 0),
    "the name of a field": (b"", b"x", 0),
    "the name of a field that begins like data": (b"data", b"data", 0),
    "an unknown field": (b"x: ", b"x", 0),
    "a first line behind a byte order mark": (b"\xef\xbb\xbf", b"x", 0),
    "a comment in an event that is too large": (b"data: " + b"x" * 20_000 + b"\n:", b"x", 1),
    "an id in an event that is too large": (b"data: " + b"x" * 20_000 + b"\nid: ", b"x", 1),
}
each_endless = pytest.mark.parametrize(("start", "more", "faults"), ENDLESS.values(), ids=ENDLESS)


@each_endless
def test_what_has_no_end_does_not_grow(start: bytes, more: bytes, faults: int) -> None:
    """Half a megabyte of one thing, of which no more than the limit is kept."""
    chunk = more * (4 * KILOBYTE // len(more))
    decoder = EventStreamDecoder(SMALL)
    tracemalloc.start()
    try:
        found = decoder.feed(start)
        for _ in range(128):
            found += decoder.feed(chunk)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak < 192 * KILOBYTE
    assert len(found + decoder.end()) == faults


@each_endless
def test_what_comes_in_one_chunk_is_not_kept_either(start: bytes, more: bytes, faults: int) -> None:
    chunk = start + more * (200 * KILOBYTE // len(more))
    decoder = EventStreamDecoder(SMALL)
    tracemalloc.start()
    try:
        found = decoder.feed(chunk + b"\n")
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert kept < 64 * KILOBYTE
    assert len(found + decoder.end()) == faults


@pytest.mark.parametrize("size", [7, 4096, MEGABYTE])
@each_endless
def test_after_what_was_too_long_the_next_event_is_there(
    start: bytes, more: bytes, faults: int, size: int
) -> None:
    data = start + more * (200_000 // len(more)) + b"\n\ndata: next\n\n"

    *before, last = read(data, size)

    assert isinstance(last, ServerEvent)
    assert (last.data, last.event) == (b"next", "message")
    assert all(isinstance(item, Fault) for item in before)
    assert len(before) == faults


def test_a_fault_of_what_is_too_large_comes_before_its_end() -> None:
    """The call that it answers need not wait for the rest."""
    decoder = EventStreamDecoder(SMALL)
    found = decoder.feed(b'data: {"jsonrpc":"2.0","id":7,"result":"' + b"x" * 20_000)

    (fault,) = found
    assert isinstance(fault, Fault)
    assert (fault.kind, fault.id, fault.is_reply) == (FaultKind.TOO_LARGE, b"7", True)
    assert decoder.feed(b'"}\n\n') == []


def test_an_event_of_many_small_chunks_takes_one_pass() -> None:
    """Half a million chunks: were each one to copy what there is, this would not end."""
    decoder = EventStreamDecoder()
    decoder.feed(b"data: ")
    for _ in range(500_000):
        decoder.feed(b"x" * 16)

    (event,) = decoder.feed(b"\n\n")

    assert isinstance(event, ServerEvent)
    assert len(event.data) == 8_000_000


def test_an_event_of_many_lines_takes_one_pass() -> None:
    decoder = EventStreamDecoder()
    for _ in range(500_000):
        decoder.feed(b"data: x\n")

    (event,) = decoder.feed(b"\n")

    assert isinstance(event, ServerEvent)
    assert event.data == b"x\n" * 499_999 + b"x"


def test_a_line_end_that_is_cut_in_two_many_times_takes_one_pass() -> None:
    decoder = EventStreamDecoder()
    found = [
        item
        for _ in range(100_000)
        for piece in (b"data: 1\r", b"\n\r", b"\n")
        for item in decoder.feed(piece)
    ]

    assert found == [ServerEvent(b"1")] * 100_000


# Taking up a stream again.


def test_a_decoder_that_goes_on_with_a_stream_knows_its_last_id() -> None:
    decoder = EventStreamDecoder()
    decoder.last_event_id = "5"

    assert decoder.feed(b"data: 1\n\n") == [ServerEvent(b"1", id="5")]
    assert decoder.last_event_id == "5"


def test_the_id_of_an_event_that_was_too_large_counts() -> None:
    """It would only come again."""
    decoder = EventStreamDecoder(SMALL)
    decoder.feed(b"id: 1\ndata: " + b"x" * 20_000 + b"\n")
    before = decoder.last_event_id
    decoder.feed(b"\n")

    assert (before, decoder.last_event_id) == ("", "1")


@pytest.mark.parametrize("cut", range(len(b'id: 2\ndata: {"a":1}\n')))
def test_an_id_counts_with_its_event_and_not_before(cut: int) -> None:
    """Wherever the stream breaks: either the event is there, or a client that comes back gets it."""
    decoder = EventStreamDecoder()
    decoder.feed(b"id: 1\ndata: 1\n\n" + b'id: 2\ndata: {"a":1}\n'[:cut])
    found = decoder.end()

    assert decoder.last_event_id == ("2" if found else "1")


# Writing.


@pytest.mark.parametrize(
    ("written", "read_back"),
    [
        (encode_event(b"{}"), ServerEvent(b"{}")),
        (encode_event(b"{}", id="p0_7"), ServerEvent(b"{}", id="p0_7")),
        (encode_event(b"/m?s=1", event="endpoint"), ServerEvent(b"/m?s=1", "endpoint")),
        (encode_event(b" {}"), ServerEvent(b" {}")),
        (encode_event(b"", id="0", retry=3000), ServerEvent(b"", id="0")),
        (encode_event(b'{\r\n"a":\n1\r}'), ServerEvent(b'{"a":1}')),
    ],
)
def test_an_event_is_read_as_it_was_meant(written: bytes, read_back: ServerEvent) -> None:
    assert one_event(written) == read_back


def test_a_time_to_wait_is_written() -> None:
    decoder = EventStreamDecoder()
    decoder.feed(encode_event(b"", id="0", retry=3000))

    assert (decoder.last_event_id, decoder.retry) == ("0", 3000)


field_texts = st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), max_size=12)


@given(st.lists(st.tuples(envelopes(), field_texts, field_texts), max_size=4), st.integers(1, 60))
@thorough(100)
def test_what_is_written_is_read_again(events: list[tuple[bytes, str, str]], size: int) -> None:
    """For any JSON: only newlines in its white space are lost."""
    stream = b"".join(
        encode_comment("between") + encode_event(data, id=id, event=event) for data, id, event in events
    )

    found = read(stream, size)

    assert len(found) == len(events)
    for item, (data, id, event) in zip(found, events, strict=True):
        assert isinstance(item, ServerEvent)
        assert json.loads(item.data) == json.loads(data)
        assert item.event == (event or "message")
        assert item.id == id or not id


def test_a_message_that_came_over_several_lines_is_one_line_of_data() -> None:
    message = decode(b'{\r\n  "jsonrpc": "2.0",\n  "id": 1,\r  "result": "a\\nb"\n}')
    assert isinstance(message, Response)

    event = encode_event(encode(message))

    assert event == b'data: {  "jsonrpc": "2.0",  "id": 1,  "result": "a\\nb"}\n\n'
    assert decode(one_event(event).data) == create_response(1, "a\nb")


@pytest.mark.parametrize("text", ["a\nb", "a\rb", "\n", "a\n\ndata: {}", "a\0", "\x1b[0m", "\x7f", "\ud800"])
@pytest.mark.parametrize("field", ["id", "event"])
def test_what_would_not_come_back_as_it_is_is_refused(field: str, text: str) -> None:
    """Or whoever names a stream could write events of their own."""
    with pytest.raises(LocalProtocolError) as refusal:
        encode_event(b"{}", id=text if field == "id" else "", event=text if field == "event" else "")

    assert repr(text) in str(refusal.value)


def test_a_time_that_is_negative_is_refused() -> None:
    with pytest.raises(LocalProtocolError):
        encode_event(b"{}", retry=-1)


@pytest.mark.parametrize("text", ["", "keep-alive", "é", " ", "a: b", ":"])
def test_a_comment_is_one_line(text: str) -> None:
    comment = encode_comment(text)

    assert comment.startswith(b":")
    assert comment.endswith(b"\n\n")
    assert comment.count(b"\n") == 2
    assert read(comment) == []


@given(st.text(st.characters(codec=None), max_size=40))
@thorough(200)
def test_no_text_makes_an_event_of_a_comment(text: str) -> None:
    """Line ends in it begin another comment; half a pair costs nothing but itself."""
    decoder = EventStreamDecoder()
    found = decoder.feed(encode_comment(text) + encode_comment("\ndata: 1\r\rid: 2\r\nretry: 3\n\n" + text))

    assert (found, decoder.last_event_id, decoder.retry) == ([], "", None)
    assert decoder.feed(b"data: 1\n\n") == [ServerEvent(b"1")]
