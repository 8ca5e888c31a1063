"""Every vector of event streams, fed whole, byte by byte, at every single cut and with all line ends."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anywire.wire.event_stream import EventStreamDecoder, ServerEvent
from anywire.wire.limits import Limits
from anywire.wire.message import Fault
from tests.wire.vectors import Vector, each_vector, read_vectors, render

VECTORS = read_vectors("event_stream.txt")
LINE_FEEDS_ONLY = [vector for vector in VECTORS if b"\r" not in vector.data]
each = each_vector("event_stream.txt")
each_of_line_feeds = pytest.mark.parametrize(
    "vector", LINE_FEEDS_ONLY, ids=[vector.title.replace(" ", "-") for vector in LINE_FEEDS_ONLY]
)

Read = tuple[list[ServerEvent | Fault], list[ServerEvent | Fault], str, int | None]


def read(limits: Limits, pieces: Iterable[bytes]) -> Read:
    """What a new decoder found in these pieces, what at the end, and what it knows then."""
    decoder = EventStreamDecoder(limits)
    out = [item for piece in pieces for item in decoder.feed(piece)]
    return out, decoder.end(), decoder.last_event_id, decoder.retry


def rendered(items: list[ServerEvent | Fault]) -> list[bytes]:
    """The items as vectors spell them."""
    return [line for item in items for line in (render(item) if isinstance(item, Fault) else [_event(item)])]


def _event(event: ServerEvent) -> bytes:
    words = [b"unterminated" if event.unterminated else b"event", event.event.encode()]
    return b" ".join([*words, event.id.encode() or b"-", *([event.data] if event.data else [])])


def found(read: Read) -> tuple[list[bytes], list[bytes]]:
    """What was read, in the words of vectors."""
    out, end, id, retry = read
    known = [b"id " + id.encode()] if id else []
    known += [b"retry %d" % retry] if retry is not None else []
    return rendered(out), [*rendered(end), *known]


@each
def test_a_stream_fed_whole_gives_what_the_vector_says(vector: Vector) -> None:
    assert found(read(vector.limits, [vector.data])) == (vector.out, vector.end)


@each
def test_a_stream_fed_byte_by_byte_gives_the_same(vector: Vector) -> None:
    pieces = [vector.data[at : at + 1] for at in range(len(vector.data))]

    assert read(vector.limits, pieces) == read(vector.limits, [vector.data])


@each
def test_a_stream_cut_anywhere_gives_the_same(vector: Vector) -> None:
    whole = read(vector.limits, [vector.data])

    differing = [
        cut
        for cut in range(len(vector.data) + 1)
        if read(vector.limits, [vector.data[:cut], vector.data[cut:]]) != whole
    ]

    assert differing == []


@each_of_line_feeds
@pytest.mark.parametrize("line_end", [b"\r", b"\r\n"])
def test_a_stream_with_other_line_ends_gives_the_same(vector: Vector, line_end: bytes) -> None:
    whole = read(vector.limits, [vector.data])
    data = vector.data.replace(b"\n", line_end)

    differing = [
        cut
        for cut in range(0, len(data) + 1, 1 + len(data) // 200)
        if read(vector.limits, [data[:cut], data[cut:]]) != whole
    ]

    assert read(vector.limits, [data[at : at + 1] for at in range(len(data))]) == whole
    assert differing == []


@given(st.sampled_from(VECTORS), st.lists(st.integers(0, 4000), max_size=12))
def test_a_stream_in_pieces_of_any_size_gives_the_same(vector: Vector, cuts: list[int]) -> None:
    edges = [0, *sorted(min(cut, len(vector.data)) for cut in cuts), len(vector.data)]
    pieces = [vector.data[start:stop] for start, stop in itertools.pairwise(edges)]

    assert read(vector.limits, pieces) == read(vector.limits, [vector.data])


@each
def test_an_end_that_is_told_twice_gives_nothing_more(vector: Vector) -> None:
    decoder = EventStreamDecoder(vector.limits)
    decoder.feed(vector.data)
    decoder.end()

    assert decoder.end() == []


@each
def test_of_offending_bytes_no_more_than_an_excerpt_is_kept(vector: Vector) -> None:
    out, end, _, _ = read(vector.limits, [vector.data])

    faults = [item for item in out + end if isinstance(item, Fault)]

    assert all(len(fault.data) <= vector.limits.excerpt_bytes for fault in faults)
    assert all(fault.reason.startswith("Invalid Request: ") for fault in faults)
    assert all(fault.size in (0, len(fault.data)) or fault.size > len(fault.data) for fault in faults)
