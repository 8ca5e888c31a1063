"""What a handler asks of its client: its model, its user, its folders."""

from __future__ import annotations

import asyncio
import dataclasses
import threading
from concurrent.futures import CancelledError as ThreadCancelled
from enum import Enum
from typing import Annotated, Any, Literal, TypedDict

import msgspec
import pytest

from anywire import Context, Server
from anywire.errors import (
    CapabilityMissing,
    ConfigError,
    DeadlineExceeded,
    PeerError,
    RemoteProtocolError,
    SessionError,
    TransportClosed,
    UrlElicitationRequired,
)
from anywire.protocol.features import Feature, has
from anywire.protocol.types.content import TextContent, ToolUseContent
from anywire.protocol.types.sampling import ModelHint, ModelPreferences, SamplingMessage, ToolChoice
from anywire.protocol.types.tools import Tool
from anywire.server.form import Answer
from anywire.testing import ScriptedPeer, in_virtual_time
from tests.interaction.talk import (
    Gate,
    error,
    failure,
    in_each_revision,
    notification,
    over_each_wire,
    result,
    talk,
    text,
)

CAPABLE: dict[str, Any] = {"sampling": {"tools": {}}, "elicitation": {"form": {}, "url": {}}, "roots": {}}


class Level(Enum):
    LOW = "low"
    HIGH = "high"


class Person(msgspec.Struct):
    name: Annotated[str, msgspec.Meta(title="Name", min_length=1)]
    age: int = 30
    level: Level = Level.LOW
    member: bool | None = None
    kind: Literal["a", "b"] = "a"


def curious() -> Server:
    server = Server("curious")

    @server.tool
    async def ask_model(context: Context, question: str = "Why?") -> str:
        said = await context.sample(question, max_tokens=50)
        assert isinstance(said.content, TextContent)
        return f"{said.model}: {said.content.text}"

    @server.tool
    async def ask_person(context: Context) -> str:
        answer = await context.elicit("Who are you?", Person)
        return f"{answer.action}: {answer.content}"

    @server.tool
    async def ask_url(context: Context) -> str:
        answer = await context.elicit_url("Sign in", "https://a.example/", "e1")
        return f"{answer.action} {answer.accepted}"

    @server.tool
    async def ask_roots(context: Context) -> str:
        return ", ".join(f"{root.uri} ({root.name or '-'})" for root in await context.roots())

    @server.tool
    def ask_in_thread(context: Context) -> str:
        return context.from_thread(context.elicit("Sure?", {"type": "object", "properties": {}})).action

    return server


async def asked(peer: ScriptedPeer, method: str) -> dict[str, Any]:
    """The next message, a request of that method."""
    request = await peer.receive()
    assert request["method"] == method, request
    return request


# The model.


@over_each_wire
@in_each_revision
async def test_a_handler_asks_the_clients_model(wire: str, revision: str) -> None:
    """A text is one message of the user's."""
    async with talk(curious(), wire, revision, capabilities=CAPABLE) as peer:
        await peer.call(1, "ask_model")
        request = await asked(peer, "sampling/createMessage")
        said = {"role": "user", "content": {"type": "text", "text": "Why?"}}
        del request["params"]["_meta"]
        assert request["params"] == {"messages": [said], "maxTokens": 50}

        content = {"type": "text", "text": "Because."}
        await peer.answer(request, {"role": "assistant", "content": content, "model": "m"})
        await peer.expect(text(1, "m: Because."))


