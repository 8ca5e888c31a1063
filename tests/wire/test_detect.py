"""Finding out a framing, beyond what the vectors tell."""

from __future__ import annotations

from itertools import pairwise

import pytest

from anywire.wire.content_length import ContentLengthFramer
from anywire.wire.detect import DetectingFramer, detect_framing, new_framer
from anywire.wire.evidence import EvidenceFramer
from anywire.wire.framing import Framing
from anywire.wire.limits import Limits
from anywire.wire.message import Fault, FaultKind
from anywire.wire.newline import NewlineFramer

BODY = '{"text":"é"}'.encode()
LINE = BODY + b"\n"
HEADED = b'Content-Length: 17\r\n\r\n{"text":"\\u00e9"}'


@pytest.mark.parametrize(
    ("data", "framing"),
    [
        (b"", None),
        (b" \r\n", None),
        (b"\xef\xbb", None),
        (b"c", None),
        (b"CONTENT", None),
        (b"Content-", Framing.HEADERS),
        (b"\xef\xbb\xbf\r\ncontent-type: x", Framing.HEADERS),
        (b"{", Framing.NEWLINE),
        (b"contents", Framing.NEWLINE),
        (b"x", Framing.NEWLINE),
        (b"\x00", Framing.NEWLINE),
    ],
)
def test_the_first_bytes_show_the_framing(data: bytes, framing: Framing | None) -> None:
    assert detect_framing(data) is framing


def test_a_framer_is_made_for_its_framing() -> None:
    assert isinstance(new_framer(Framing.NEWLINE), NewlineFramer)
    assert isinstance(new_framer(Framing.HEADERS), ContentLengthFramer)


@pytest.mark.parametrize(
    ("first", "written"), [(b"", LINE), (b"Cont", LINE), (b"{", LINE), (b"Content-L", HEADED)]
)
def test_what_goes_out_is_framed_like_what_came_in(first: bytes, written: bytes) -> None:
    framer = DetectingFramer()
    framer.feed(first)

    assert framer.frame(BODY) == written


@pytest.mark.parametrize(("writing", "written"), [(Framing.NEWLINE, LINE), (Framing.HEADERS, HEADED)])
@pytest.mark.parametrize("first", [b"", b"noise\n", b'{"id":1}\n', b'Content-Length: 8\r\n\r\n{"id":1}'])
def test_a_caller_writes_in_the_framing_it_was_given_whatever_comes_back(
    writing: Framing, written: bytes, first: bytes
) -> None:
    framer = EvidenceFramer(writing)
    framer.feed(first)

    assert framer.frame(BODY) == written


def test_a_caller_may_change_the_framing_in_which_it_writes() -> None:
    framer = EvidenceFramer(Framing.NEWLINE)
    framer.feed(b'{"id":1}\n')
    framer.write_in(Framing.HEADERS)

    assert framer.frame(BODY) == HEADED
    assert framer.feed(b'{"id":2}\n') == [b'{"id":2}']


@pytest.mark.parametrize("size", [60_000, 70_000])
@pytest.mark.parametrize("cuts", [[30_000], [65_536], [65_537], [65_000, 65_600, 69_000]])
def test_a_very_long_line_of_json_is_no_log_however_it_comes(size: int, cuts: list[int]) -> None:
    data = b'{"level":"info","text":"' + b"x" * size + b'"}\n{"id":1}\n'
    whole, cut = EvidenceFramer(Framing.NEWLINE), EvidenceFramer(Framing.NEWLINE)

    expected = whole.feed(data)

    edges = [0, *cuts, len(data)]
    assert [item for start, stop in pairwise(edges) for item in cut.feed(data[start:stop])] == expected
    assert isinstance(expected[0], Fault) == (size < 65_536)
    assert expected[1] == b'{"id":1}'


def test_white_space_before_the_first_message_is_not_kept() -> None:
    framer = DetectingFramer()
    for _ in range(10_000):
        framer.feed(b"\r\n \t" * 100)

    assert len(framer._first) == 0
    assert framer.feed(b"{}\n") == [b"{}"]


@pytest.mark.parametrize("framing", Framing)
def test_limits_reach_the_framer_that_was_found(framing: Framing) -> None:
    limits = Limits(message_bytes=20)
    framer = DetectingFramer(limits)
    body = b'{"id":1,"text":"xxxxxxx"}'

    (fault,) = framer.feed(new_framer(framing).frame(body))

    assert isinstance(fault, Fault)
    assert (fault.kind, fault.id) == (FaultKind.TOO_LARGE, b"1")
