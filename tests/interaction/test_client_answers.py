"""What a server asks its client, and what the program's functions make of it; the same over each wire."""

from __future__ import annotations

import asyncio
import gc
import logging
import re
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from anywire import (
    CapabilityMissing,
    Context,
    CreateMessageResult,
    DeadlineExceeded,
    ElicitResult,
    PeerError,
    Refusal,
    Root,
    Server,
    TextContent,
    connect,
)
from anywire.client.asked import Asked
from anywire.errors import ConfigError
from anywire.protocol.types.content import ImageContent, ToolUseContent, UnknownContent
from anywire.protocol.types.elicitation import ElicitFormParams, ElicitUrlParams
from anywire.protocol.types.initialize import (
    ClientCapabilities,
    ElicitationCapability,
    SamplingCapability,
)
from anywire.protocol.types.sampling import CreateMessageParams, SamplingMessage
from anywire.testing import in_virtual_time
from anywire.transport.memory import memory_pair
from anywire.wire.limits import DEFAULT_LIMITS
from tests.interaction.clients import played, served
from tests.interaction.talk import (
    PATIENCE,
    WIRES,
    Gate,
    error,
    in_each_revision,
    over_each_wire,
    result,
    talk,
)


class Size(msgspec.Struct):
    width: int
    colour: str = "red"


def always(answer: object) -> Callable[[Any], Any]:
    """A callback that returns this."""
    return lambda _: answer


def one_after_the_other(*answers: object) -> Callable[[Any], Any]:
    """A callback that returns these."""
    left = list(answers)
    return lambda _: left.pop(0)


def words(content: object) -> str:
    """The text of a block of text."""
    assert isinstance(content, TextContent)
    return content.text


def curious() -> Server:
    """A server whose tools ask, and say what came back."""
    server = Server("curious")

    @server.tool
    async def think(about: str, ctx: Context) -> str:
        try:
            answer = await ctx.sample(about)
        except (PeerError, CapabilityMissing) as failure:
            return f"{type(failure).__name__} {failure}"
        return f"{words(answer.content)} / {answer.model} / {answer.stop_reason}"

    @server.tool
    async def measure(ctx: Context) -> str:
        try:
            answer = await ctx.elicit("How large?", Size)
        except (PeerError, CapabilityMissing) as failure:
            return f"{type(failure).__name__} {failure}"
        return f"{answer.action} {answer.content}"

    @server.tool
    async def visit(ctx: Context) -> str:
        try:
            answer = await ctx.elicit_url("Sign in", "https://example.com/in", "e1")
        except (PeerError, CapabilityMissing) as failure:
            return f"{type(failure).__name__} {failure}"
        return answer.action

    @server.tool
    async def look_around(ctx: Context) -> str:
        try:
            return " ".join(root.uri for root in await ctx.roots())
        except (PeerError, CapabilityMissing) as failure:
            return f"{type(failure).__name__} {failure}"

    return server


async def text_of(server: Server, tool: str, wire: str = "memory", **options: Any) -> str:
    """Call a tool of a server with a client that can be asked."""
    arguments = {"about": "tea"} if tool == "think" else {}
    async with served(server, wire, **options) as client:
        return (await client.call_tool(tool, arguments)).text


# What comes back.


@over_each_wire
async def test_a_model_is_asked_over_each_wire(wire: str) -> None:
    """An async function, with typed params."""

    async def on_sample(params: CreateMessageParams) -> str:
        (message,) = params.messages
        return f"about {words(message.content)}, {params.max_tokens}"

    said = await text_of(curious(), "think", wire, on_sample=on_sample)

    assert said == "about tea, 1024 / unknown / endTurn"


@over_each_wire
async def test_a_plain_function_answers_in_a_thread(wire: str) -> None:
    """Since it may block."""
    threads: list[threading.Thread] = []

    def on_sample(params: CreateMessageParams) -> CreateMessageResult:
        threads.append(threading.current_thread())
        return CreateMessageResult("assistant", TextContent("x"), "m1", "maxTokens")

    assert await text_of(curious(), "think", wire, on_sample=on_sample) == "x / m1 / maxTokens"
    assert threads[0] is not threading.current_thread()