async def test_everything_can_be_told_to_the_model() -> None:
    """Tools, preferences and the rest."""
    server = Server("s")

    @server.tool
    async def ask(context: Context) -> str:
        said = await context.sample(
            [SamplingMessage("user", TextContent("a")), SamplingMessage("assistant", TextContent("b"))],
            system_prompt="Be brief.",
            temperature=0.5,
            stop_sequences=["END"],
            preferences=ModelPreferences(hints=[ModelHint("small")], speed_priority=1),
            include_context="none",
            tools=[Tool("t", {"type": "object"})],
            tool_choice=ToolChoice("required"),
            metadata={"k": 1},
        )
        assert isinstance(said.content, list)
        use = said.content[0]
        assert isinstance(use, ToolUseContent)
        return f"{use.name} {use.input} {said.stop_reason}"

    async with talk(server, "memory", "2025-11-25", capabilities=CAPABLE) as peer:
        await peer.call(1, "ask")
        request = await asked(peer, "sampling/createMessage")
        del request["params"]["_meta"], request["params"]["messages"]
        assert request["params"] == {
            "maxTokens": 1024,
            "systemPrompt": "Be brief.",
            "temperature": 0.5,
            "stopSequences": ["END"],
            "modelPreferences": {"hints": [{"name": "small"}], "speedPriority": 1},
            "includeContext": "none",
            "tools": [{"name": "t", "inputSchema": {"type": "object"}}],
            "toolChoice": {"mode": "required"},
            "metadata": {"k": 1},
        }
        use = {"type": "tool_use", "id": "u", "name": "t", "input": {"x": 1}}
        reply = {"role": "assistant", "content": [use], "model": "m", "stopReason": "toolUse"}
        await peer.answer(request, reply)
        await peer.expect(text(1, "t {'x': 1} toolUse"))


@over_each_wire
async def test_questions_go_side_by_side(wire: str) -> None:
    """Each answer reaches who asked, in whatever order they come."""
    async with talk(curious(), wire, "2025-11-25", capabilities=CAPABLE) as peer:
        for id in range(5):
            await peer.call(id, "ask_model", {"question": str(id)})
        requests = [await asked(peer, "sampling/createMessage") for _ in range(5)]
        for request in reversed(requests):
            content = request["params"]["messages"][0]["content"]
            await peer.answer(request, {"role": "assistant", "content": content, "model": "m"})
        got = await peer.receive_many(5)

        assert sorted(got, key=lambda reply: reply["id"]) == [text(id, f"m: {id}") for id in range(5)]


@pytest.mark.parametrize(
    ("tool", "capabilities", "missing"),
    [
        ("ask_model", {}, "sampling"),
        ("ask_model", {"sampling": None}, "sampling"),
        ("ask_person", {}, "elicitation"),
        ("ask_person", {"elicitation": {"url": {}}}, "elicitation.form"),
        ("ask_url", {"elicitation": {}}, "elicitation.url"),
        ("ask_url", {"elicitation": {"form": {}}}, "elicitation.url"),
        ("ask_roots", {"sampling": {}}, "roots"),
    ],
)
async def test_who_cannot_be_asked_is_not_asked(tool: str, capabilities: Any, missing: str) -> None:
    """The handler hears at once what is missing, and of whom."""
    async with talk(curious(), "memory", "2025-11-25", capabilities=capabilities) as peer:
        await peer.call(1, tool)
        reason = f"scripted 1 did not declare the capability {missing!r}, so it was not asked"
        await peer.expect(failure(1, f"Error in tool {tool!r}: {reason}"))


@in_each_revision
async def test_what_a_revision_does_not_have_is_not_asked(revision: str) -> None:
    """Whatever the client declares."""
    async with talk(curious(), "memory", revision, capabilities=CAPABLE) as peer:
        for tool, feature in [("ask_person", Feature.ELICITATION), ("ask_url", Feature.URL_ELICITATION)]:
            await peer.call(tool, tool)
            got = await peer.receive()
            if has(feature, revision):
                assert got["method"] == "elicitation/create"
                await peer.answer(got, {"action": "cancel"})
                await peer.receive()
            else:
                assert "did not declare the capability" in got["result"]["content"][0]["text"]


async def test_tools_of_a_model_are_a_capability_of_their_own() -> None:
    """A model that uses none is not sent any."""
    server = Server("s")

    @server.tool
    async def ask(context: Context) -> str:
        with pytest.raises(CapabilityMissing, match=r"sampling\.tools"):
            await context.sample("x", tools=[Tool("t", {"type": "object"})])
        return "asked nothing"

    async with talk(server, "memory", "2025-11-25", capabilities={"sampling": {}}) as peer:
        await peer.call(1, "ask")
        await peer.expect(text(1, "asked nothing"))


@over_each_wire
async def test_a_refusal_reaches_the_handler(wire: str) -> None:
    """As the client's error, with its code."""
    server = Server("s")

    @server.tool
    async def ask(context: Context) -> str:
        with pytest.raises(PeerError) as caught:
            await context.sample("x")
        return f"{caught.value.code} {caught.value.message}"

    async with talk(server, wire, "2025-06-18", capabilities=CAPABLE) as peer:
        await peer.call(1, "ask")
        request = await asked(peer, "sampling/createMessage")
        await peer.send(error(request["id"], -1, "User rejected sampling request"))
        await peer.expect(text(1, "-1 User rejected sampling request"))


