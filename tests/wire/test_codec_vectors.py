"""Every codec vector: what one frame is."""

from __future__ import annotations

from anywire.wire.codec import decode, encode
from anywire.wire.message import Batch, Fault
from tests.wire.vectors import Vector, each_vector, render


@each_vector("codec.txt")
def test_a_frame_is_what_the_vector_says(vector: Vector) -> None:
    assert render(decode(vector.data, vector.limits)) == vector.out


@each_vector("codec.txt")
def test_a_message_goes_back_as_it_came(vector: Vector) -> None:
    message = decode(vector.data, vector.limits)

    if isinstance(message, Batch | Fault):
        return
    sent = encode(message)

    assert sent.strip() == vector.data.strip().removeprefix(b"\xef\xbb\xbf").strip()


@each_vector("codec.txt")
def test_what_has_a_result_or_an_error_is_never_answered(vector: Vector) -> None:
    message = decode(vector.data, vector.limits)

    for item in message.items if isinstance(message, Batch) else (message,):
        if isinstance(item, Fault):
            assert (item.answer() is None) == item.is_reply
