"""Calls whose server asks its client: rounds there, replies here, and each call made once."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from anywire.errors import LimitExceeded, TransportBroken
from anywire.protocol.modern import Envelope, read_envelope
from tests.protocol.translate.virtual import Played, message, request

CALL = {"name": "t", "arguments": {"a": 1}}
DONE: dict[str, Any] = {"id": 2, "result": {"content": []}}
FORM: dict[str, Any] = {"message": "Who?", "requestedSchema": {"type": "object", "properties": {}}}
ACCEPT: dict[str, Any] = {"action": "accept", "content": {}}


def asking(method: str = "tools/call", **said: Any) -> Played:
    """A call that runs at the server."""
    return Played(request(method, CALL, **said)).greet()


@pytest.mark.parametrize("method", ["tools/call", "prompts/get", "resources/read"])
def test_a_question_is_an_answer_and_its_answer_a_reply(method: str) -> None:
    """The call is made once; its result answers the request that was made last."""
    played = asking(method).ask("q", "elicitation/create", FORM)
    assert played.round() == {"elicitation-1": {"method": "elicitation/create", "params": FORM}}
    assert (played.call.held, played.conversation.over) == (True, False)
    played.come_back({"elicitation-1": ACCEPT}, id=8)
    assert played.last() == {"jsonrpc": "2.0", "id": "q", "result": ACCEPT}
    answer = played.say(DONE).answer()
    assert (answer["id"], answer["result"]["resultType"]) == (8, "complete")
    assert sum(b'"%b"' % method.encode() in sent for sent in played.sent) == 1


def test_what_is_asked_and_answered_keeps_its_bytes() -> None:
    """But for the token of a progress that nobody reports, and an id that nothing is told of."""
    played = asking()
    params = b'{"message":"\\ud83d","_meta":{"progressToken":3},"mode":"url","url":"u:","elicitationId":"e","n":1E400}'
    played.say(b'{"jsonrpc":"2.0","id":1.0,"method":"elicitation/create","params":%b}' % params)
    played.do(played.call.ask("S"))
    assert b'"params":{"message":"\\ud83d","mode":"url","url":"u:","n":1E400}' in played.answers.pop()

    again = request("tools/call", CALL, id=8)
    answer = b'{"action":"accept","content":{"\\udc00":12345678901234567890123},"z": 1.0}'
    raw = (again.params or b"")[:-1] + b',"inputResponses":{"elicitation-1":%b}}' % answer
    made = message(b'{"jsonrpc":"2.0","id":8,"method":"tools/call","params":%b}' % raw)
    envelope = read_envelope(raw)
    assert isinstance(envelope, Envelope)
    assert not played.call.fault_of(made)  # pyright: ignore[reportArgumentType] it is a request
    played.do(played.call.resume(made, envelope))  # pyright: ignore[reportArgumentType] as above
    assert played.sent[-1] == b'{"jsonrpc":"2.0","id":1.0,"result":%b}' % answer


def test_questions_of_one_moment_share_a_round() -> None:
    """Whatever they are; a question without params has none."""
    played = asking().ask(1, "roots/list").ask(2, "sampling/createMessage", {"messages": [], "maxTokens": 1})
    assert played.round() == {
        "roots-1": {"method": "roots/list"},
        "sampling-2": {"method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 1}},
    }
    said = {"role": "assistant", "content": {"type": "text", "text": "x"}, "model": "m"}
    played.come_back({"roots-1": {"roots": []}, "sampling-2": said})
    assert [json.loads(sent) for sent in played.sent[-2:]] == [
        {"jsonrpc": "2.0", "id": 1, "result": {"roots": []}},
        {"jsonrpc": "2.0", "id": 2, "result": said},
    ]


def test_questions_between_two_rounds_wait_for_the_next() -> None:
    """Under names of their own."""
    played = asking().ask(1, "elicitation/create", FORM)
    played.round()
    assert not played.ask(2, "elicitation/create", FORM).call.wants_input
    played.come_back({"elicitation-1": ACCEPT}, id=8)
    assert played.round("T").keys() == {"elicitation-2"}
    played.come_back({"elicitation-2": ACCEPT, "elicitation-1": ACCEPT, "else": 5}, id=9)
    assert [json.loads(sent)["id"] for sent in played.sent[-2:]] == [1, 2]
    assert played.say(DONE).answer()["id"] == 9


def test_what_was_not_answered_is_asked_again() -> None:
    """That is no error."""
    played = asking().ask(1, "elicitation/create", FORM).ask(2, "roots/list")
    played.round()
    played.come_back({"roots-2": {"roots": []}})
    assert played.round().keys() == {"elicitation-1"}
    played.come_back({})
    assert played.round().keys() == {"elicitation-1"}


NO_ANSWERS: list[Any] = [
    ("elicitation/create", FORM, {"action": "maybe"}),
    ("elicitation/create", FORM, 5),
    ("roots/list", None, {}),
    ("sampling/createMessage", {}, {"role": "assistant"}),
]


@pytest.mark.parametrize(("method", "params", "answer"), NO_ANSWERS)
def test_an_answer_that_is_none_is_a_fault(method: str, params: Any, answer: Any) -> None:
    """The server is not told of it, and goes on waiting."""
    played = asking().ask(1, method, params)
    (key,) = played.round()
    again = request("tools/call", {**CALL, "inputResponses": {key: answer}})
    fault = played.call.fault_of(again)
    assert fault.startswith(f"the answer '{key}' to {method} cannot be used: ")
    assert (
        played.call.fault_of(request("tools/call", {**CALL, "inputResponses": 5}))
        == "inputResponses is no object"
    )
    assert played.call.held


def test_a_server_that_answers_between_two_rounds_is_heard_in_the_next() -> None:
    """It may have lost its patience; nothing more is wanted of it then."""
    played = asking().ask(1, "elicitation/create", FORM)
    played.round()
    assert not played.call.is_late
    played.say(DONE)
    assert (played.call.is_late, played.answers, played.conversation.over) == (True, [], False)
    played.ask(3, "roots/list").do(played.conversation.lose(TransportBroken("gone")))
    sent = len(played.sent)
    answer = played.come_back({"elicitation-1": ACCEPT}, id=9).answer()
    assert (answer["id"], answer["result"]["content"], len(played.sent)) == (9, [], sent)


def test_a_server_that_is_lost_between_two_rounds_fails_the_next() -> None:
    """With the reason."""
    played = asking().ask(1, "elicitation/create", FORM)
    played.round()
    reason = TransportBroken("exited with code 3")
    played.do(played.conversation.lose(reason))
    assert played.failures == []
    played.come_back({"elicitation-1": ACCEPT})
    assert (played.failures, played.answers, played.conversation.over) == ([reason], [], True)


def test_a_call_that_is_given_up_between_two_rounds_is_cancelled_at_the_server() -> None:
    """Its client has had its answer: what was asked."""
    played = asking().ask(1, "elicitation/create", FORM)
    played.round()
    played.do(played.conversation.cancel("the client did not come back"))
    assert played.last()["params"] == {"requestId": 2, "reason": "the client did not come back"}
    assert (played.answers, played.failures) == ([], [])


def test_a_question_that_the_server_takes_back_is_not_asked() -> None:
    """Between two rounds, an answer to it is not passed on."""
    played = asking().ask("q", "elicitation/create", FORM)
    taken_back = {"method": "notifications/cancelled", "params": {"requestId": "q"}}
    assert not played.say(taken_back).call.wants_input
    played.ask("r", "elicitation/create", FORM)
    played.round()
    sent = len(played.sent)
    played.say({**taken_back, "params": {"requestId": "r"}}).come_back({"elicitation-2": ACCEPT})
    assert (len(played.sent), played.call.wants_input) == (sent, False)
    played.say(DONE).answer()


def test_nothing_is_told_between_two_rounds() -> None:
    """There is no request that it could be told on."""
    played = asking(level="debug", progressToken=1).say({"id": 2, "result": {}}).ask(1, "roots/list")
    played.round()
    log = {"method": "notifications/message", "params": {"level": "error", "data": 1}}
    progress = {"method": "notifications/progress", "params": {"progressToken": 1, "progress": 1}}
    assert played.say(log, progress, {"method": "x/y"}).told == []
    played.come_back({"roots-1": {"roots": []}}, progressToken="new", level="debug")
    played.say(log, progress)
    assert json.loads(played.told[1])["params"] == {"progressToken": "new", "progress": 1}
    assert len(played.told) == 2


def test_a_round_may_want_other_log_messages() -> None:
    """The server is told before it gets the answers."""
    played = asking().ask(1, "roots/list")
    played.round()
    played.come_back({"roots-1": {"roots": []}}, level="error")
    assert [json.loads(sent).get("method") for sent in played.sent[-2:]] == ["logging/setLevel", None]
    played.say({"id": 3, "result": {}}, DONE).answer()


def test_what_a_lost_conversation_asked_is_void() -> None:
    """Its ids may come again."""
    played = asking().ask(1, "roots/list")
    played.do(played.conversation.reopened())
    assert not played.call.wants_input
    played.say(DONE).answer()


def test_questions_are_bounded() -> None:
    """More are refused, and the call goes on."""
    played = asking()
    for id in range(101):
        played.ask(id, "roots/list")
    assert (played.last()["id"], played.last()["error"]["code"]) == (100, -32603)
    assert len(played.round()) == 100


def test_a_client_that_cannot_be_asked_now_is_not() -> None:
    """The server hears why, and may do without."""
    played = asking().ask(1, "roots/list").ask(2, "roots/list")
    played.do(played.call.refuse_questions(LimitExceeded("too many calls wait")))
    assert [json.loads(sent)["error"]["message"] for sent in played.sent[-2:]] == ["too many calls wait"] * 2
    assert not played.call.wants_input
    played.say(DONE).answer()


def test_what_is_kept_is_counted() -> None:
    """The params, the questions, and what the server said meanwhile; it may be given up."""
    played = asking().ask(1, "roots/list", {"x": "y" * 1000})
    played.round()
    before = played.call.size
    assert before > 1000
    played.say({"id": 2, "result": {"x": "y" * 5000}})
    assert played.call.size > before + 5000
    played.call.give_up(LimitExceeded("too much"))
    assert played.call.size < before
    assert [str(error) for error in played.come_back({}).failures] == ["too much"]


# Visits that an error wants.

VISIT = {"mode": "url", "message": "Sign in", "url": "https://a.example/", "elicitationId": "e"}
WANTED: dict[str, Any] = {
    "code": -32042,
    "message": "Sign in first",
    "data": {"elicitations": [VISIT], "x": 1},
}
ASKED = {
    "method": "elicitation/create",
    "params": {"mode": "url", "message": "Sign in", "url": "https://a.example/"},
}


def test_an_error_that_wants_a_visit_is_a_question_and_then_the_call_is_made_again() -> None:
    """As a client of 2025-11-25 makes it again."""
    played = asking().say({"id": 2, "error": WANTED})
    assert played.round() == {"elicitation-1": ASKED}
    played.come_back({})
    assert played.round() == {"elicitation-1": ASKED}
    played.come_back({"elicitation-1": {"action": "accept"}}, id=9)
    assert played.last() == {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": CALL}
    assert played.say({"id": 3, "result": {}}).answer()["id"] == 9


@pytest.mark.parametrize("action", ["decline", "cancel"])
def test_a_visit_that_the_user_does_not_want_leaves_the_error(action: str) -> None:
    """Under a code that this era has."""
    played = asking().say({"id": 2, "error": WANTED})
    played.round()
    played.come_back({"elicitation-1": {"action": action}})
    assert played.answer()["error"] == {**WANTED, "code": -32603}


@pytest.mark.parametrize("capabilities", [{}, {"elicitation": {}}, {"elicitation": {"form": {}}}])
def test_a_client_that_can_visit_nothing_is_told_what_it_would_need(capabilities: Any) -> None:
    """As this era says it."""
    played = asking(capabilities=capabilities).say({"id": 2, "error": WANTED})
    data: dict[str, Any] = {**WANTED["data"], "requiredCapabilities": {"elicitation": {"url": {}}}}
    assert played.answer()["error"] == {"code": -32021, "message": "Sign in first", "data": data}


@pytest.mark.parametrize(
    "data", [None, {}, {"elicitations": 5}, {"elicitations": []}, {"elicitations": [VISIT, {}]}]
)
def test_visits_that_cannot_be_read_are_not_asked_for(data: Any) -> None:
    """The error is the answer."""
    given = {} if data is None else {"data": data}
    played = asking().say({"id": 2, "error": {"code": -32042, "message": "m", **given}})
    assert played.answer()["error"] == {"code": -32603, "message": "m", **given}


def test_a_server_that_is_lost_while_a_user_visits_fails_the_next_round() -> None:
    """There is nobody to make the call to."""
    played = asking().say({"id": 2, "error": WANTED})
    played.round()
    reason = TransportBroken("gone")
    played.do(played.conversation.lose(reason))
    assert played.come_back({"elicitation-1": {"action": "accept"}}).failures == [reason]


# In any order.


class RoundsMachine(RuleBasedStateMachine):
    """A client that makes its rounds and a server that asks, answers, takes back and dies, as they like."""

    def __init__(self) -> None:
        super().__init__()
        self.played = Played(request("tools/call", CALL, id=0))
        self.rounds = 0
        self.settled: dict[int, int] = {}
        self.withdrawn: set[int] = set()
        self.open: dict[str, Any] = {}
        self.ids = 0

    def count(self) -> None:
        """Each answer and each failure settles the request of the last round."""
        for raw in self.played.answers:
            id = json.loads(raw)["id"]
            self.settled[id] = self.settled.get(id, 0) + 1
        if self.played.failures:
            id = int(self.played.conversation.id)
            self.settled[id] = self.settled.get(id, 0) + len(self.played.failures)
        self.played.answers.clear()
        self.played.failures.clear()

    @initialize(greeted=st.sampled_from([True, True, True, False]))
    def begin(self, greeted: bool) -> None:
        if greeted:
            self.greet()

    @rule()
    def greet(self) -> None:
        self.played.greet()

    @rule(method=st.sampled_from(["roots/list", "elicitation/create", "elicitation/create", "x/y"]))
    def ask(self, method: str) -> None:
        self.ids += 1
        self.played.ask(self.ids, method, FORM if method == "elicitation/create" else None)

    @rule()
    def take_back(self) -> None:
        self.played.say({"method": "notifications/cancelled", "params": {"requestId": self.ids}})

    @rule(visits=st.sampled_from([True, True, True, False]), id=st.sampled_from([9, 9, 9, 2, 3]))
    def answer(self, visits: bool, id: int) -> None:
        self.played.say({"id": id, "error": WANTED} if visits else {"id": id, "result": {}})

    @precondition(lambda self: self.played.call.wants_input)
    @rule(refused=st.sampled_from([False, False, False, True]))
    def flush(self, refused: bool) -> None:
        if refused:
            self.played.do(self.played.call.refuse_questions(LimitExceeded("full")))
            return
        self.played.do(self.played.call.ask("S"))
        self.open = json.loads(self.played.answers[-1])["result"]["inputRequests"]

    @precondition(lambda self: self.played.call.held and not self.played.conversation.over)
    @rule(data=st.data())
    def come_back(self, data: st.DataObject) -> None:
        self.rounds += 1
        keys = data.draw(st.sets(st.sampled_from(sorted(self.open))))
        answers: dict[str, Any] = {key: {"roots": []} if key.startswith("roots") else ACCEPT for key in keys}
        self.played.come_back(answers, id=self.rounds)

    @rule(how=st.sampled_from(["not"] * 12 + ["in order", "broken", "unsent", "cancelled"]))
    def end(self, how: str) -> None:
        conversation = self.played.conversation
        match how:
            case "in order" | "broken":
                self.played.do(conversation.lose(TransportBroken("gone") if how == "broken" else None))
            case "unsent":
                self.played.do(conversation.fail_sent(b"2", TransportBroken("HTTP 500")))
            case "cancelled" if not self.played.call.held:
                if not conversation.over:
                    self.withdrawn.add(self.rounds)
                self.played.do(conversation.cancel("enough"))
            case _:
                pass

    @invariant()
    def each_request_is_settled_once_and_each_question_answered_once(self) -> None:
        self.count()
        for round in range(self.rounds):
            assert self.settled.get(round) == 1
        last = self.settled.get(self.rounds, 0)
        call = self.played.call
        awaited = not call.held and not call.over
        assert last == (0 if awaited or self.rounds in self.withdrawn else 1)
        replies = [json.loads(sent) for sent in self.played.sent]
        answered = [reply["id"] for reply in replies if "method" not in reply]
        assert len(answered) == len(set(answered))
        calls = sum(reply.get("method") == "tools/call" for reply in replies)
        greeted = any(reply.get("method") == "notifications/initialized" for reply in replies)
        # Once, and once more for each time that the user has agreed to the visits that it wanted.
        assert greeted <= calls or call.over
        assert calls <= 1 + self.rounds

    def teardown(self) -> None:
        """Whatever has happened: in the end nobody waits."""
        if self.played.call.held and not self.played.conversation.over:
            self.rounds += 1
            self.played.come_back({}, id=self.rounds)
        self.played.do(self.played.conversation.lose(None))
        self.each_request_is_settled_once_and_each_question_answered_once()
        assert self.played.conversation.over


TestRounds = RoundsMachine.TestCase
TestRounds.settings = settings(max_examples=150, stateful_step_count=25, deadline=None)