@pytest.mark.parametrize("answer", [{}, {"role": "assistant"}, [], "x", {"role": "god", "model": "m"}])
async def test_an_answer_that_cannot_be_read_is_the_clients_fault(answer: object) -> None:
    """And is told to the handler as such."""
    server = Server("s")

    @server.tool
    async def ask(context: Context) -> str:
        with pytest.raises(RemoteProtocolError, match="the answer of scripted 1 to sampling/createMessage"):
            await context.sample("x")
        return "told"

    async with talk(server, "memory", "2025-06-18", capabilities=CAPABLE) as peer:
        await peer.call(1, "ask")
        await peer.answer(await asked(peer, "sampling/createMessage"), answer)
        await peer.expect(text(1, "told"))


# The user.


@over_each_wire
async def test_a_form_is_made_of_a_type_and_its_answer_is_one(wire: str) -> None:
    """What is left out takes its default."""
    async with talk(curious(), wire, "2025-11-25", capabilities=CAPABLE) as peer:
        await peer.call(1, "ask_person")
        request = await asked(peer, "elicitation/create")
        del request["params"]["_meta"]
        assert request["params"] == {
            "message": "Who are you?",
            "requestedSchema": {
                "type": "object",
                "properties": {
                    "name": {"type": "string", "title": "Name", "minLength": 1},
                    "age": {"type": "integer", "default": 30},
                    "level": {"type": "string", "enum": ["high", "low"], "title": "Level", "default": "low"},
                    "member": {"type": "boolean"},
                    "kind": {"type": "string", "enum": ["a", "b"], "default": "a"},
                },
                "required": ["name"],
            },
        }
        await peer.answer(request, {"action": "accept", "content": {"name": "Ada", "level": "high"}})
        person = Person("Ada", 30, Level.HIGH)
        await peer.expect(text(1, f"accept: {person}"))


@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_a_user_may_say_no(action: str) -> None:
    """Then nothing is filled in."""
    async with talk(curious(), "memory", "2025-11-25", capabilities=CAPABLE) as peer:
        await peer.call(1, "ask_person")
        await peer.answer(await asked(peer, "elicitation/create"), {"action": action})
        await peer.expect(text(1, f"{action}: None"))


@pytest.mark.parametrize(
    ("form", "content", "reason"),
    [
        (Person, {"name": 5}, "name"),
        (Person, {}, "name"),
        (Person, {"name": "x", "level": "middle"}, "middle"),
        ({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}, {}, "n"),
        ({"type": "object", "properties": {"n": {"type": "integer"}}}, {"n": "x"}, "integer"),
    ],
)
async def test_a_form_that_is_not_filled_in_as_asked_is_an_error(
    form: Any, content: Any, reason: str
) -> None:
    """Of the client's; the handler never sees a value of a wrong type."""
    server = Server("s")

    @server.tool
    async def ask(context: Context) -> str:
        with pytest.raises(RemoteProtocolError, match=reason):
            await context.elicit("x", form)
        return "told"

    async with talk(server, "memory", "2025-06-18", capabilities={"elicitation": {}}) as peer:
        await peer.call(1, "ask")
        request = await asked(peer, "elicitation/create")
        await peer.answer(request, {"action": "accept", "content": content})
        await peer.expect(text(1, "told"))


class Nested(msgspec.Struct):
    person: Person


class Many(msgspec.Struct):
    numbers: list[int]


@dataclasses.dataclass
class Choice:
    several: list[Level]


class Typed(TypedDict):
    name: str


@pytest.mark.parametrize("form", [Nested, Many, int, list[str], dict[str, int]])
async def test_what_no_user_can_fill_in_is_no_form(form: Any) -> None:
    """The author hears of it; nobody is asked."""
    server = Server("s")

    @server.tool
    async def ask(context: Context) -> str:
        with pytest.raises(ConfigError, match="is no form"):
            await context.elicit("x", form)
        return "refused"

    async with talk(server, "memory", "2025-06-18", capabilities={"elicitation": {}}) as peer:
        await peer.call(1, "ask")
        await peer.expect(text(1, "refused"))