@over_each_wire
async def test_a_user_fills_in_a_form_over_each_wire(wire: str) -> None:
    """What was left out has the default of the form."""
    asked: list[Any] = []

    async def on_elicit(params: ElicitFormParams) -> dict[str, Any]:
        asked.append((params.message, params.requested_schema["required"]))
        return {"width": 3}

    assert (
        await text_of(curious(), "measure", wire, on_elicit=on_elicit) == "accept Size(width=3, colour='red')"
    )
    assert asked == [("How large?", ["width"])]


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (None, "decline None"),
        ("decline", "decline None"),
        ("cancel", "cancel None"),
        (ElicitResult("cancel", {"width": 1}), "cancel None"),
        (ElicitResult("accept", {"width": 1, "colour": "blue"}), "accept Size(width=1, colour='blue')"),
    ],
)
async def test_a_user_may_decline_or_go_away(answer: Any, told: str) -> None:
    """None is a refusal; nothing that was filled in goes with it."""
    assert await text_of(curious(), "measure", on_elicit=always(answer)) == told


@over_each_wire
async def test_a_user_visits_an_address_over_each_wire(wire: str) -> None:
    """And the program hears when the visit is over."""
    visited: list[str] = []

    async def on_elicit(params: ElicitUrlParams) -> str:
        visited.append(f"{params.url} {params.elicitation_id}")
        return "accept"

    assert await text_of(curious(), "visit", wire, on_elicit=on_elicit) == "accept"
    assert visited == ["https://example.com/in e1"]


@over_each_wire
async def test_roots_are_told_over_each_wire(wire: str, tmp_path: Path) -> None:
    """Roots, paths, URIs; what the sequence holds when it is asked for."""
    roots: list[Any] = [Root("file:///a", name="a"), tmp_path, str(tmp_path), "file:///b"]
    async with served(curious(), wire, roots=roots) as client:
        first = (await client.call_tool("look_around")).text
        del roots[1:]
        await client.roots_changed()
        second = (await client.call_tool("look_around")).text

    assert first == f"file:///a {tmp_path.as_uri()} {tmp_path.as_uri()} file:///b"
    assert second == "file:///a"


async def test_roots_may_come_from_a_function() -> None:
    """Plain or async."""

    async def later() -> list[str]:
        return ["file:///later"]

    assert await text_of(curious(), "look_around", roots=lambda: ["file:///now"]) == "file:///now"
    assert await text_of(curious(), "look_around", roots=later) == "file:///later"


@pytest.mark.parametrize("roots", ["/one/path", ["https://example.com"], [5], 7])
def test_what_is_no_root_is_refused_at_once(roots: Any) -> None:
    """By its name."""
    with pytest.raises(ConfigError, match="root"):
        connect(memory_pair(DEFAULT_LIMITS)[0], roots=roots)


async def test_who_has_no_roots_cannot_tell_that_they_changed() -> None:
    async with served(curious()) as client:
        with pytest.raises(ConfigError, match="no roots"):
            await client.roots_changed()


# What is declared.


@pytest.mark.parametrize(
    ("options", "declared"),
    [
        ({}, {}),
        ({"on_sample": always("x")}, {"sampling": {}}),
        ({"on_elicit": always(None)}, {"elicitation": {"form": {}, "url": {}}}),
        ({"roots": []}, {"roots": {"listChanged": True}}),
        (
            {
                "on_sample": always("x"),
                "on_elicit": always(None),
                "capabilities": ClientCapabilities(
                    sampling=SamplingCapability(tools={}, context={}),
                    elicitation=ElicitationCapability(form={}),
                    experimental={"x": {}},
                ),
            },
            {
                "sampling": {"tools": {}, "context": {}},
                "elicitation": {"form": {}},
                "experimental": {"x": {}},
            },
        ),
    ],
)
async def test_what_is_declared_follows_from_what_is_given(options: Any, declared: object) -> None:
    """`capabilities` takes its place, member by member."""
    capabilities: list[dict[str, Any]] = []
    server = Server("s")

    @server.tool
    async def look(ctx: Context) -> None:
        capabilities.append(msgspec.json.decode(ctx.client_capabilities.raw))

    async with served(server, **options) as client:
        await client.call_tool("look")

    assert capabilities == [declared]


