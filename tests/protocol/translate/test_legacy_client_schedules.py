"""A handshake client before a stateless server in any order of events: each request of either side ends once."""

from __future__ import annotations

from typing import Any, cast

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from anywire.errors import TransportBroken
from anywire.wire.codec import encode_value
from anywire.wire.limits import DEFAULT_LIMITS
from tests.protocol.translate.stage import KEY, Stage
from tests.wire.strategies import thorough

LIMITS = DEFAULT_LIMITS.replace(rounds=3, subscriptions=3, input_seconds=30.0, request_seconds=20.0)
IDS = ("a", 1, "1", 2, -3, "b", 1.5)
URIS = ("x:1", "x:2", "x:3", "x:4")
METHODS = ("tools/call", "resources/read", "acme/do", "ping", "logging/setLevel")
QUESTION = {"method": "roots/list"}


class Schedule(RuleBasedStateMachine):
    """Each request of the client's carries a token, which comes back with its answer and no other."""

    def __init__(self) -> None:
        super().__init__()
        self.stage = Stage(limits=LIMITS)
        self.unanswered: dict[object, int] = {}  # the client's requests: the tokens
        self.in_flight: dict[int, int | None] = {}  # the requests to the server: the tokens, None for listens
        self.questions: dict[str, int] = {}
        self.used: set[object] = set()
        self.tokens = 0

    @initialize(batches=st.booleans(), linger=st.sampled_from([0.0, 0.25]))
    def shake_hands(self, batches: bool, linger: float) -> None:
        self.stage = Stage(limits=LIMITS, linger=linger)
        server = {"tools": {"listChanged": True}, "resources": {"subscribe": True}, "logging": {}}
        self.stage.shake_hands("2025-03-26" if batches else "2025-11-25", server, {"roots": {}})
        self.used |= {1}
        self.look()

    def look(self) -> None:
        """Take what was said, and see that it is due."""
        stage = self.stage
        for said in stage.to_server:
            if said["method"] == "notifications/cancelled":
                assert said["params"]["requestId"] in self.used
                self.in_flight.pop(said["params"]["requestId"], None)
                continue
            assert said["id"] not in self.used
            self.used.add(said["id"])
            self.in_flight[said["id"]] = said["params"].get("token")
        for item in stage.to_client:
            items = cast("list[Any]", item) if isinstance(item, list) else [item]
            for each in items:
                self.look_at(each)
        for id, _ in stage.failed:
            del self.unanswered[next(each for each in self.unanswered if repr(each) == repr_of(id))]
        stage.to_server, stage.to_client, stage.failed = [], [], []

    def look_at(self, said: Any) -> None:
        if isinstance(said, list):
            for item in cast("list[Any]", said):
                self.look_at(item)
        elif said.get("method") == "notifications/cancelled":
            del self.questions[said["params"]["requestId"]]
        elif "method" in said:
            if "id" in said:
                assert said["id"] not in self.used
                self.used.add(said["id"])
                self.questions[said["id"]] = 0
        else:
            token = self.unanswered.pop(key_of(self.unanswered, said["id"]))
            assert said.get("result", {}).get("token", token) == token

    def begin(self, id: object) -> int:
        self.tokens += 1
        self.unanswered[id] = self.tokens
        return self.tokens

    free = st.sampled_from(IDS)

    @rule(id=free, method=st.sampled_from(METHODS))
    def ask(self, id: object, method: str) -> None:
        """The client asks."""
        if not has(self.unanswered, id):
            params = {"token": self.begin(id), "level": "info"}
            self.stage.client({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
            self.look()

    @rule(ids=st.lists(st.sampled_from(IDS), min_size=1, max_size=3, unique_by=repr))
    def ask_at_once(self, ids: list[object]) -> None:
        """The client asks in a batch, where there are batches."""
        if self.stage.machine._terms.revision == "2025-03-26":
            ids = [id for id in ids if not has(self.unanswered, id)]
            batch: list[Any] = [
                {"jsonrpc": "2.0", "id": id, "method": "x/y", "params": {"token": self.begin(id)}}
                for id in ids
            ]
            if batch:
                self.stage.client(batch)
                self.look()

    @rule(id=free, uri=st.sampled_from(URIS), begins=st.booleans())
    def change(self, id: object, uri: str, begins: bool) -> None:
        """The client subscribes, or ends that."""
        if not has(self.unanswered, id):
            self.begin(id)
            method = "resources/subscribe" if begins else "resources/unsubscribe"
            self.stage.client({"jsonrpc": "2.0", "id": id, "method": method, "params": {"uri": uri}})
            self.look()

    @rule(id=free)
    def take_back(self, id: object) -> None:
        """The client wants no answer any more."""
        if self.stage.machine._calls.find(encode_value(id)) is not None:  # else its answer waits for a batch
            del self.unanswered[key_of(self.unanswered, id)]
            self.stage.notify("notifications/cancelled", {"requestId": id})
            self.look()

    @precondition(lambda self: bool(self.in_flight))
    @rule(which=st.integers(0, 20), how=st.sampled_from(["result", "error", "state", "input", "odd", "cut"]))
    def answer(self, which: int, how: str) -> None:
        """The server answers something, or cannot."""
        id = sorted(self.in_flight)[which % len(self.in_flight)]
        token = self.in_flight.pop(id)
        if how == "cut":
            self.stage.take(self.stage.machine.failed(b"%d" % id, TransportBroken("cut"), self.stage.now))
        elif how == "error":
            self.stage.server({"jsonrpc": "2.0", "id": id, "error": {"code": -32602, "message": "no"}})
        else:
            kinds: dict[str, Any] = {
                "result": {"token": token} if token else {},
                "state": {"resultType": "input_required", "requestState": "s"},
                "input": {"resultType": "input_required", "inputRequests": {"a": QUESTION, "b": QUESTION}},
                "odd": {"resultType": "input_required"},
            }
            self.stage.server({"jsonrpc": "2.0", "id": id, "result": kinds[how]})
        self.look()

    @precondition(lambda self: None in self.in_flight.values())
    @rule(honours=st.sets(st.sampled_from(URIS)))
    def acknowledge(self, honours: set[str]) -> None:
        """The server acknowledges the last request of that kind."""
        id = max(id for id, token in self.in_flight.items() if token is None)
        filter = {"resourceSubscriptions": sorted(honours)}
        params = {"_meta": {KEY + "subscriptionId": id}, "notifications": filter}
        said = {"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": params}
        self.stage.server(said)
        self.look()

    @precondition(lambda self: bool(self.questions))
    @rule(which=st.integers(0, 20), refuses=st.booleans())
    def answer_question(self, which: int, refuses: bool) -> None:
        """The client answers, or does not want to."""
        id = sorted(self.questions)[which % len(self.questions)]
        del self.questions[id]
        answer: dict[str, Any] = {"error": {"code": -1, "message": "no"}} if refuses else {"result": {}}
        self.stage.client({"jsonrpc": "2.0", "id": id} | answer)
        self.look()

    @rule(seconds=st.sampled_from([0.1, 1.0, 25.0, 100.0]))
    def pass_time(self, seconds: float) -> None:
        """Time goes by."""
        self.stage.pass_time(seconds)
        self.look()

    @invariant()
    def nothing_waits_for_nothing(self) -> None:
        """What the machine holds is what is unanswered, but for what is gathered for a batch."""
        machine = self.stage.machine
        assert len(machine._calls) <= len(self.unanswered)
        assert len(machine._calls) == len(self.unanswered) or machine._calls.batches.active
        assert len(machine._rounds) == len(self.questions)

    def teardown(self) -> None:
        self.stage.take(self.stage.machine.close())
        self.look()
        assert self.unanswered == {}
        assert self.questions == {}
        assert self.stage.machine.deadline() is None


def repr_of(token: bytes) -> str:
    text = token.decode()
    return repr(text[1:-1]) if text[:1] == '"' else text


def key_of(table: dict[object, int], id: object) -> object:
    return next(each for each in table if repr(each) == repr(id))


def has(table: dict[object, int], id: object) -> bool:
    return any(repr(each) == repr(id) for each in table)


TestSchedule = Schedule.TestCase
TestSchedule.settings = settings(thorough(60, in_ci=300), stateful_step_count=40)