@pytest.mark.parametrize(
    ("form", "schema", "content", "value"),
    [
        (
            Choice,
            {
                "type": "object",
                "properties": {
                    "several": {
                        "type": "array",
                        "items": {"type": "string", "enum": ["high", "low"], "title": "Level"},
                    }
                },
                "required": ["several"],
            },
            {"several": ["low", "high"]},
            Choice([Level.LOW, Level.HIGH]),
        ),
        (
            Typed,
            {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
            {"name": "x"},
            {"name": "x"},
        ),
    ],
)
async def test_forms_are_made_of_any_type_of_plain_members(
    form: Any, schema: object, content: object, value: object
) -> None:
    """Dataclasses, typed dictionaries, choices of several."""
    server = Server("s")
    answers: list[Answer[Any]] = []

    @server.tool
    async def ask(context: Context) -> str:
        answers.append(await context.elicit("x", form))
        return "asked"

    async with talk(server, "memory", "2025-06-18", capabilities={"elicitation": {}}) as peer:
        await peer.call(1, "ask")
        request = await asked(peer, "elicitation/create")
        assert request["params"]["requestedSchema"] == schema
        await peer.answer(request, {"action": "accept", "content": content})
        await peer.expect(text(1, "asked"))
        assert answers == [Answer("accept", value)]


@over_each_wire
async def test_a_user_is_sent_to_an_address(wire: str) -> None:
    """And the client is told later that it is done there."""
    server = curious()
    async with talk(server, wire, "2025-11-25", capabilities=CAPABLE) as peer:
        await peer.call(1, "ask_url")
        request = await asked(peer, "elicitation/create")
        del request["params"]["_meta"]
        url = {"mode": "url", "message": "Sign in", "url": "https://a.example/", "elicitationId": "e1"}
        assert request["params"] == url
        await peer.answer(request, {"action": "accept"})
        await peer.expect(text(1, "accept True"))
        server.elicitation_complete("e1")
        await peer.expect(notification("notifications/elicitation/complete", {"elicitationId": "e1"}))


async def test_a_call_may_need_an_address_first() -> None:
    """Which is an error of the request, not a result."""
    server = Server("s")

    @server.tool
    async def locked() -> str:
        raise UrlElicitationRequired(
            [{"mode": "url", "url": "https://a.example/", "elicitationId": "e"}], "Sign in"
        )

    async with talk(server, "memory", "2025-11-25") as peer:
        await peer.call(1, "locked")
        data = {"elicitations": [{"mode": "url", "url": "https://a.example/", "elicitationId": "e"}]}
        await peer.expect(error(1, -32042, "Sign in", data))


# Folders.


@over_each_wire
async def test_a_handler_asks_for_the_clients_folders(wire: str) -> None:
    """One that cannot be read costs itself."""
    async with talk(curious(), wire, "2024-11-05", capabilities=CAPABLE) as peer:
        await peer.call(1, "ask_roots")
        request = await asked(peer, "roots/list")
        roots = [{"uri": "file:///a", "name": "A"}, {"name": "no uri"}, {"uri": "file:///b"}]
        await peer.answer(request, {"roots": roots})
        await peer.expect(text(1, "file:///a (A), file:///b (-)"))


# Ends.


@over_each_wire
async def test_a_withdrawn_call_withdraws_its_question(wire: str) -> None:
    """In a task and in a thread."""
    async with talk(curious(), wire, "2025-11-25", capabilities=CAPABLE) as peer:
        for id, tool in enumerate(["ask_person", "ask_in_thread"]):
            await peer.call(id, tool)
            request = await asked(peer, "elicitation/create")
            await peer.notify("notifications/cancelled", {"requestId": id, "reason": "enough"})
            told = await peer.receive()

            assert told["method"] == "notifications/cancelled"
            assert told["params"]["requestId"] == request["id"]
            await peer.answer(request, {"action": "accept", "content": {}})
        await peer.expect_silence()


async def test_a_thread_hears_that_its_call_is_withdrawn() -> None:
    """As a cancellation, before and after."""
    server, heard, gate, ended = Server("s"), list[str](), Gate(), threading.Event()

    @server.tool
    def ask(context: Context) -> str:
        for _ in range(2):
            try:
                context.from_thread(context.elicit("x", Person))
            except ThreadCancelled:
                heard.append("withdrawn")
        try:
            context.from_thread(gate.wait())  # what nobody may await any more
        finally:
            ended.set()
        return ""

    async with talk(server, "memory", "2025-11-25", capabilities=CAPABLE) as peer:
        await peer.call(1, "ask")
        await asked(peer, "elicitation/create")
        await peer.notify("notifications/cancelled", {"requestId": 1})
        await peer.receive()
        assert await asyncio.to_thread(ended.wait, 10)
        await peer.expect_silence()
    assert heard == ["withdrawn", "withdrawn"]
    assert not gate.reached.is_set()


@over_each_wire
async def test_a_client_that_leaves_owes_no_answer(wire: str) -> None:
    """The handler hears that there will be none, at once."""
    server, heard = Server("s"), list[BaseException]()

    @server.tool
    async def ask(context: Context) -> str:
        try:
            await context.elicit("x", Person)
        except (TransportClosed, asyncio.CancelledError) as caught:
            heard.append(caught)
            raise
        return ""

    async with talk(server, wire, "2025-11-25", capabilities=CAPABLE) as peer:
        await peer.call(1, "ask")
        await asked(peer, "elicitation/create")
    assert len(heard) == 1


@in_virtual_time
async def test_a_person_has_half_an_hour_and_folders_a_minute() -> None:
    """Then the client is told not to bother, and the handler hears how long it was."""
    server = Server("s")

    @server.tool
    async def ask(context: Context, what: str) -> str:
        questions = {
            "person": lambda: context.elicit("x", Person),
            "roots": context.roots,
            "model": lambda: context.sample("x", timeout=5),
        }
        with pytest.raises(DeadlineExceeded) as caught:
            await questions[what]()
        return str(caught.value)

    async with talk(server, "streams", "2025-11-25", capabilities=CAPABLE) as peer:
        for what, told in [
            ("person", "no answer to elicitation/create within 1800 s"),
            ("roots", "no answer to roots/list within 60 s"),
            ("model", "no answer to sampling/createMessage within 5 s"),
        ]:
            await peer.call(what, "ask", {"what": what})
            await peer.receive()
            await asyncio.sleep(2_000)
            assert (await peer.receive())["method"] == "notifications/cancelled"
            await peer.expect(text(what, told))


async def test_nothing_is_asked_for_a_call_that_is_over() -> None:
    """A handler's context outlives it for whoever keeps it."""
    server, kept = Server("s"), list[Context]()

    @server.tool
    async def keep(context: Context) -> str:
        kept.append(context)
        return "kept"

    async with talk(server, "memory", "2025-11-25", capabilities=CAPABLE) as peer:
        await peer.call(1, "keep")
        await peer.expect(text(1, "kept"))
        with pytest.raises(SessionError, match="is over"):
            await kept[0].roots()
        await peer.expect_silence()


# What a conversation has.


@over_each_wire
async def test_handlers_of_a_conversation_share_its_state(wire: str) -> None:
    """Those of another have their own."""
    server = Server("s")

    @server.tool
    async def count(context: Context) -> str:
        context.state["n"] = context.state.get("n", 0) + 1
        return str(context.state["n"])

    async with talk(server, wire) as peer, talk(server, wire) as other:
        for id, (each, told) in enumerate([(peer, "1"), (peer, "2"), (other, "1"), (peer, "3")]):
            await each.call(id, "count")
            await each.expect(text(id, told))


async def test_a_handler_knows_what_its_client_can_do() -> None:
    """Also what no type here knows of."""
    server = Server("s")

    @server.tool
    async def what(context: Context) -> str:
        can = context.client_capabilities
        return f"{can.sampling is not msgspec.UNSET} {can.raw.decode()}"

    async with talk(server, "newline", "2025-11-25", capabilities={"sampling": {}, "x": {"y": 1}}) as peer:
        await peer.call(1, "what")
        await peer.expect(text(1, 'True {"sampling":{},"x":{"y":1}}'))


async def test_progress_of_a_question_reaches_nobody_and_harms_nothing() -> None:
    """It only keeps the question alive."""
    async with talk(curious(), "memory", "2025-11-25", capabilities=CAPABLE) as peer:
        await peer.call(1, "ask_roots")
        request = await asked(peer, "roots/list")
        await peer.notify("notifications/progress", {"progressToken": request["id"], "progress": 1})
        await peer.answer(request, {"roots": []})
        await peer.expect(result(1, {"content": [{"type": "text", "text": ""}]}))
