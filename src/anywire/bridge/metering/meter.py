"""What became of one server behind a bridge: its state, its starts, its calls.

All conversations with a server feed one meter, one after the other or at once.  Times (`now`) are seconds on
a clock that does not run backwards.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import TYPE_CHECKING

import msgspec

from anywire.bridge.discretion import plain_sentence
from anywire.bridge.metering.calls import Calls, label_of
from anywire.bridge.recovery.respawn import left_in_order
from anywire.errors import AnywireError

if TYPE_CHECKING:
    from anywire.bridge.metering.conversation import MeteredConversation

__all__ = ("LastError", "ServerMeter", "State")


class State(Enum):
    """What a server is doing."""

    #: Nobody uses it.
    IDLE = "idle"
    #: It is being started, or has not said anything yet.
    STARTING = "starting"
    #: It has answered in at least one conversation that is open.
    RUNNING = "running"
    #: The last start or conversation failed, and it has said nothing since.
    FAILING = "failing"
    #: Its owner does not want it.
    DISABLED = "disabled"
    #: It cannot be used as it was set up.
    REFUSED = "refused"


class LastError(msgspec.Struct, frozen=True):
    """The last thing that went wrong: when, and what, for whoever runs the bridge.

    `plain` is what strangers may know of it.
    """

    at: float
    text: str
    plain: str


class ServerMeter:
    """Counts, and says in which state the server is.  `MeterLayer` feeds it; its owner may set the state."""

    def __init__(self, name: str, now: float) -> None:
        #: What the server is called.
        self.name = name
        #: When it came into the state in which it is.
        self.since = now
        #: Conversations that were begun: children started, or connections over HTTP.
        self.starts = 0
        #: Those of them that came after a loss.
        self.restarts = 0
        #: What it sent that is no message.
        self.noise_lines = 0
        self.last_error: LastError | None = None
        #: Why its owner has disabled or refused it, empty where that is not so.
        self.reason = ""
        #: Counts the sessions of clients that use it; None: as many as there are conversations.
        self.count_sessions: Callable[[], int] | None = None
        #: Whether it is to be told of the next message: whatever comes says that all is well.
        self.in_trouble = False
        self._owners: State | None = None
        self._state = State.IDLE
        self._up_since: float | None = None
        self._losses = 0  # that no start has followed yet
        self._calls: dict[str, Calls] = {}
        self._by_label: dict[str, Calls] = {}
        self._starting: set[MeteredConversation] = set()
        self._open: set[MeteredConversation] = set()

    def __repr__(self) -> str:
        return f"<ServerMeter {self.name!r} {self.state.value}, {len(self._open)} conversations>"

    # What is known.

    @property
    def state(self) -> State:
        """What it is doing."""
        return self._state

    @property
    def conversations(self) -> int:
        """How many conversations with it are open."""
        return len(self._open)

    @property
    def children(self) -> int:
        """How many of them are with child processes."""
        return sum(conversation.is_child for conversation in list(self._open))

    @property
    def sessions(self) -> int:
        """How many sessions of clients use it."""
        return len(self._open) if self.count_sessions is None else self.count_sessions()

    @property
    def in_flight(self) -> int:
        """How many requests to it wait for their answer."""
        return sum(conversation.waiting for conversation in list(self._open))

    @property
    def methods(self) -> Mapping[str, Calls]:
        """What was asked, by method; what MCP does not have is under `other`."""
        return self._by_label

    def uptime(self, now: float) -> float:
        """Return for how many seconds at least one conversation has been open, 0 where none is."""
        return 0.0 if self._up_since is None else now - self._up_since

    def calls(self, method: str) -> Calls:
        """Return where the calls of a method are counted."""
        known = self._calls.get(method)
        if known is not None:
            return known
        label = label_of(method)
        calls = self._by_label.setdefault(label, Calls(label))
        if label == method:
            self._calls[method] = calls
        return calls

    # What its owner says.

    def disable(self, reason: str, now: float) -> None:
        """It is not wanted, for that reason."""
        self._owners, self.reason = State.DISABLED, reason
        self._look(now)

    def refuse(self, reason: str, now: float) -> None:
        """It cannot be used as it was set up, for that reason."""
        self._owners, self.reason = State.REFUSED, reason
        self._look(now)

    def allow(self, now: float) -> None:
        """It may be used, from now on or again."""
        self._owners, self.reason = None, ""
        self._look(now)

    # What its conversations say.

    def starting(self, conversation: MeteredConversation, now: float) -> None:
        """A conversation is being opened."""
        self._starting.add(conversation)
        self._count_start()
        self._look(now)

    def started(self, conversation: MeteredConversation, now: float) -> None:
        """It is open; the server is there when it has said something."""
        self._open.add(conversation)
        self._look(now)

    def answered(self, conversation: MeteredConversation, now: float) -> None:
        """The server has said its first word."""
        self._starting.discard(conversation)
        self._look(now)

    def ended(self, conversation: MeteredConversation, now: float) -> None:
        """It is over, as was wanted."""
        self._starting.discard(conversation)
        self._open.discard(conversation)
        self._look(now)

    def lost(self, conversation: MeteredConversation, error: AnywireError | None, now: float) -> None:
        """It ended by itself, or could not be opened."""
        self._starting.discard(conversation)
        self._open.discard(conversation)
        self._losses += 1
        if left_in_order(error):
            self._look(now)
        else:
            self.trouble(error, now)

    def reopened(self) -> None:
        """The server had lost the conversation, which was opened again."""
        self._losses += 1
        self._count_start()

    def trouble(self, error: AnywireError | None, now: float) -> None:
        """It does not work, as far as is known."""
        self.in_trouble = True
        if error is not None:
            self.note(error, now)
        self._look(now)

    def note(self, error: AnywireError, now: float) -> None:
        """Something went wrong that says little of the server."""
        self.last_error = LastError(now, str(error), plain_sentence(error))

    def spoke(self, now: float) -> None:
        """It has said something: it works."""
        self.in_trouble = False
        self._look(now)

    def _count_start(self) -> None:
        self.starts += 1
        if self._losses:
            self._losses -= 1
            self.restarts += 1

    def _look(self, now: float) -> None:
        """See in which state it is by now."""
        if not self._open:
            self._up_since = None
        elif self._up_since is None:
            self._up_since = now
        state = self._owners or self._own_state()
        if state is not self._state:
            self._state, self.since = state, now

    def _own_state(self) -> State:
        if self.in_trouble:
            return State.FAILING
        if self._open - self._starting:
            return State.RUNNING
        return State.STARTING if self._starting else State.IDLE