def test_a_capability_with_nothing_behind_it_is_refused() -> None:
    """It would be a promise that nobody keeps."""
    for capabilities in (
        ClientCapabilities(sampling=SamplingCapability()),
        ClientCapabilities(elicitation=ElicitationCapability()),
    ):
        with pytest.raises(ConfigError, match="there is no on_"):
            connect(memory_pair(DEFAULT_LIMITS)[0], capabilities=capabilities)
    with pytest.raises(ConfigError, match="must be a function"):
        connect(memory_pair(DEFAULT_LIMITS)[0], on_sample="text")  # pyright: ignore[reportArgumentType]


@over_each_wire
@in_each_revision
async def test_a_handler_whose_client_declared_nothing_gets_the_error_and_the_client_no_request(
    wire: str, revision: str
) -> None:
    """Nothing but the answers goes over the wire."""
    async with talk(curious(), wire, revision) as peer:
        for number, tool in enumerate(("think", "measure", "visit", "look_around")):
            await peer.call(number, tool, {"about": "tea"} if tool == "think" else {})
            reply = await peer.receive()
            assert reply["id"] == number
            assert "CapabilityMissing" in reply["result"]["content"][0]["text"]


@over_each_wire
@in_each_revision
async def test_a_client_that_declared_nothing_is_asked_nothing(wire: str, revision: str) -> None:
    """The handler gets the error; and if it is asked all the same, it has no such method."""
    for tool in ("think", "measure", "visit", "look_around"):
        assert "CapabilityMissing" in await text_of(curious(), tool, wire)
    async with played(wire, revision=revision) as (_, peer):
        for method in ("sampling/createMessage", "elicitation/create", "roots/list"):
            await peer.ask("s1", method, {})
            await peer.expect(error("s1", -32601, f"Method not found: {method}"))


@in_each_revision
async def test_each_question_is_answered_in_each_revision(revision: str) -> None:
    """A client that is asked what a revision does not have answers as well as it can."""
    options: dict[str, Any] = {
        "on_sample": always("x"),
        "on_elicit": always({"a": 1}),
        "roots": ["file:///r"],
    }
    async with played(revision=revision, **options) as (_, peer):
        await peer.ask(1, "roots/list")
        await peer.expect(result(1, {"roots": [{"uri": "file:///r"}]}))
        await peer.ask(2, "elicitation/create", {"message": "?", "requestedSchema": {"type": "object"}})
        await peer.expect(result(2, {"action": "accept", "content": {"a": 1}}))
        await peer.ask(3, "sampling/createMessage", {"messages": [], "maxTokens": 1})
        block = {"type": "text", "text": "x"}
        said = {"role": "assistant", "content": block, "model": "unknown", "stopReason": "endTurn"}
        await peer.expect(result(3, said))


# What goes wrong.


@over_each_wire
@pytest.mark.parametrize(
    ("raised", "answer"),
    [
        (
            Refusal(-1, "User rejected", {"why": [1]}),
            {"code": -1, "message": "User rejected", "data": {"why": [1]}},
        ),
        (Refusal(5, "odd", object()), {"code": 5, "message": "odd"}),
        (ValueError("no model"), {"code": -32603, "message": "Error in sampling/createMessage: no model"}),
        (KeyError(), {"code": -32603, "message": "Error in sampling/createMessage: KeyError"}),
        (
            asyncio.CancelledError(),
            {"code": -32603, "message": "sampling/createMessage was cancelled by the client"},
        ),
    ],
)
async def test_what_a_callback_raises_is_the_error_of_that_request(
    wire: str, raised: BaseException, answer: object
) -> None:
    """A refusal as it is; anything else by its text.  The conversation goes on."""

    async def on_sample(_: CreateMessageParams) -> str:
        raise raised

    async with played(wire, on_sample=on_sample) as (_, peer):
        for id in (1, 2):
            await peer.ask(id, "sampling/createMessage", {"messages": [], "maxTokens": 1})
            await peer.expect({"jsonrpc": "2.0", "id": id, "error": answer})


