"""A transport in front of a server of which not everything is there for its clients.

It stands where messages are in the client's era, whichever that is.  A client learns nothing of the rules:
what is hidden is in no list, and asking for it is asking for what does not exist.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from anywire.bridge.policy.asking import Refused, in_one_reading, is_hidden_change, judge
from anywire.bridge.policy.lists import LISTS, Listing, without_hidden
from anywire.bridge.policy.notices import Notices
from anywire.bridge.policy.policy import Policy
from anywire.errors import AnywireError
from anywire.protocol.translate.shapes import with_member
from anywire.transport.contract import Transport, call_back, refuse_when_closed
from anywire.transport.layer import Layer
from anywire.wire.codec import encode
from anywire.wire.message import (
    Batch,
    Fault,
    Message,
    Notification,
    Request,
    Response,
    folded_key,
    id_key,
)
from anywire.wire.scan import scan_array

__all__ = ("PolicyLayer",)

#: So many lists are waited for; those that a client gave up and that never come are forgotten then.
_MOST_LISTS: Final = 10_000


class PolicyLayer(Layer):
    """Passes on what a policy does not hide.  `notices` hears of the rest."""

    def __init__(self, inner: Transport, policy: Policy, notices: Notices) -> None:
        super().__init__(inner)
        self._policy = policy
        self._notices = notices
        self._lists: dict[bytes, Listing] = {}

    # From the client.

    def post(self, message: Message | Batch, related: bytes | None = None) -> None:
        """Send what is not hidden, and answer the rest."""
        refuse_when_closed(self.closed, self.name)
        passed = self._judge(message)
        if passed is not None:
            self._inner.post(passed, related)

    async def send(self, message: Message | Batch, related: bytes | None = None) -> None:
        """As `post`, and wait until there is room for the next message."""
        refuse_when_closed(self.closed, self.name)
        passed = self._judge(message)
        if passed is not None:
            await self._inner.send(passed, related)

    def _judge(self, message: Message | Batch) -> Message | Batch | None:
        if not isinstance(message, Batch):
            return self._judge_one(message)
        items = [item if isinstance(item, Fault) else self._judge_one(item) for item in message.items]
        return _with_items(message, items)

    def _judge_one(self, message: Message) -> Message | None:
        if not isinstance(message, Request | Notification):
            return message
        message = in_one_reading(message)
        if isinstance(message, Request) and (listing := LISTS.get(message.method)) is not None:
            self._expect(message, listing)
            return message
        judged = judge(message, self._policy)
        if not isinstance(judged, Refused):
            return judged
        self._notices.refused(judged)
        if isinstance(message, Request):
            call_back(self.callbacks.on_message, judged.answer(message))
        return None

    def _expect(self, request: Request, listing: Listing) -> None:
        """Remember a list until it comes: a request that was cancelled may have its answer all the same."""
        if self._policy.concerns(listing.kind):
            if len(self._lists) >= _MOST_LISTS:
                del self._lists[next(iter(self._lists))]
            self._lists[id_key(request.id)] = listing

    # From the server.

    def _tell(self, message: Message | Batch) -> None:
        if isinstance(message, Batch):
            items = [item if isinstance(item, Fault) else self._hear(item) for item in message.items]
            heard: Message | Batch | None = _with_items(message, items)
        else:
            heard = self._hear(message)
        if heard is not None:
            self.callbacks.on_message(heard)

    def _hear(self, message: Message) -> Message | None:
        if isinstance(message, Notification):
            return None if is_hidden_change(message, self._policy) else message
        if isinstance(message, Request) or message.id is None or not self._lists:
            return message
        key = id_key(message.id)
        listing = self._lists.pop(key, None)
        if listing is None:
            # A server that writes the number as a text is understood, so it is here.
            listing = self._lists.get(folded_key(key))
        if listing is None or not isinstance(message, Response):
            return message
        result, hidden = without_hidden(message.result, listing, self._policy)
        self._notices.left_out(listing.kind, hidden)
        return with_member(message, "result", result)

    def _tell_failed(self, id: bytes, error: AnywireError) -> None:
        self._lists.pop(id_key(id), None)
        self.callbacks.on_failed(id, error)


def _with_items(batch: Batch, items: Sequence[Message | Fault | None]) -> Batch | None:
    """Return a batch with other items in the places of its own, None: left out; None for one of no items."""
    if all(item is old for item, old in zip(items, batch.items, strict=True)):
        return batch
    raws = scan_array(batch.frame, len(batch.items)) if batch.frame else [b""] * len(batch.items)
    kept: list[Message | Fault] = []
    frames: list[bytes] = []
    for item, old, raw in zip(items, batch.items, raws, strict=True):
        if item is None:
            continue
        kept.append(item)
        if raw and (item is old or isinstance(item, Fault)):
            frames.append(raw)
        elif not isinstance(item, Fault):
            frames.append(encode(item))
    return Batch(tuple(kept), b"[%b]" % b",".join(frames)) if frames else None
