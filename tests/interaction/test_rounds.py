"""Calls that ask their client in the middle: in rounds where nothing is remembered, in requests elsewhere."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from anywire import Context, Server
from anywire.errors import DeadlineExceeded, SessionError
from anywire.protocol.types.content import TextContent
from anywire.protocol.types.sampling import CreateMessageParams, SamplingMessage
from anywire.server.question import FormQuestion, InputRequired, ModelQuestion, RootsQuestion, UrlQuestion
from anywire.testing import ScriptedPeer, in_virtual_time
from anywire.wire.limits import DEFAULT_LIMITS
from tests.interaction.talk import Gate, over_each_wire, talk, text
from tests.interaction.test_stateless import ask

CAPABLE: dict[str, Any] = {"sampling": {}, "elicitation": {}, "roots": {}}
KEY = b"k" * 32


class Name(msgspec.Struct):
    name: str


def accept(name: object) -> dict[str, Any]:
    return {"action": "accept", "content": {"name": name}}


def inn(**options: Any) -> Server:
    server = Server("inn", **options)

    @server.tool
    async def book(context: Context, nights: int = 1) -> str:
        who = await context.elicit("Who are you?", Name)
        whom = await context.elicit("And with whom?", Name)
        assert who.content is not None
        assert whom.content is not None
        return f"{who.content.name} and {whom.content.name}, {nights}"

    @server.tool
    def book_in_thread(context: Context) -> str:
        return str(context.from_thread(context.elicit("Who?", Name)).content)

    @server.tool
    async def all_at_once(context: Context) -> str:
        async with asyncio.TaskGroup() as group:
            form = group.create_task(context.elicit("Who?", Name, key="form"))
            said = group.create_task(context.sample("Hi", key="model"))
            roots = group.create_task(context.roots(key="folders"))
        return f"{form.result().action} {said.result().model} {len(roots.result())}"

    @server.prompt
    async def greet(context: Context) -> str:
        return str((await context.elicit("Who?", Name, key="who")).content)

    @server.resource("a://b")
    async def held(context: Context) -> str:
        return str((await context.elicit("Who?", Name, key="who")).content)

    @server.tool
    async def visit(context: Context) -> str:
        return (await context.elicit_url("Sign in", "https://a.example/", "e1", key="page")).action

    page = UrlQuestion("Sign in", "https://a.example/", "e1")

    @server.tool
    async def visit_explicitly(context: Context) -> str | InputRequired:
        answer = context.answer("page", page)
        return InputRequired({"page": page}) if answer is None else answer.action

    who, whom = FormQuestion("Who?", Name), FormQuestion("With whom?", Name)

    @server.tool
    async def explicit(context: Context) -> str | InputRequired:
        first = context.answer("who", who)
        if context.round_state is None:
            if first is None:
                return InputRequired({"who": who})
            assert first.content is not None
            return InputRequired({"whom": whom}, state={"who": first.content.name})
        second = context.answer("whom", whom)
        if second is None:
            return InputRequired({"whom": whom}, state=context.round_state)
        assert second.content is not None
        return f"{context.round_state['who']} and {second.content.name}"

    return server


async def call(peer: ScriptedPeer, id: object, tool: str, **more: Any) -> Any:
    """The result of a round, or its error."""
    params = {"name": tool, **{key: value for key, value in more.items() if key != "capabilities"}}
    await ask(peer, id, "tools/call", params, capabilities=more.get("capabilities", CAPABLE))
    got = await peer.receive()
    assert got["id"] == id
    return got.get("result") or got["error"]


def words(result: Any) -> str:
    assert result["resultType"] == "complete", result
    return result["content"][0]["text"]


# One handler, both eras.


@over_each_wire
async def test_two_questions_in_a_row_are_two_rounds(wire: str) -> None:
    """Each a request of its own, with the state of the one before."""
    async with talk(inn(), wire) as peer:
        first = await call(peer, 1, "book", arguments={"nights": 2})
        assert first["resultType"] == "input_required"
        (key,) = first["inputRequests"]
        assert first["inputRequests"][key] == {
            "method": "elicitation/create",
            "params": {
                "message": "Who are you?",
                "requestedSchema": {
                    "type": "object",
                    "properties": {"name": {"type": "string"}},
                    "required": ["name"],
                },
            },
        }
        again = {"arguments": {"nights": 2}, "requestState": first["requestState"]}
        second = await call(peer, 2, "book", inputResponses={key: accept("Ada")}, **again)
        (other,) = second["inputRequests"]
        assert other != key
        assert second["requestState"] != first["requestState"]

        again["requestState"] = second["requestState"]
        third = await call(peer, 3, "book", inputResponses={other: accept("Bob")}, **again)
        assert words(third) == "Ada and Bob, 2"


@pytest.mark.parametrize("tool", ["visit", "visit_explicitly"])
async def test_a_visit_has_no_id_where_its_end_is_not_told(tool: str) -> None:
    """The revision has neither the id nor the notification that names it."""
    async with talk(inn(), "memory") as peer:
        first = await call(peer, 1, tool, capabilities={"elicitation": {"url": {}}})
        params = {"mode": "url", "message": "Sign in", "url": "https://a.example/"}
        assert first["inputRequests"] == {"page": {"method": "elicitation/create", "params": params}}
        state = {"requestState": first["requestState"]} if "requestState" in first else {}
        answers = {"page": {"action": "accept"}}
        last = await call(
            peer, 2, tool, inputResponses=answers, capabilities={"elicitation": {"url": {}}}, **state
        )
        assert words(last) == "accept"


@over_each_wire
async def test_the_same_handler_asks_with_requests_where_there_was_a_handshake(wire: str) -> None:
    """And gives the same answer."""
    async with talk(inn(), wire, "2025-11-25", capabilities=CAPABLE) as peer:
        await peer.call(1, "book", {"nights": 2})
        for name in ("Ada", "Bob"):
            request = await peer.receive()
            assert request["method"] == "elicitation/create"
            await peer.answer(request, accept(name))
        await peer.expect(text(1, "Ada and Bob, 2"))


@over_each_wire
async def test_what_is_asked_in_one_moment_shares_a_round(wire: str) -> None:
    """Under the keys of the author."""
    async with talk(inn(), wire) as peer:
        first = await call(peer, 1, "all_at_once")
        methods = {key: each["method"] for key, each in first["inputRequests"].items()}
        assert methods == {
            "form": "elicitation/create",
            "model": "sampling/createMessage",
            "folders": "roots/list",
        }
        assert "params" not in first["inputRequests"]["folders"]
        said = {"role": "assistant", "content": {"type": "text", "text": "Ho"}, "model": "m"}
        answers: dict[str, Any] = {
            "form": {"action": "decline"},
            "model": said,
            "folders": {"roots": []},
            "extra": 5,
        }
        last = await call(peer, 2, "all_at_once", inputResponses=answers, requestState=first["requestState"])
        assert words(last) == "decline m 0"


async def test_a_thread_is_held_as_well() -> None:
    """It waits where it is."""
    async with talk(inn()) as peer:
        first = await call(peer, 1, "book_in_thread")
        (key,) = first["inputRequests"]
        last = await call(
            peer, 2, "book_in_thread", inputResponses={key: accept("x")}, requestState=first["requestState"]
        )
        assert words(last) == "Name(name='x')"


@pytest.mark.parametrize(
    ("method", "params", "member"),
    [("prompts/get", {"name": "greet"}, "messages"), ("resources/read", {"uri": "a://b"}, "contents")],
)
async def test_prompts_and_resources_ask_as_tools_do(method: str, params: Any, member: str) -> None:
    """In rounds of their own method."""
    async with talk(inn()) as peer:
        await ask(peer, 1, method, params, capabilities=CAPABLE)
        first = (await peer.receive())["result"]
        assert "ttlMs" not in first
        again = {**params, "inputResponses": {"who": accept("x")}, "requestState": first["requestState"]}
        await ask(peer, 2, method, again, capabilities=CAPABLE)
        last = (await peer.receive())["result"]
        assert last["resultType"] == "complete"
        assert "Name(name='x')" in str(last[member])


# What may go wrong with answers.


async def test_what_is_not_answered_is_asked_again() -> None:
    """A wrong key is no answer, and no error."""
    async with talk(inn()) as peer:
        first = await call(peer, 1, "all_at_once")
        answers: dict[str, Any] = {"form": {"action": "cancel"}, "folder": {"roots": []}}
        second = await call(
            peer, 2, "all_at_once", inputResponses=answers, requestState=first["requestState"]
        )
        assert set(second["inputRequests"]) == {"model", "folders"}
        said = {"role": "assistant", "content": {"type": "text", "text": "Ho"}, "model": "m"}
        answers = {"model": said, "folders": {"roots": []}}
        last = await call(peer, 3, "all_at_once", inputResponses=answers, requestState=second["requestState"])
        assert words(last) == "cancel m 0"


@pytest.mark.parametrize("answer", [12345, None, {}, {"action": "maybe"}, []])
async def test_an_answer_that_is_none_is_refused_and_may_be_mended(answer: object) -> None:
    """The call still waits."""
    async with talk(inn()) as peer:
        first = await call(peer, 1, "book")
        (key,) = first["inputRequests"]
        state = first["requestState"]
        refused = await call(peer, 2, "book", inputResponses={key: answer}, requestState=state)
        assert refused["code"] == -32602
        second = await call(peer, 3, "book", inputResponses={key: accept("x")}, requestState=state)
        assert second["resultType"] == "input_required"


@pytest.mark.parametrize("responses", [None, 5, [], "x"])
async def test_answers_that_are_no_object_are_refused(responses: object) -> None:
    """And nothing goes on."""
    async with talk(inn()) as peer:
        first = await call(peer, 1, "book")
        state = first["requestState"]
        refused = await call(peer, 2, "book", inputResponses=responses, requestState=state)
        assert refused["code"] == -32602


async def test_a_capability_that_is_missing_is_named() -> None:
    """As an error of the request; nothing is asked."""
    async with talk(inn()) as peer:
        got = await call(peer, 1, "book", capabilities={"sampling": {}})
        assert got["code"] == -32021
        assert got["data"] == {"requiredCapabilities": {"elicitation": {}}}
        got = await call(peer, 2, "explicit", capabilities={})
        assert got["data"] == {"requiredCapabilities": {"elicitation": {}}}


# What may go wrong with states.


async def test_a_state_is_good_for_one_round() -> None:
    """A duplicate comes too late, while the first is served and after."""
    server, gate = inn(), Gate()

    @server.tool
    async def slow(context: Context) -> str:
        await context.elicit("Who?", Name, key="who")
        await gate.wait()
        return "slept"

    async with talk(server) as peer:
        first = await call(peer, 1, "slow")
        again = {"inputResponses": {"who": accept("x")}, "requestState": first["requestState"]}
        await ask(peer, 2, "tools/call", {"name": "slow", **again}, capabilities=CAPABLE)
        await gate.reached.wait()
        refused = await call(peer, 3, "slow", **again)
        assert "does not wait here" in refused["message"]
        gate.open()
        assert words((await peer.receive())["result"]) == "slept"
        refused = await call(peer, 4, "slow", **again)
        assert "does not wait here" in refused["message"]


@pytest.mark.parametrize("change", ["-TAMPERED", "x", "é"])
async def test_a_state_that_was_changed_is_refused(change: str) -> None:
    """By its seal."""
    async with talk(inn()) as peer:
        first = await call(peer, 1, "book")
        (key,) = first["inputRequests"]
        state = first["requestState"] + change
        refused = await call(peer, 2, "book", inputResponses={key: accept("x")}, requestState=state)
        assert refused["code"] == -32602
        assert "requestState is none of this server's" in refused["message"]


async def test_a_state_belongs_to_its_request() -> None:
    """Other arguments, another tool, another server: refused."""
    server = inn(state_key=KEY)
    async with talk(server) as peer, talk(inn(state_key=KEY)) as other, talk(inn()) as stranger:
        first = await call(peer, 1, "book", arguments={"nights": 1})
        (key,) = first["inputRequests"]
        again = {"inputResponses": {key: accept("x")}, "requestState": first["requestState"]}
        for id, (tool, arguments) in enumerate([("book", {"nights": 2}), ("all_at_once", {"nights": 1})]):
            refused = await call(peer, id, tool, arguments=arguments, **again)
            assert refused["message"] == "Invalid params: the requestState belongs to another request"
        refused = await call(other, 1, "book", arguments={"nights": 1}, **again)
        assert "waited in another process" in refused["message"]
        refused = await call(stranger, 1, "book", arguments={"nights": 1}, **again)
        assert "none of this server's" in refused["message"]
        second = await call(peer, 9, "book", arguments={"nights": 1}, **again)
        assert second["resultType"] == "input_required"


class Dated(Server):
    """A server whose wall clock a test sets."""

    now = 1_000_000.0

    def wall_clock(self) -> float:
        return self.now


async def test_a_state_expires() -> None:
    """By the clock on the wall, which all processes share."""
    server = Dated("s", limits=DEFAULT_LIMITS.replace(held_seconds=60))
    question = FormQuestion("Who?", Name)

    @server.tool
    async def tool(context: Context) -> str | InputRequired:
        if context.answer("who", question) is None:
            return InputRequired({"who": question}, state=1)
        return "done"

    async with talk(server) as peer:
        first = await call(peer, 1, "tool")
        again = {"inputResponses": {"who": accept("x")}, "requestState": first["requestState"]}
        server.now += 59
        assert words(await call(peer, 2, "tool", **again)) == "done"
        server.now += 2
        refused = await call(peer, 3, "tool", **again)
        assert refused["message"] == "Invalid params: the requestState has expired; make the call anew"


# Ends.


@in_virtual_time
async def test_a_call_that_nobody_comes_back_for_ends() -> None:
    """Its handler is cancelled, and nothing is kept."""
    server, heard = Server("s", limits=DEFAULT_LIMITS.replace(held_seconds=60)), list[str]()

    @server.tool
    async def tool(context: Context) -> str:
        try:
            await context.elicit("Who?", Name)
        except asyncio.CancelledError as cancelled:
            heard.append(str(cancelled))
            raise
        return ""

    async with talk(server, "streams") as peer:
        await call(peer, 1, "tool")
        assert len(server.held) == 1
        await asyncio.sleep(61)
        assert len(server.held) == 0
        assert heard == ["the client did not come back with its answers"]


@in_virtual_time
async def test_a_handlers_patience_goes_on_between_rounds() -> None:
    """It may go on without the answer; its result waits for the client."""
    server = Server("s")

    @server.tool
    async def tool(context: Context) -> str:
        with pytest.raises(DeadlineExceeded, match="no answer to elicitation/create within 5 s"):
            await context.elicit("Who?", Name, timeout=5)
        return "without"

    async with talk(server, "streams") as peer:
        first = await call(peer, 1, "tool")
        (key,) = first["inputRequests"]
        await asyncio.sleep(6)
        state = first["requestState"]
        last = await call(peer, 2, "tool", inputResponses={key: accept("x")}, requestState=state)
        assert words(last) == "without"
        assert len(server.held) == 0


@over_each_wire
async def test_a_round_that_is_cancelled_cancels_the_call(wire: str) -> None:
    """In the second round as in the first."""
    server, gate, heard = Server("s"), Gate(), list[str]()

    @server.tool
    async def tool(context: Context) -> str:
        await context.elicit("Who?", Name, key="who")
        try:
            await gate.wait()
        except asyncio.CancelledError:
            heard.append("cancelled")
            raise
        return ""

    async with talk(server, wire) as peer:
        first = await call(peer, 1, "tool")
        again = {"inputResponses": {"who": accept("x")}, "requestState": first["requestState"]}
        await ask(peer, 2, "tools/call", {"name": "tool", **again}, capabilities=CAPABLE)
        await gate.reached.wait()
        await peer.notify("notifications/cancelled", {"requestId": 2})
        await peer.expect_silence()
    assert heard == ["cancelled"]


async def test_calls_that_wait_are_bounded() -> None:
    """One more fails, and says why."""
    server = inn(limits=DEFAULT_LIMITS.replace(held_calls=1))
    async with talk(server) as peer:
        await call(peer, 1, "book")
        got = await call(peer, 2, "book")
        assert got["isError"] is True
        assert "more than 1 calls wait for their clients' input" in words(got)


async def test_what_waiting_calls_hold_is_bounded() -> None:
    """In bytes of their params, given back when they go on."""
    server = inn(limits=DEFAULT_LIMITS.replace(held_bytes=3_000))

    @server.tool
    async def large(text: str, context: Context) -> str:
        await context.elicit("Who?", Name, key="who")
        return str(len(text))

    async with talk(server) as peer:
        arguments = {"text": "x" * 1_500}
        first = await call(peer, 1, "large", arguments=arguments)
        refused = await call(peer, 2, "large", arguments=arguments)
        assert "have more than 3000 bytes" in words(refused)
        again = {"inputResponses": {"who": accept("x")}, "requestState": first["requestState"]}
        assert words(await call(peer, 3, "large", arguments=arguments, **again)) == "1500"
        third = await call(peer, 4, "large", arguments=arguments)
        assert third["resultType"] == "input_required"


async def test_the_next_round_may_come_over_another_conversation() -> None:
    """Calls belong to the server; its close ends them."""
    server = inn()
    async with talk(server) as peer, talk(server) as other:
        first = await call(peer, 1, "book")
        (key,) = first["inputRequests"]
        await peer.close()
        again = {"inputResponses": {key: accept("x")}, "requestState": first["requestState"]}
        second = await call(other, 1, "book", **again)
        assert second["resultType"] == "input_required"
        await server.close()
        assert len(server.held) == 0


async def test_a_handler_that_asks_when_its_call_is_over_is_told() -> None:
    """It has nobody to ask."""
    server, kept = Server("s"), list[Context]()

    @server.tool
    async def keep(context: Context) -> str:
        kept.append(context)
        return ""

    async with talk(server) as peer:
        await call(peer, 1, "keep")
        with pytest.raises(SessionError, match="is over"):
            await kept[0].elicit("Who?", Name)


# The explicit form.


@over_each_wire
async def test_a_handler_may_return_what_it_wants_to_know(wire: str) -> None:
    """And is called again with the answer and its own state."""
    async with talk(inn(), wire) as peer:
        first = await call(peer, 1, "explicit")
        assert set(first["inputRequests"]) == {"who"}
        assert "requestState" not in first
        second = await call(peer, 2, "explicit", inputResponses={"who": accept("Ada")})
        assert set(second["inputRequests"]) == {"whom"}
        again = {"inputResponses": {"whom": accept("Bob")}, "requestState": second["requestState"]}
        assert words(await call(peer, 3, "explicit", **again)) == "Ada and Bob"


@over_each_wire
async def test_the_explicit_form_asks_with_requests_after_a_handshake(wire: str) -> None:
    """The same handler, the same answer."""
    async with talk(inn(), wire, "2025-06-18", capabilities=CAPABLE) as peer:
        await peer.call(1, "explicit")
        for name in ("Ada", "Bob"):
            await peer.answer(await peer.receive(), accept(name))
        await peer.expect(text(1, "Ada and Bob"))


async def test_the_explicit_form_survives_a_restart() -> None:
    """Any process with the key goes on; one with another does not."""
    async with talk(inn(state_key=KEY)) as peer, talk(inn(state_key=KEY)) as other, talk(inn()) as stranger:
        await call(peer, 1, "explicit")
        second = await call(peer, 2, "explicit", inputResponses={"who": accept("Ada")})
        again = {"inputResponses": {"whom": accept("Bob")}, "requestState": second["requestState"]}
        assert words(await call(other, 1, "explicit", **again)) == "Ada and Bob"
        assert (await call(stranger, 1, "explicit", **again))["code"] == -32602


async def test_an_explicit_answer_that_does_not_fit_is_refused() -> None:
    """As a parameter that is invalid; what is missing is asked again."""
    async with talk(inn()) as peer:
        got = await call(peer, 1, "explicit", inputResponses={"who": 12345})
        assert got["code"] == -32602
        assert "the answer 'who' cannot be used" in got["message"]
        got = await call(peer, 2, "explicit", inputResponses={"wrong": accept("x")})
        assert set(got["inputRequests"]) == {"who"}


async def test_rounds_are_bounded() -> None:
    """A handler that asks for ever is its own fault."""
    server = Server("s", limits=DEFAULT_LIMITS.replace(rounds=3))

    @server.tool(inline=True)
    def endless() -> InputRequired:
        return InputRequired({"roots": RootsQuestion()})

    async with talk(server, "memory", "2025-06-18", capabilities=CAPABLE) as peer:
        await peer.call(1, "endless")
        for _ in range(3):
            await peer.answer(await peer.receive(), {"roots": []})
        assert "more than 3 rounds of input" in (await peer.receive())["result"]["content"][0]["text"]


async def test_every_kind_of_question_can_be_returned() -> None:
    """Also to a model, with all that it is told."""
    server = Server("s")
    question = ModelQuestion(CreateMessageParams([SamplingMessage("user", TextContent("Hi"))], 10))

    @server.tool
    async def tool(context: Context) -> str | InputRequired:
        said = context.answer("said", question)
        return InputRequired({"said": question}) if said is None else said.model

    async with talk(server) as peer:
        first = await call(peer, 1, "tool")
        assert first["inputRequests"]["said"]["params"]["maxTokens"] == 10
        said = {"role": "assistant", "content": {"type": "text", "text": "Ho"}, "model": "m"}
        assert words(await call(peer, 2, "tool", inputResponses={"said": said})) == "m"


async def test_calls_that_wait_do_not_outlive_the_last_conversation() -> None:
    """What the program set up for them is taken down then, and nobody can come back over nothing."""
    server, heard = Server("s"), list[str]()

    @server.tool
    async def tool(context: Context) -> str:
        try:
            await context.elicit("Who?", Name)
        except asyncio.CancelledError as cancelled:
            heard.append(str(cancelled))
            raise
        return ""

    async with talk(server) as peer:
        async with talk(server) as other:
            await call(other, 1, "tool")
        await call(peer, 1, "tool")
        assert (len(server.held), heard) == (2, [])
    assert (len(server.held), heard) == (0, ["the server has ended"] * 2)
