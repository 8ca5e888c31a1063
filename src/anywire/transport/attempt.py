"""One start of a child, and what its first messages say about it."""

from __future__ import annotations

import asyncio

from anywire.transport.process import ChildProcess
from anywire.transport.silence import FirstWords
from anywire.wire.codec import decode
from anywire.wire.evidence import EvidenceFramer
from anywire.wire.framing import Frame, Framer, Framing
from anywire.wire.limits import Limits
from anywire.wire.message import Batch, ErrorResponse, Fault, Message, Response

__all__ = ("Attempt", "is_answer", "is_message", "is_refusal")


class Attempt:
    """One start of the child: the framing it is spoken to in, and what has come of it."""

    def __init__(self, writing: Framing, framer: Framer) -> None:
        self.writing = writing
        self.framer = framer
        self.child: ChildProcess | None = None
        self.words = FirstWords()
        self.early = bytearray()  # what it wrote before we were ready
        self.answered = False
        self.output_ended = asyncio.Event()
        self.deaf = False  # it closed its stdin and runs on
        self.useless = asyncio.Event()  # ... and something that was sent is lost

    @property
    def reading(self) -> Framing | None:
        """The framing that came back, None while nothing or only noise did."""
        return self.framer.framing if isinstance(self.framer, EvidenceFramer) else None


def is_message(frame: Frame | Fault, limits: Limits) -> bool:
    """Say whether this is a message at all."""
    return not isinstance(frame, Fault) and not isinstance(decode(frame, limits), Fault)


def is_answer(frame: Frame | Fault) -> bool:
    """Say whether this answers something that was asked."""
    message = frame if isinstance(frame, Fault) else decode(frame)
    if isinstance(message, Batch):
        return any(isinstance(item, Response | ErrorResponse) for item in message.items)
    return isinstance(message, Response | ErrorResponse) and not is_refusal(message)


def is_refusal(message: Message | Batch | Fault) -> bool:
    """Say whether this answers something that was not understood so far as to know its id."""
    return isinstance(message, ErrorResponse) and message.id in (None, b"null")
