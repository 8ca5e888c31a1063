"""Anything at all, through every framing and the codec."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anywire.wire.codec import decode, encode
from anywire.wire.content_length import ContentLengthFramer, parse_messages
from anywire.wire.detect import DetectingFramer
from anywire.wire.evidence import EvidenceFramer
from anywire.wire.framing import Frame, Framer, Framing
from anywire.wire.limits import Limits
from anywire.wire.message import Batch, ErrorResponse, Fault, Message, Notification, Request, Response
from anywire.wire.newline import NewlineFramer, parse_message_line
from anywire.wire.peer import Peer
from tests.wire.strategies import mutations, thorough

NewFramer = Callable[[Limits], Framer]
FRAMERS: dict[str, NewFramer] = {
    "newline": NewlineFramer,
    "headers": ContentLengthFramer,
    "detecting": DetectingFramer,
    "evidence": lambda limits: EvidenceFramer(Framing.HEADERS, limits),
}
LIMITS = [Limits(), Limits(message_bytes=60, excerpt_bytes=24, header_bytes=48, depth=4, batch_messages=2)]

CALL = b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"text":"\xc3\xa9\\ud800"}}'
REPLY = b'{"result":{"content":["\xf0\x9f\x99\x82"]},"jsonrpc":"2.0","id":"a"}'
LINES = CALL + b"\n" + REPLY + b"\r\n\n\xef\xbb\xbf" + CALL + b"\n"
HEADED = (
    b"Content-Length: %d\r\n\r\n%b" % (len(CALL), CALL)
    + b"content-type: x\nContent-Length:%d\n\n%b" % (len(REPLY), REPLY)
    + b"\r\nContent-Length: %d\r\n\r\n%b" % (len(CALL) - 5, CALL)
    + b"Content-Length: 2\r\n\r\n{}"
)
PIECES = [
    *LINES.splitlines(keepends=True),
    *HEADED.splitlines(keepends=True),
    CALL,
    REPLY,
    b"\n",
    b"\r\n\r\n",
    b"Content-Length: ",
    b"content-length",
    b"-1",
    b"99999999999999999999",
    b"\xef\xbb\xbf",
    b"\\ud800",
    b'"id":',
    b"[" * 40,
    b"x" * 40,
]

streams = st.one_of(
    st.binary(max_size=120),
    st.lists(st.sampled_from(PIECES), max_size=8).map(b"".join),
    mutations(st.sampled_from([LINES, HEADED])),
)


def pieces(data: bytes, cuts: list[int]) -> list[bytes]:
    """The data, cut there."""
    edges = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    return [data[start:stop] for start, stop in itertools.pairwise(edges)]


def feed(framer: Framer, chunks: list[bytes]) -> list[Frame | Fault]:
    """Everything that comes of these chunks, the end included."""
    return [item for chunk in chunks for item in framer.feed(chunk)] + framer.end()


def messages(items: list[Frame | Fault], limits: Limits) -> list[Message | Fault]:
    """What the frames are, batches taken apart."""
    out: list[Message | Fault] = []
    for item in items:
        message = item if isinstance(item, Fault) else decode(item, limits)
        out += message.items if isinstance(message, Batch) else (message,)
    return out


@pytest.mark.parametrize("limits", LIMITS, ids=["usual", "tiny"])
@pytest.mark.parametrize("new", FRAMERS.values(), ids=FRAMERS.keys())
@given(data=streams, cuts=st.lists(st.integers(0, 400), max_size=6))
@thorough(300, in_ci=1_000)
def test_any_stream_cut_anywhere_gives_the_same_and_raises_nothing(
    new: NewFramer, limits: Limits, data: bytes, cuts: list[int]
) -> None:
    whole = feed(new(limits), [data])

    assert feed(new(limits), pieces(data, cuts)) == whole
    for item in whole:
        if isinstance(item, Fault):
            assert len(item.data) <= limits.excerpt_bytes
        else:
            assert len(item) <= limits.message_bytes


@pytest.mark.parametrize("limits", LIMITS, ids=["usual", "tiny"])
@pytest.mark.parametrize("new", FRAMERS.values(), ids=FRAMERS.keys())
@given(data=streams)
@thorough(200, in_ci=500)
def test_any_stream_is_understood_as_messages_and_faults(new: NewFramer, limits: Limits, data: bytes) -> None:
    for message in messages(feed(new(limits), [data]), limits):
        match message:
            case Fault():
                reply = message.answer()
                assert reply is None or isinstance(decode(encode(reply)), ErrorResponse)
            case Request(id=id) | Response(id=id):
                assert isinstance(decode(encode(Response(id, b"{}"))), Response)
            case _:
                assert decode(encode(message)) == message


@given(data=streams)
@thorough(200, in_ci=1_000)
def test_a_peer_survives_any_stream(data: bytes) -> None:
    peer = Peer()
    for _ in range(3):
        peer.request("tools/call", b"{}", 0.0, timeout=10, progress=True)
    for now, message in enumerate(messages(feed(DetectingFramer(), [data]), Limits())):
        if isinstance(message, Fault):
            peer.receive_fault(message)
        else:
            peer.receive(message, float(now))
    open_at_the_end = peer.outgoing

    assert len(peer.close()) == open_at_the_end


@given(data=streams)
@thorough(200, in_ci=1_000)
def test_the_pure_functions_take_anything(data: bytes) -> None:
    assert isinstance(parse_message_line(data), Request | Notification | Fault)
    assert data.endswith(parse_messages(data).remaining)


@given(st.lists(st.integers(0, 3), min_size=1, max_size=6))
@thorough(100)
def test_one_bad_message_costs_no_other(order: list[int]) -> None:
    """Whatever stands between them, the good ones come out in their order."""
    good = [b'{"jsonrpc":"2.0","id":%d,"method":"x"}' % at for at in range(len(order))]
    bad = [b"{nope", b"", b'{"jsonrpc":"2.0","id":"\xff","method":"x"}', b"\xef\xbb\xbf"]
    lines = b"".join(b"%b\n%b\n" % (bad[kind], line) for kind, line in zip(order, good, strict=True))
    framed = b"".join(
        b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
        for kind, line in zip(order, good, strict=True)
        for body in (bad[kind], line)
    )

    for new, data in ((NewlineFramer, lines), (ContentLengthFramer, framed)):
        read = messages(feed(new(), [data]), Limits())
        assert [each.frame for each in read if isinstance(each, Request)] == good