@over_each_wire
async def test_a_sampling_that_the_user_refused_has_the_code_of_the_specification(wire: str) -> None:
    """None is enough."""
    told = await text_of(curious(), "think", wire, on_sample=always(None))

    assert told == "PeerError User rejected sampling request (code -1)"


UNREADABLE: list[tuple[str, Any]] = [
    ("sampling/createMessage", {"messages": 5, "maxTokens": 1}),
    ("sampling/createMessage", {"messages": [{"role": "nobody", "content": {}}], "maxTokens": 1}),
    ("sampling/createMessage", {"messages": []}),
    ("sampling/createMessage", {"messages": [], "maxTokens": 1, "tools": []}),
    ("elicitation/create", {"message": "?"}),
    ("elicitation/create", {"message": "?", "mode": "dream", "requestedSchema": {}}),
    ("elicitation/create", {"message": "?", "requestedSchema": {"type": "odd"}}),
    ("elicitation/create", {"message": "?", "mode": "url", "url": "https://x", "elicitationId": "1"}),
]


@pytest.mark.parametrize(("method", "params"), UNREADABLE)
async def test_params_that_cannot_be_read_reach_no_callback(method: str, params: object) -> None:
    """Nor do kinds of questions that were not declared."""

    def never(_: object) -> None:
        raise AssertionError("this was not to be asked")

    forms = ClientCapabilities(elicitation=ElicitationCapability(form={}))
    async with played(on_sample=never, on_elicit=never, capabilities=forms) as (_, peer):
        await peer.ask(1, method, params)
        reply = await peer.receive()
        assert (reply["id"], reply["error"]["code"]) == (1, -32602)
        assert reply["error"]["message"].startswith("Invalid params: ")


