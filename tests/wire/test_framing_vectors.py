"""Every framing vector, fed whole, byte by byte, at every single cut and in pieces of any size."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anywire.wire.content_length import ContentLengthFramer
from anywire.wire.detect import DetectingFramer
from anywire.wire.evidence import EvidenceFramer
from anywire.wire.framing import Frame, Framer, Framing
from anywire.wire.limits import Limits
from anywire.wire.message import Fault
from anywire.wire.newline import NewlineFramer
from tests.wire.vectors import Vector, read_vectors, render

NewFramer = Callable[[Limits], Framer]
Outcome = tuple[str, list[Frame | Fault], list[Frame | Fault]]

FRAMERS: dict[str, NewFramer] = {
    "newline.txt": NewlineFramer,
    "content_length.txt": ContentLengthFramer,
    "detect.txt": DetectingFramer,
    "evidence.txt": lambda limits: EvidenceFramer(Framing.NEWLINE, limits),
}
CASES = [(new, vector) for name, new in FRAMERS.items() for vector in read_vectors(name)]
each_case = pytest.mark.parametrize(
    ("new", "vector"),
    CASES,
    ids=[
        f"{name.removesuffix('.txt')}-{vector.title.replace(' ', '-')}"
        for name in FRAMERS
        for vector in read_vectors(name)
    ],
)


def feed(new: NewFramer, limits: Limits, pieces: Iterable[bytes]) -> Outcome:
    """What a new framer found by the end of these pieces (its framing and its output), and at the end."""
    framer = new(limits)
    out = [item for piece in pieces for item in framer.feed(piece)]
    found = ""
    if isinstance(framer, DetectingFramer | EvidenceFramer):
        found = framer.framing.value if framer.framing is not None else "unknown"
    return found, out, framer.end()


def rendered(items: list[Frame | Fault]) -> list[bytes]:
    """The items as vectors spell them."""
    return [line for item in items for line in render(item)]


@each_case
def test_a_stream_fed_whole_gives_what_the_vector_says(new: NewFramer, vector: Vector) -> None:
    found, out, end = feed(new, vector.limits, [vector.data])

    assert ([found.encode()] if found else []) + rendered(out) == vector.out
    assert rendered(end) == vector.end


@each_case
def test_a_stream_fed_byte_by_byte_gives_the_same(new: NewFramer, vector: Vector) -> None:
    pieces = [vector.data[at : at + 1] for at in range(len(vector.data))]

    assert feed(new, vector.limits, pieces) == feed(new, vector.limits, [vector.data])


@each_case
def test_a_stream_cut_anywhere_gives_the_same(new: NewFramer, vector: Vector) -> None:
    whole = feed(new, vector.limits, [vector.data])

    differing = [
        cut
        for cut in range(len(vector.data) + 1)
        if feed(new, vector.limits, [vector.data[:cut], vector.data[cut:]]) != whole
    ]

    assert differing == []


@given(st.sampled_from(CASES), st.lists(st.integers(0, 1000), max_size=12))
def test_a_stream_in_pieces_of_any_size_gives_the_same(
    case: tuple[NewFramer, Vector], cuts: list[int]
) -> None:
    new, vector = case
    edges = [0, *sorted(min(cut, len(vector.data)) for cut in cuts), len(vector.data)]
    pieces = [vector.data[start:stop] for start, stop in itertools.pairwise(edges)]

    assert feed(new, vector.limits, pieces) == feed(new, vector.limits, [vector.data])


@each_case
def test_an_end_that_is_told_twice_gives_nothing_more(new: NewFramer, vector: Vector) -> None:
    framer = new(vector.limits)
    framer.feed(vector.data)
    framer.end()

    assert framer.end() == []


@each_case
def test_of_offending_bytes_no_more_than_an_excerpt_is_kept(new: NewFramer, vector: Vector) -> None:
    _, out, end = feed(new, vector.limits, [vector.data])

    faults = [item for item in out + end if isinstance(item, Fault)]

    assert all(len(fault.data) <= vector.limits.excerpt_bytes for fault in faults)
    assert all(fault.reason.startswith(("Parse error: ", "Invalid Request: ")) for fault in faults)
    assert all(fault.size in (0, len(fault.data)) or fault.size > len(fault.data) for fault in faults)
