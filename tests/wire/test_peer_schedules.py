"""The peer in any order of events: random schedules, and a machine that shrinks what it finds."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from anywire.wire.message import NULL_ID, FaultKind
from tests.wire.conversation import SPELLINGS, THEIR_IDS, Conversation
from tests.wire.strategies import thorough

BLOCKS, SCHEDULES = 20, 500
TIMEOUTS: tuple[float | None, ...] = (None, 1.0, 2.0, 5.0)
REPLY_DATA = (b"", b'{"level":"error","error":1}', b'{"jsonrpc":"2.0","result":')
KINDS = (FaultKind.PARSE_ERROR, FaultKind.TOO_LARGE)


def number(conversation: Conversation, random: Random) -> int:
    """The number of a request of ours: mostly one in flight, sometimes one settled or never begun."""
    if conversation.waiting and random.random() < 0.7:
        return int(random.choice(list(conversation.waiting)))
    return random.randrange(conversation.begun + 2)


Step = Callable[[Conversation, Random], None]
STEPS: list[tuple[int, Step]] = [
    (
        5,
        lambda c, r: c.request(
            r.choice(("initialize", "tools/call")),
            r.choice(TIMEOUTS),
            r.choice((*TIMEOUTS, 8.0)),
            r.random() < 0.5,
        ),
    ),
    (4, lambda c, r: c.reply(number(c, r), r.randrange(len(SPELLINGS)), r.random() < 0.3)),
    (1, lambda c, r: c.error_without_id(r.choice((None, NULL_ID)))),
    (
        1,
        lambda c, r: c.fault(
            r.choice((None, number(c, r))), r.choice(KINDS), r.random() < 0.7, r.choice(REPLY_DATA)
        ),
    ),
    (1, lambda c, r: c.cancel(number(c, r), r.choice(("", "enough")))),
    (3, lambda c, r: c.progress(number(c, r), r.randrange(len(SPELLINGS)))),
    (4, lambda c, r: c.pass_time(r.choice((0.0, 0.5, 1.0, 3.0)))),
    (3, lambda c, r: c.their_request(r.choice(THEIR_IDS))),
    (2, lambda c, r: c.respond(r.choice(THEIR_IDS))),
    (1, lambda c, r: c.their_cancel(r.choice(THEIR_IDS))),
]


@pytest.mark.parametrize("block", range(BLOCKS))
def test_in_ten_thousand_schedules_each_request_is_settled_once(block: int) -> None:
    """Twenty blocks of five hundred; the seed is in the message when one fails."""
    weights, steps = zip(*STEPS, strict=True)
    for seed in range(block * SCHEDULES, (block + 1) * SCHEDULES):
        random = Random(seed)
        conversation = Conversation()
        try:
            for step in random.choices(steps, weights, k=random.randrange(4, 40)):
                step(conversation, random)
                conversation.check()
            conversation.finish()
        except Exception as error:
            error.add_note(f"seed {seed}")
            raise


class PeerMachine(RuleBasedStateMachine):
    """The same steps, chosen by Hypothesis."""

    def __init__(self) -> None:
        super().__init__()
        self.conversation = Conversation()

    numbers = st.integers(0, 6)
    spellings = st.integers(0, len(SPELLINGS) - 1)
    their_ids = st.sampled_from(THEIR_IDS)

    @rule(
        method=st.sampled_from(["initialize", "tools/call"]),
        timeout=st.sampled_from(TIMEOUTS),
        total=st.sampled_from(TIMEOUTS),
        progress=st.booleans(),
    )
    def request(self, method: str, timeout: float | None, total: float | None, progress: bool) -> None:
        """We ask."""
        self.conversation.request(method, timeout, total, progress)

    @rule(number=numbers, spelling=spellings, failure=st.booleans())
    def reply(self, number: int, spelling: int, failure: bool) -> None:
        """The peer answers."""
        self.conversation.reply(number, spelling, failure)

    @rule(id=st.sampled_from([None, NULL_ID]))
    def error_without_id(self, id: bytes | None) -> None:
        """The peer could not read something."""
        self.conversation.error_without_id(id)

    @rule(
        number=st.none() | numbers,
        kind=st.sampled_from(KINDS),
        is_reply=st.booleans(),
        data=st.sampled_from(REPLY_DATA),
    )
    def fault(self, number: int | None, kind: FaultKind, is_reply: bool, data: bytes) -> None:
        """Something came that is no message."""
        self.conversation.fault(number, kind, is_reply, data)

    @rule(number=numbers, reason=st.sampled_from(["", "enough"]))
    def cancel(self, number: int, reason: str) -> None:
        """We give up."""
        self.conversation.cancel(number, reason)

    @rule(number=numbers, spelling=spellings)
    def progress(self, number: int, spelling: int) -> None:
        """The peer reports."""
        self.conversation.progress(number, spelling)

    @rule(seconds=st.sampled_from([0.0, 0.5, 1.0, 3.0, 10.0]))
    def pass_time(self, seconds: float) -> None:
        """Time passes."""
        self.conversation.pass_time(seconds)

    @rule(id=their_ids)
    def their_request(self, id: bytes) -> None:
        """The peer asks."""
        self.conversation.their_request(id)

    @rule(id=their_ids)
    def respond(self, id: bytes) -> None:
        """We answer."""
        self.conversation.respond(id)

    @rule(id=their_ids)
    def their_cancel(self, id: bytes) -> None:
        """The peer gives up."""
        self.conversation.their_cancel(id)

    @precondition(lambda self: self.conversation.begun > 2 and not self.conversation.theirs)
    @rule()
    def close(self) -> None:
        """The wire ends, once or again."""
        self.conversation.close()

    @invariant()
    def agrees(self) -> None:
        """At any time the peer and the model agree."""
        self.conversation.check()

    def teardown(self) -> None:
        """At the end all is settled."""
        self.conversation.finish()


TestPeerMachine = PeerMachine.TestCase
TestPeerMachine.settings = settings(thorough(60, in_ci=400), stateful_step_count=20)