@pytest.mark.parametrize(
    ("method", "answer", "reason"),
    [
        ("sampling/createMessage", 5, "no block of content"),
        (
            "sampling/createMessage",
            CreateMessageResult("assistant", cast("Any", {"a": 1}), "m"),
            "no block of content",
        ),
        (
            "sampling/createMessage",
            CreateMessageResult(cast("Any", "nobody"), TextContent("x"), "m"),
            "no message of a model",
        ),
        ("elicitation/create", 5, "no answer of a user's"),
        ("elicitation/create", "perhaps", "no answer of a user's"),
        ("elicitation/create", {"n": "three"}, "as its schema says"),
        ("elicitation/create", {"n": object()}, "unsupported"),
        ("roots/list", ["https://x"], "must begin with file:"),
        ("roots/list", 5, "not iterable"),
    ],
)
async def test_a_result_is_checked_before_it_is_sent(
    method: str, answer: object, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The server hears that there is none, the program's log says why."""
    caplog.set_level(logging.WARNING, "anywire.client")
    questions: dict[str, Any] = {
        "sampling/createMessage": {"messages": [], "maxTokens": 1},
        "elicitation/create": {
            "message": "?",
            "requestedSchema": {"type": "object", "properties": {"n": {"type": "integer"}}},
        },
        "roots/list": {},
    }
    options: dict[str, Any] = {
        "on_sample": always(answer),
        "on_elicit": always(answer),
        "roots": lambda: answer,
    }
    async with played(**options) as (_, peer):
        await peer.ask(1, method, questions[method])
        reply = await peer.receive()

    assert reply["error"]["code"] == -32603
    assert caplog.records[0].getMessage().endswith(f"{method} could not be answered")
    assert re.search(reason, reply["error"]["message"])


@in_each_revision
async def test_several_blocks_are_sent_where_the_revision_has_room_for_them(revision: str) -> None:
    """One in a list is one; two are an error before 2025-11-25."""
    answers = one_after_the_other([TextContent("a")], [TextContent("a"), ToolUseContent("t", "look", {})])
    async with played(revision=revision, on_sample=answers) as (_, peer):
        block = {"type": "text", "text": "a"}
        await peer.ask(1, "sampling/createMessage", {"messages": [], "maxTokens": 1})
        one = (await peer.receive())["result"]
        await peer.ask(2, "sampling/createMessage", {"messages": [], "maxTokens": 1})
        two = await peer.receive()

    if revision == "2025-11-25":
        assert one["content"] == [block]
        assert two["result"]["content"][0] == block
        assert two["result"]["stopReason"] == "toolUse"
    else:
        assert one["content"] == block
        assert "room for one" in two["error"]["message"]


async def test_blocks_of_any_kind_are_what_a_model_said() -> None:
    """A block of a kind that is not known here, too, if the program made it."""
    image, odd = ImageContent.from_bytes(b"x"), UnknownContent("odd", b'{"type":"odd"}')
    async with played(on_sample=one_after_the_other(image, odd)) as (_, peer):
        for id, kind in ((1, "image"), (2, "odd")):
            await peer.ask(id, "sampling/createMessage", {"messages": [], "maxTokens": 1})
            assert (await peer.receive())["result"]["content"]["type"] == kind


async def test_messages_and_tools_come_typed() -> None:
    """As the server wrote them."""
    seen: list[CreateMessageParams] = []

    async def on_sample(params: CreateMessageParams) -> str:
        seen.append(params)
        return "x"

    capabilities = ClientCapabilities(sampling=SamplingCapability(tools={}))
    async with played(on_sample=on_sample, capabilities=capabilities) as (_, peer):
        message = {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "odd"}]}
        params: dict[str, Any] = {
            "messages": [message],
            "maxTokens": 1,
            "tools": [{"name": "t", "inputSchema": {}}],
        }
        await peer.ask(1, "sampling/createMessage", params)
        await peer.receive()

    (said,) = seen[0].messages
    assert isinstance(said, SamplingMessage)
    assert isinstance(said.content, Sequence)
    assert [type(block) for block in said.content] == [TextContent, UnknownContent]
    assert not isinstance(seen[0].tools, msgspec.UnsetType)
    assert [tool.name for tool in seen[0].tools] == ["t"]


# Many at once, and time.


@pytest.mark.parametrize("wire", WIRES)
@in_virtual_time
async def test_five_questions_at_once_end_together(wire: str) -> None:
    """Half a second each, half a second for all."""
    server = Server("s")

    @server.tool
    async def poll(ctx: Context) -> str:
        answers = await asyncio.gather(*(ctx.sample(str(number)) for number in range(5)))
        return " ".join(words(answer.content) for answer in answers)

    async def on_sample(params: CreateMessageParams) -> str:
        await asyncio.sleep(0.5)
        return words(params.messages[0].content)

    async with served(server, wire, on_sample=on_sample) as client:
        begin = asyncio.get_running_loop().time()
        said = (await client.call_tool("poll")).text
        took = asyncio.get_running_loop().time() - begin

    assert said == "0 1 2 3 4"
    assert took == pytest.approx(0.5, abs=0.1)


@pytest.mark.parametrize("wire", WIRES)
@in_virtual_time
async def test_the_clocks_of_calls_stand_still_while_a_question_is_answered(wire: str) -> None:
    """A user who takes ten minutes costs no call its timeout; what comes after has its time again."""
    server, gate = Server("s"), Gate()

    @server.tool
    async def ask(ctx: Context) -> str:
        answer = await ctx.elicit("?", Size)
        if answer.accepted:
            return "answered"
        await gate.wait()
        return "late"

    answers: list[Any] = [{"width": 1}, None]

    async def on_elicit(_: ElicitFormParams) -> dict[str, Any] | None:
        await asyncio.sleep(600)
        return answers.pop(0)

    async with served(server, wire, on_elicit=on_elicit) as client:
        assert (await client.call_tool("ask", timeout=5)).text == "answered"
        with pytest.raises(DeadlineExceeded, match="within 5 s"):
            await client.call_tool("ask", timeout=5)


