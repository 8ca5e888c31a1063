"""What a server asks and names that several clients share, and to whom it belongs."""

from __future__ import annotations

import pytest

from tests.bridge.sharing.world import World, note, question, reply


def test_a_question_goes_to_the_client_whose_call_runs() -> None:
    """Its answer goes back under the id that the server chose."""
    world = World()
    one, two = world.join(), world.join()
    for key in (one, two):
        world.greet(key, {"roots": {}})
    world.ask(two, 1, "tools/call")
    world.heard()
    world.say(question("q"))
    (asked,) = world.got(two)
    assert asked["method"] == "roots/list"
    world.client(one, reply(asked["id"], "not asked"))
    assert world.heard() == []
    world.client(two, reply(str(asked["id"]), [1]))
    assert world.heard() == [reply("q", [1])]
    world.client(two, reply(asked["id"], [2]))
    assert world.heard() == []


def test_a_question_that_may_be_for_any_of_several_is_refused() -> None:
    """With a sentence that says so."""
    world = World()
    one, two = world.join(), world.join()
    world.say(question(0))
    for key in (one, two):
        world.greet(key, {"roots": {}})
        world.ask(key, 1, "tools/call")
    world.heard()
    world.say(question(1))
    assert world.got(one) == world.got(two) == []
    refused = world.asked()
    assert refused["id"] == 1
    assert "which of them is meant cannot be told" in refused["error"]["message"]


@pytest.mark.parametrize(
    ("capabilities", "method", "params", "missing"),
    [
        ({}, "roots/list", {}, "roots"),
        ({"roots": {}}, "roots/list", {}, None),
        ({"roots": None}, "roots/list", {}, "roots"),
        ({}, "sampling/createMessage", {}, "sampling"),
        ({"sampling": {}}, "sampling/createMessage", {"tools": []}, "sampling.tools"),
        ({"sampling": {"tools": {}}}, "sampling/createMessage", {"tools": []}, None),
        ({"elicitation": {}}, "elicitation/create", {}, None),
        ({"elicitation": {"url": {}}}, "elicitation/create", {}, "elicitation.form"),
        ({"elicitation": {"form": {}}}, "elicitation/create", {"mode": "url"}, "elicitation.url"),
        ({"elicitation": {"url": {}}}, "elicitation/create", {"mode": "url"}, None),
        ({}, "x/unknown", {}, None),
    ],
)
def test_a_client_is_asked_only_what_it_said_it_can_do(
    capabilities: object, method: str, params: object, missing: str | None
) -> None:
    """Whatever the server was told that clients can do."""
    world = World()
    one = world.join()
    world.greet(one, capabilities)
    world.say(question(4, method, params))
    if missing is None:
        assert world.got(one)[0]["method"] == method
    else:
        refused = world.asked()
        assert refused["error"]["code"] == -32601
        assert repr(missing) in refused["error"]["message"]


def test_the_server_may_take_its_question_back() -> None:
    """The client hears it under the id that it knows; an answer after that goes nowhere."""
    world = World()
    one = world.join()
    world.greet(one, {"roots": {}})
    world.say(question("q"))
    (asked,) = world.got(one)
    world.tell("notifications/cancelled", {"requestId": "q"})
    assert world.got(one) == [note("notifications/cancelled", {"requestId": asked["id"]})]
    world.client(one, reply(asked["id"]))
    assert world.heard() == []


def test_a_question_to_a_client_that_leaves_is_answered_with_an_error() -> None:
    """The server does not wait for nobody."""
    world = World()
    one = world.join()
    world.greet(one, {"roots": {}})
    world.say(question("q"))
    world.leave(one)
    answered = world.asked()
    assert (answered["id"], answered["error"]["message"]) == ("q", "the client has left")


def test_progress_on_a_question_comes_only_from_whom_it_was_put_to() -> None:
    """A token that the server gave to another is nothing to a client."""
    world = World()
    one, two = world.join(), world.join()
    world.greet(one, {"sampling": {}})
    world.say(question(1, "sampling/createMessage", {"_meta": {"progressToken": 5}}))
    world.got(one)
    report = note("notifications/progress", {"progressToken": 5, "progress": 1})
    world.client(two, report)
    assert world.heard() == []
    world.client(one, report)
    assert world.heard() == [report]


def test_a_ping_of_the_server_is_answered_here_and_that_of_a_client_by_the_server() -> None:
    """Each is told the truth about whom it asks for."""
    world = World()
    one = world.join()
    world.say(question("p", "ping"))
    assert world.heard() == [reply("p")]
    world.ask(one, 1, "ping")
    assert world.asked()["method"] == "ping"


def test_the_end_of_a_visit_is_told_to_whom_the_address_was_given() -> None:
    """Also where it was given with an error; an unknown one is told to nobody."""
    world = World()
    one, two = world.join(), world.join()
    for key in (one, two):
        world.greet(key, {"elicitation": {"url": {}}})
    world.ask(one, 1, "tools/call")
    world.say(question(1, "elicitation/create", {"mode": "url", "elicitationId": "e"}))
    data = {"elicitations": [{"mode": "url", "elicitationId": "f"}]}
    error = {"code": -32042, "message": "m", "data": data}
    world.say({"jsonrpc": "2.0", "id": world.asked()["id"], "error": error})
    world.got(one)
    world.ask(two, 1, "tools/call")
    for name in ("e", "f", "g"):
        world.tell("notifications/elicitation/complete", {"elicitationId": name})
    assert [each["params"]["elicitationId"] for each in world.got(one)] == ["e", "f"]
    assert world.got(two) == []


def test_a_task_is_known_to_the_client_that_began_it() -> None:
    """Its status and its questions go there; others cannot ask for it, nor for the list of all."""
    world = World()
    one, two = world.join(), world.join()
    for key in (one, two):
        world.greet(key, {"roots": {}})
    world.ask(one, 1, "tools/call", {"task": {}})
    world.answer(world.asked(), {"task": {"taskId": "t"}})
    world.got(one)
    world.ask(two, 1, "tools/call")
    world.heard()
    world.tell("notifications/tasks/status", {"taskId": "t", "status": "working"})
    related = {"_meta": {"io.modelcontextprotocol/related-task": {"taskId": "t"}}}
    world.say(question(1, "roots/list", related))
    assert len(world.got(one)) == 2
    assert world.got(two) == []
    world.ask(two, 2, "tasks/get", {"taskId": "t"})
    world.ask(two, 3, "tasks/list")
    assert [each["error"]["code"] for each in world.got(two)] == [-32602, -32601]
    world.ask(one, 2, "tasks/get", {"taskId": "t"})
    assert world.asked()["method"] == "tasks/get"


def test_a_server_that_lost_everything_is_told_again_what_is_wanted_of_it() -> None:
    """Its questions are forgotten, since their ids may come again."""
    world = World()
    one = world.join()
    world.greet(one, {"roots": {}})
    world.ask(one, 1, "resources/subscribe", {"uri": "a"})
    world.ask(one, 2, "logging/setLevel", {"level": "debug"})
    for each in world.heard():
        world.answer(each)
    world.say(question(1))
    world.do(world.routes.reopened())
    told = world.heard()
    assert [each["method"] for each in told] == ["resources/subscribe", "logging/setLevel"]
    for each in told:
        world.answer(each)
    world.got(one)
    world.say(question(1))
    assert len(world.got(one)) == 1