@pytest.mark.parametrize("wire", WIRES)
@in_virtual_time
async def test_progress_of_an_answer_keeps_its_question_alive(wire: str) -> None:
    """From a coroutine; the server waits as long as there is progress."""
    server = Server("s")

    @server.tool
    async def think(ctx: Context) -> str:
        return (await ctx.sample("?", timeout=10)).model

    async def on_sample(_: CreateMessageParams, asked: Asked) -> CreateMessageResult:
        for step in range(5):
            await asyncio.sleep(8)
            asked.progress(step, 5, "thinking")
        return CreateMessageResult("assistant", TextContent(""), "slow")

    async with served(server, wire, on_sample=on_sample) as client:
        assert (await client.call_tool("think")).text == "slow"


@over_each_wire
async def test_progress_is_reported_from_a_thread_as_well(wire: str) -> None:
    """Before the answer, under the token of the question; without a token, not at all."""

    def on_sample(_: CreateMessageParams, asked: Asked) -> str:
        asked.progress(1, 2, "half")
        return "x"

    async with played(wire, on_sample=on_sample) as (_, peer):
        params: dict[str, Any] = {"messages": [], "maxTokens": 1}
        await peer.ask(1, "sampling/createMessage", {**params, "_meta": {"progressToken": "t"}})
        told = await peer.receive()
        assert told["method"] == "notifications/progress"
        assert told["params"] == {"progressToken": "t", "progress": 1.0, "total": 2.0, "message": "half"}
        assert "result" in await peer.receive()
        await peer.ask(2, "sampling/createMessage", params)
        assert "result" in await peer.receive()


# Cancellation and the end.


@over_each_wire
async def test_a_question_that_is_withdrawn_stops_its_callback_and_is_not_answered(wire: str) -> None:
    """Even if it returns all the same.  The id may come again meanwhile."""
    gate, stopped = Gate(), asyncio.Event()

    async def on_sample(params: CreateMessageParams) -> str:
        if params.max_tokens == 2:
            return "second"
        try:
            await gate.wait()
        except asyncio.CancelledError:
            stopped.set()
        return "first"

    async with played(wire, on_sample=on_sample) as (_, peer):
        await peer.ask(7, "sampling/createMessage", {"messages": [], "maxTokens": 1})
        await gate.reached.wait()
        await peer.notify("notifications/cancelled", {"requestId": 7, "reason": "enough"})
        async with asyncio.timeout(PATIENCE):
            await stopped.wait()
        await peer.ask(7, "sampling/createMessage", {"messages": [], "maxTokens": 2})
        assert (await peer.receive())["result"]["content"]["text"] == "second"
        await peer.expect_silence()


@pytest.mark.parametrize("wire", WIRES)
@in_virtual_time
async def test_a_server_that_waited_too_long_withdraws_its_question(wire: str) -> None:
    """The callback is stopped, the handler has its error, the conversation goes on."""
    server, stopped = Server("s"), asyncio.Event()

    @server.tool
    async def think(ctx: Context) -> str:
        try:
            await ctx.sample("?", timeout=3)
        except DeadlineExceeded:
            return "no answer"
        return "answer"

    async def on_sample(_: CreateMessageParams) -> str:
        try:
            await asyncio.sleep(1000)
        finally:
            stopped.set()
        return "late"

    async with served(server, wire, on_sample=on_sample) as client:
        assert (await client.call_tool("think")).text == "no answer"
        async with asyncio.timeout(PATIENCE):
            await stopped.wait()


@over_each_wire
async def test_closing_the_client_stops_its_callbacks(wire: str) -> None:
    """They have ended when `close()` returns."""
    gate, ended = Gate(), list[str]()

    async def on_sample(_: CreateMessageParams) -> str:
        try:
            await gate.wait()
        finally:
            await asyncio.sleep(0)
            ended.append("ended")
        return "x"

    async with played(wire, on_sample=on_sample) as (client, peer):
        await peer.ask(1, "sampling/createMessage", {"messages": [], "maxTokens": 1})
        await gate.reached.wait()
        await client.close()
        assert ended == ["ended"]


@pytest.mark.parametrize("wire", WIRES)
@in_virtual_time
async def test_a_callback_that_does_not_stop_is_left_behind(wire: str) -> None:
    """Closing waits for it, but not for ever."""
    started, release = asyncio.Event(), asyncio.Event()

    async def on_sample(_: CreateMessageParams) -> str:
        while not release.is_set():
            started.set()
            try:
                await release.wait()
            except asyncio.CancelledError:
                pass
        return "x"

    async with played(wire, on_sample=on_sample) as (client, peer):
        await peer.ask(1, "sampling/createMessage", {"messages": [], "maxTokens": 1})
        await started.wait()
        await client.close()
    release.set()
    await asyncio.sleep(1)


@over_each_wire
async def test_a_callback_that_hangs_when_the_server_goes_away_is_stopped(wire: str) -> None:
    """Nobody waits for its answer."""
    gate, stopped = Gate(), asyncio.Event()

    async def on_elicit(_: object) -> None:
        try:
            await gate.wait()
        finally:
            stopped.set()

    async with played(wire, on_elicit=on_elicit) as (_, peer):
        await peer.ask(1, "elicitation/create", {"message": "?", "requestedSchema": {}})
        await gate.reached.wait()
        await peer.close()
        async with asyncio.timeout(PATIENCE):
            await stopped.wait()


async def test_a_callback_may_close_its_client() -> None:
    """It is told to stop only when the wire has ended."""
    closing: list[Any] = []
    reached = asyncio.Event()

    async def on_elicit(_: object) -> None:
        try:
            await closing[0].close()
        finally:
            reached.set()

    async with played(on_elicit=on_elicit) as (client, peer):
        closing.append(client)
        await peer.ask(1, "elicitation/create", {"message": "?", "requestedSchema": {}})
        async with asyncio.timeout(PATIENCE):
            await reached.wait()
        await client.close()


async def test_a_client_that_is_dropped_stops_its_callbacks() -> None:
    """Nobody is left to answer for."""
    gate, stopped = Gate(), asyncio.Event()

    async def on_elicit(_: object) -> None:
        try:
            await gate.wait()
        finally:
            stopped.set()

    server = Server("s")

    @server.tool
    async def ask(ctx: Context) -> None:
        await ctx.elicit("?", Size)

    async def leave_and_forget() -> None:
        await leave()
        gc.collect()

    async def leave() -> None:
        client = connect(server, on_elicit=on_elicit)
        await client.open()
        await client.notify("notifications/x")
        asking = asyncio.ensure_future(client.call_tool("ask"))
        await gate.reached.wait()
        asking.cancel()
        await asyncio.wait([asking])
        del asking, client

    with pytest.warns(ResourceWarning, match="dropped without being closed"):
        await leave_and_forget()
    async with asyncio.timeout(PATIENCE):
        await stopped.wait()


@over_each_wire
async def test_a_callback_may_call_the_server_that_waits_for_it(wire: str) -> None:
    """Both directions at once."""
    server, clients = Server("s"), list[Any]()

    @server.tool
    async def outer(ctx: Context) -> str:
        return (await ctx.sample("?")).model

    @server.tool
    async def inner() -> str:
        return "inner"

    async def on_sample(_: CreateMessageParams) -> CreateMessageResult:
        called = await clients[0].call_tool("inner")
        return CreateMessageResult("assistant", TextContent(""), called.text)

    async with served(server, wire, on_sample=on_sample) as client:
        clients.append(client)
        assert (await client.call_tool("outer")).text == "inner"
