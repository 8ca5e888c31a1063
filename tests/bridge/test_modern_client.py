"""A stateless client works with a handshake server: every feature, over each way, and what may go wrong."""

from __future__ import annotations

import asyncio
from typing import Any, Literal

import pytest

from anywire import Context, Server
from anywire.client.event import ListChanged, LogMessage, ResourceUpdated
from anywire.errors import ConnectFailed, PeerError, Refusal
from anywire.protocol.modern import LATEST_STATELESS_REVISION
from anywire.protocol.types.elicitation import ElicitFormParams, ElicitUrlParams
from anywire.protocol.types.sampling import CreateMessageParams
from anywire.testing import in_virtual_time
from anywire.transport.contract import Transport
from anywire.transport.memory import memory_pair
from anywire.wire.limits import DEFAULT_LIMITS
from anywire.wire.message import Fault, FaultKind, create_notification
from tests.bridge.downward import WAYS, Bridge, PlayedClient, meeting, nothing_left, played
from tests.interaction.test_features import ANSWERS, Desk, Trip
from tests.interaction.test_rounds import Name
from tests.protocol.translate.virtual import meta

LEGACY: frozenset[Literal["legacy", "modern"]] = frozenset({"legacy"})
over_each_way = pytest.mark.parametrize("way", WAYS)
CALL: dict[str, Any] = {"name": "t", "arguments": {"a": 1}}
FORM: dict[str, Any] = {"message": "Who?", "requestedSchema": {"type": "object", "properties": {}}}
ACCEPT: dict[str, Any] = {"action": "accept", "content": {}}


def desk() -> Desk:
    """The server with one of each feature, as it is in the handshake era."""
    made = Desk()
    made.server.eras = LEGACY
    return made


# Every feature.


@over_each_way
async def test_a_server_says_what_it_is(way: str) -> None:
    """It is asked anew by each conversation."""
    async with meeting(desk().server, way) as client:
        assert client.revision == LATEST_STATELESS_REVISION
        assert (client.server.server_info.name, client.server.instructions) == ("desk", "Ask.")


@over_each_way
async def test_tools_are_listed_page_by_page_and_called(way: str) -> None:
    """With structured results, failures, and errors of the program's choice."""
    async with meeting(desk().server, way) as client:
        names = [tool.name for tool in await client.tools()]
        assert names == ["add", "ask", "many", "wait", "say", "refuse"]
        added = await client.call_tool("add", {"a": 1, "b": 2})
        assert (added.text, added.structured) == ("3", {"result": 3})
        assert (await client.call_tool("add", {"a": "x"})).is_error
        with pytest.raises(PeerError) as caught:
            await client.call_tool("refuse")
        assert (caught.value.code, caught.value.message, caught.value.data) == (-31000, "no", b'{"why":1}')


@over_each_way
async def test_resources_and_prompts_are_read_and_completed(way: str) -> None:
    """By URI, by template, by name; what there is not has the code of the era."""
    async with meeting(desk().server, way) as client:
        assert [each.uri for each in await client.resources()] == ["note://all"]
        assert [each.uri_template for each in await client.resource_templates()] == ["note://{name}"]
        assert (await client.read_resource("note://all")).text == "all"
        assert (await client.read_resource("note://b%20c")).data == b"b c"
        with pytest.raises(PeerError, match="Resource not found: note://none") as caught:
            await client.read_resource("note://none")
        assert (caught.value.code, caught.value.data) == (-32602, b'{"uri":"note://none"}')
        assert [each.name for each in await client.prompts()] == ["review"]
        prompt = await client.get_prompt("review", {"code": "x"})
        assert [message.role for message in prompt.messages] == ["user", "assistant"]
        completed = await client.complete("review", "style", "s")
        assert completed.completion.values == ["short"]


@over_each_way
async def test_a_handler_asks_its_client(way: str) -> None:
    """For a form, a model, folders, one after the other; five forms side by side.

    With one POST for each request, each round comes over a transport of its own.
    """
    async with meeting(desk().server, way, **ANSWERS) as client:
        asked = await client.call_tool("ask")
        assert asked.text == f"{Trip('Where to?')} Because of 9. ['file:///work']"
        assert (await client.call_tool("many")).text == "0, 1, 2, 3, 4"


@over_each_way
async def test_prompts_and_resources_ask_as_well(way: str) -> None:
    """The other methods do not."""
    server = Server("inn", eras=["legacy"])

    @server.prompt
    async def greet(context: Context) -> str:
        return str((await context.elicit("Who?", Name)).content)

    @server.resource("a://b")
    async def held(context: Context) -> str:
        return str((await context.elicit("Who?", Name)).content)

    def fill_in(form: ElicitFormParams | ElicitUrlParams) -> dict[str, str]:
        return {"name": "Ada"}

    async with meeting(server, way, on_elicit=fill_in) as client:
        assert "Ada" in str((await client.get_prompt("greet")).messages)
        assert "Ada" in str((await client.read_resource("a://b")).text)


@over_each_way
async def test_who_cannot_be_asked_is_not_asked(way: str) -> None:
    """The handler hears what is missing, and may go on."""
    async with meeting(desk().server, way) as client:
        asked = await client.call_tool("ask")
        assert "did not declare the capability 'elicitation'" in asked.text


async def test_a_model_may_be_refused() -> None:
    """The call is not made again, as the specification has it, and is given up at last."""

    def refuse(params: CreateMessageParams) -> None:
        return None

    async with meeting(desk().server, "transport", **(ANSWERS | {"on_sample": refuse})) as client:
        with pytest.raises(Refusal) as caught:
            await client.call_tool("ask")
        assert caught.value.code == -1


@over_each_way
async def test_progress_and_log_messages_come_before_the_answer(way: str) -> None:
    """To who asked for them."""
    reported: list[Any] = []
    logged: list[Any] = []

    def report(progress: float, total: float | None, message: str | None) -> None:
        reported.append((progress, total, message))

    async with meeting(desk().server, way, on_log=logged.append) as client:
        assert (await client.call_tool("say", on_progress=report)).text == "said"
        assert reported == [(1.0, 2.0, "half")]
        assert [each["level"] for each in logged] == ["warning"]
        await client.set_log_level("error")
        await client.call_tool("say")
        assert len(logged) == 1


@over_each_way
async def test_a_call_that_is_given_up_stops_its_handler(way: str) -> None:
    """By a notification, or by the end of its connection."""
    made = desk()
    async with meeting(made.server, way) as client:
        calling = asyncio.create_task(client.call_tool("wait"))
        await made.gate.reached.wait()
        calling.cancel()
        await made.stopped.wait()
        await asyncio.wait([calling])
        assert (await client.call_tool("add", {"a": 1, "b": 1})).text == "2"


@over_each_way
async def test_changes_are_heard_of(way: str) -> None:
    """Of lists, of resources that are named, and log messages."""
    server = desk().server
    async with meeting(server, way) as client, client.listen(resources=["note://all"]) as events:
        server.resource_updated("note://all")
        server.resource_updated("note://other")
        first = await events.next()
        assert isinstance(first, ResourceUpdated)
        assert first.uri == "note://all"
        server.remove_tool("many")
        second = await events.next()
        assert isinstance(second, ListChanged)
        assert second.which == "tools"
        await client.call_tool("say")
        third = await events.next()
        assert isinstance(third, LogMessage)
        assert third.level == "warning"


@over_each_way
async def test_many_calls_at_once_each_have_their_answer(way: str) -> None:
    """On as many connections."""
    async with meeting(desk().server, way, **ANSWERS) as client:
        sums = [client.call_tool("add", {"a": n, "b": n}) for n in range(30)]
        forms = [client.call_tool("many") for _ in range(5)]
        results = await asyncio.gather(*sums, *forms)
    assert [result.text for result in results] == [str(2 * n) for n in range(30)] + ["0, 1, 2, 3, 4"] * 5


# What is on the wire.


async def ask(client: PlayedClient, id: object, method: str, params: Any = None, **said: Any) -> None:
    given: dict[str, Any] = {} if params is None else params
    await client.ask(id, method, {**given, "_meta": meta(**said)})


async def test_each_request_is_a_conversation_of_its_own() -> None:
    """Which ends with its answer; a method that nobody knows passes, with the bytes of its result."""
    async with played() as (bridge, client):
        for id in (1, "a"):
            await ask(client, id, "x/y", {"n": 1})
            server = await bridge.greeted()
            await server.expect({"jsonrpc": "2.0", "id": 2, "method": "x/y", "params": {"n": 1}})
            odd = b'{"z":12345678901234567890123,"\\ud83d": 1.0e-5,"a":"\\udc00"}'
            await server.send(b'{"jsonrpc":"2.0","id":2,"result":%b}' % odd)
            got = await client.receive_message()
            assert getattr(got, "result", b"").endswith(odd[1:])
            await server.expect_end()


async def test_what_cannot_be_asked_asks_no_server() -> None:
    """Nor does an envelope that says too little, an array, a notification that means nothing."""
    async with played() as (bridge, client):
        await ask(client, 1, "initialize")
        await client.expect(
            {"jsonrpc": "2.0", "id": 1, "error": {"code": -32601, "message": "Method not found: initialize"}}
        )
        await client.ask(2, "tools/list", {})
        assert (await client.receive())["error"]["code"] == -32602
        await client.send([{"jsonrpc": "2.0", "id": 3, "method": "tools/list"}])
        got = await client.receive()
        assert (got["id"], got["error"]["code"]) == (3, -32600)
        await client.notify("notifications/roots/list_changed")
        await client.send({"jsonrpc": "2.0", "id": 1, "result": {}})
        await client.expect_silence()
        assert bridge.behind.connections == []


async def test_an_id_that_is_in_use_is_refused() -> None:
    """The other request goes on."""
    async with played() as (bridge, client):
        await ask(client, 1, "tools/call", CALL)
        server = await bridge.greeted()
        await server.receive()
        await ask(client, 1, "tools/call", CALL)
        assert "in flight already" in (await client.receive())["error"]["message"]
        await server.send({"jsonrpc": "2.0", "id": 2, "result": {}})
        assert (await client.receive())["result"]["resultType"] == "complete"


async def asked_for_input(bridge: Bridge, client: PlayedClient, id: object = 1) -> tuple[Any, Any]:
    """A call whose server asks for a form: that server, and the round."""
    await ask(client, id, "tools/call", CALL)
    server = await bridge.greeted()
    await server.receive()
    await server.ask("q", "elicitation/create", FORM)
    got = await client.receive()
    assert (got["id"], got["result"]["resultType"]) == (id, "input_required")
    return server, got["result"]


def answers(round: Any, answer: Any = ACCEPT) -> dict[str, Any]:
    """The params of the next round."""
    responses = dict.fromkeys(round["inputRequests"], answer)
    return {**CALL, "inputResponses": responses, "requestState": round["requestState"]}


async def test_a_call_goes_on_over_whichever_transport() -> None:
    """The one that it began on may be closed by then; the server has noticed nothing."""
    async with played() as (bridge, first):
        server, round = await asked_for_input(bridge, first)
        await first.close()
        assert len(bridge.behind.held) == 1
        async with bridge.client() as second:
            await ask(second, 9, "tools/call", answers(round))
            await server.expect({"jsonrpc": "2.0", "id": "q", "result": ACCEPT})
            assert len(bridge.behind.held) == 0
            await server.send({"jsonrpc": "2.0", "id": 2, "result": {"content": []}})
            got = await second.receive()
            assert (got["id"], got["result"]["resultType"]) == (9, "complete")
        assert len(bridge.behind.connections) == 1


async def refused(client: PlayedClient, id: object, params: Any, method: str = "tools/call") -> str:
    """Why a round is refused."""
    await ask(client, id, method, params)
    got = await client.receive()
    assert (got["id"], got["error"]["code"]) == (id, -32602)
    return got["error"]["message"]


async def test_a_state_serves_once_and_for_its_call() -> None:
    """A round that is refused costs the call nothing."""
    async with played() as (bridge, client):
        server, round = await asked_for_input(bridge, client)
        good = answers(round)
        other = {**good, "arguments": {"a": 2}}
        assert "belongs to another request" in await refused(client, 2, other)
        assert "belongs to another request" in await refused(client, 3, good, "prompts/get")
        changed = {**good, "requestState": good["requestState"][:-2] + "AA"}
        assert "none of this server's" in await refused(client, 4, changed)
        assert "none of this server's" in await refused(client, 5, {**good, "requestState": 5})
        assert "cannot be used" in await refused(client, 6, answers(round, {"action": "maybe"}))
        await ask(client, 7, "tools/call", good)
        await server.expect({"jsonrpc": "2.0", "id": "q", "result": ACCEPT})
        assert "went on already" in await refused(client, 8, good)
        await server.send({"jsonrpc": "2.0", "id": 2, "result": {}})
        assert (await client.receive())["id"] == 7
        async with nothing_left((other_bridge := Bridge()).behind), other_bridge.client() as stranger:
            assert "none of this server's" in await refused(stranger, 1, good)


@in_virtual_time
async def test_questions_that_come_one_upon_the_other_are_asked_together() -> None:
    """A server that asks several things at once does so in one round, in however many pieces they come."""
    async with played() as (bridge, client):
        await ask(client, 1, "tools/call", CALL)
        server = await bridge.greeted()
        await server.receive()
        for id in ("q1", "q2", "q3"):
            await server.ask(id, "elicitation/create", FORM)
            await asyncio.sleep(0.001)
        required = (await client.receive())["result"]
        assert len(required["inputRequests"]) == 3


@in_virtual_time
async def test_a_call_that_nobody_comes_back_to_is_given_up() -> None:
    """The server hears of it, and the state has expired."""
    async with played(DEFAULT_LIMITS.replace(held_seconds=5)) as (bridge, client):
        server, round = await asked_for_input(bridge, client)
        await server.expect(
            {
                "jsonrpc": "2.0",
                "method": "notifications/cancelled",
                "params": {"requestId": 2, "reason": "the client did not come back with its answers"},
            }
        )
        await server.expect_end()
        assert asyncio.get_running_loop().time() == pytest.approx(5 + DEFAULT_LIMITS.gather_seconds)
        assert "has expired" in await refused(client, 2, answers(round))


@pytest.mark.parametrize("limit", [{"held_calls": 1}, {"held_bytes": 200}])
async def test_calls_that_wait_are_bounded(limit: dict[str, Any]) -> None:
    """The server is told that its client cannot be asked, and may do without."""
    async with played(DEFAULT_LIMITS.replace(**limit)) as (bridge, client):
        if "held_calls" in limit:
            await asked_for_input(bridge, client)
        await ask(client, 2, "tools/call", {**CALL, "more": "x" * 300})
        server = await bridge.greeted()
        await server.receive()
        await server.ask("q", "elicitation/create", FORM)
        error = (await server.receive())["error"]
        assert "wait for their clients' input" in error["message"] or "have more than" in error["message"]
        await server.send({"jsonrpc": "2.0", "id": 2, "result": {}})
        assert (await client.receive())["id"] == 2


async def test_what_is_said_between_two_rounds_is_bounded() -> None:
    """More of it costs the call."""
    async with played(DEFAULT_LIMITS.replace(held_bytes=2000)) as (bridge, client):
        server, round = await asked_for_input(bridge, client)
        await server.send({"jsonrpc": "2.0", "id": 2, "result": {"x": "y" * 5000}})
        await server.expect_end()
        await ask(client, 2, "tools/call", answers(round))
        assert "have more than 2000 bytes" in (await client.fails())[1]


async def test_a_call_is_cancelled_at_the_server_when_its_client_cancels_or_goes() -> None:
    """That is all that a client of one POST can do."""
    async with played() as (bridge, client):
        for id, end in ((1, "cancels"), (2, "goes")):
            await ask(client, id, "tools/call", CALL)
            server = await bridge.greeted()
            await server.receive()
            if end == "cancels":
                await client.notify("notifications/cancelled", {"requestId": id, "reason": "enough"})
            else:
                await client.close()
            reason = "enough" if end == "cancels" else "the client has gone"
            params = {"requestId": 2, "reason": reason}
            await server.expect({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})
            await server.expect_end()
        assert client.failed == []


async def test_a_subscription_that_is_cancelled_ends_at_the_server() -> None:
    """And its connection."""
    async with played() as (bridge, client):
        wanted = {"notifications": {"resourceSubscriptions": ["a:b"], "toolsListChanged": True}}
        await ask(client, 1, "subscriptions/listen", wanted)
        server = await bridge.greeted({"resources": {"subscribe": True}})
        await server.answer(await server.receive(), {})
        granted = (await client.receive())["params"]["notifications"]
        assert granted == {"resourceSubscriptions": ["a:b"]}
        await client.notify("notifications/cancelled", {"requestId": 1})
        assert (await server.receive())["method"] == "resources/unsubscribe"
        await server.expect_end()


# What goes wrong.


async def test_a_server_that_ends_costs_the_requests_that_it_served() -> None:
    """Each once; the next has another connection."""
    async with played() as (bridge, client):
        await ask(client, 1, "tools/call", CALL)
        server = await bridge.greeted()
        await server.receive()
        await server.close()
        assert await client.fails() == (b"1", "behind ended before it answered tools/call")
        await ask(client, 2, "tools/call", CALL)
        again = await bridge.greeted()
        await again.answer(await again.receive(), {})
        assert (await client.receive())["id"] == 2
        assert len(client.failed) == 1


async def test_a_server_that_ends_between_two_rounds_fails_the_next() -> None:
    """With the reason; nothing is kept open for it."""
    async with played() as (bridge, client):
        server, round = await asked_for_input(bridge, client)
        await server.close()
        await ask(client, 2, "tools/call", answers(round))
        assert await client.fails() == (b"2", "behind ended before it answered tools/call")


async def test_a_server_that_answers_between_two_rounds_is_heard_in_the_next() -> None:
    """It need not stay for that."""
    async with played() as (bridge, client):
        server, round = await asked_for_input(bridge, client)
        await server.send({"jsonrpc": "2.0", "id": 2, "result": {"late": 1}})
        await server.expect_end()
        await ask(client, 2, "tools/call", answers(round))
        assert (await client.receive())["result"]["late"] == 1


@pytest.mark.parametrize("when", ["made", "started"])
async def test_a_server_that_cannot_be_reached_fails_the_request(when: str) -> None:
    """With the reason."""

    class Unreachable(type(memory_pair()[0])):
        async def start(self) -> None:
            raise ConnectFailed("nobody is there")

    def connect() -> Transport:
        if when == "made":
            raise ConnectFailed("nobody is there")
        return Unreachable()

    bridge = Bridge()
    bridge.behind.connect = connect
    async with nothing_left(bridge.behind), bridge.client() as client:
        await ask(client, 1, "tools/list")
        assert await client.fails() == (b"1", "nobody is there")


@in_virtual_time
async def test_a_server_that_never_shakes_hands_fails_the_request() -> None:
    """After the time that any request has."""
    async with played(DEFAULT_LIMITS.replace(request_seconds=7)) as (bridge, client):
        await ask(client, 1, "tools/list")
        server = await bridge.server()
        assert await client.fails() == (b"1", "behind has not shaken hands within 7 s")
        assert (await server.receive())["method"] == "initialize"
        await server.expect_end()
        assert asyncio.get_running_loop().time() == 7


async def test_a_refused_handshake_is_the_answer() -> None:
    """In the words of the server."""
    async with played() as (bridge, client):
        await ask(client, 1, "server/discover")
        server = await bridge.server()
        greeting = await server.receive()
        await server.send({"jsonrpc": "2.0", "id": greeting["id"], "error": {"code": 5, "message": "no"}})
        error = (await client.receive())["error"]
        assert error == {"code": 5, "message": "behind refused the handshake: no"}


async def test_noise_of_the_server_is_told_to_the_bridge() -> None:
    """A reply that cannot be used is the request's; the id of another is of no use to anybody."""
    async with played() as (bridge, client):
        await ask(client, 1, "tools/call", CALL)
        server = await bridge.greeted()
        await server.receive()
        callbacks = bridge.behind.connections[0].callbacks
        callbacks.on_error(ConnectFailed("a stream"))
        callbacks.on_error(Fault(FaultKind.PARSE_ERROR, "of nobody", b"1", is_reply=True, data=b"{"))
        callbacks.on_error(Fault(FaultKind.PARSE_ERROR, "noise", b"2", is_reply=True, data=b"{"))
        assert [getattr(each, "id", "") for each in client.noise] == ["", None]
        assert await client.fails() == (b"1", "behind: its reply cannot be used: noise")


async def test_the_same_call_waits_once_in_each_client() -> None:
    """Two clients that make the same call are two."""
    async with played() as (bridge, client):
        one, first = await asked_for_input(bridge, client, 1)
        other, second = await asked_for_input(bridge, client, 2)
        assert first["requestState"] != second["requestState"]
        await ask(client, 3, "tools/call", answers(second))
        await other.expect({"jsonrpc": "2.0", "id": "q", "result": ACCEPT})
        await one.expect_silence()


async def test_a_transport_closes_once() -> None:
    """From however many sides, started or not."""
    transport = Bridge().behind.transport()
    closed: list[object] = []
    transport.callbacks.on_close = closed.append
    await asyncio.gather(transport.close(), transport.close())
    await transport.close()
    assert (closed, transport.closed) == ([None], True)


async def test_pressure_reaches_the_connections() -> None:
    """A client that does not read holds them, each server that does not read holds the client."""

    class Slow(type(memory_pair()[0])):
        def __init__(self) -> None:
            super().__init__()
            self.other = memory_pair()[1]
            self.on_full = self.on_room = lambda: None
            self.holds: set[str] = set()

        def hold_reading(self, reason: str) -> None:
            self.holds.add(reason)

        def release_reading(self, reason: str) -> None:
            self.holds.discard(reason)

    slow: list[Slow] = []

    def connect() -> Transport:
        slow.append(Slow())
        return slow[-1]

    bridge = Bridge()
    bridge.behind.connect = connect
    async with nothing_left(bridge.behind), bridge.client() as client:
        transport: Any = client.transport
        levels: list[str] = []
        transport.on_full = lambda: levels.append("full")
        transport.on_room = lambda: levels.append("room")
        await ask(client, 1, "tools/list")
        transport.hold_reading("slow client")
        await ask(client, 2, "tools/list")
        assert [each.holds for each in slow] == [{"slow client"}, {"slow client"}]
        transport.release_reading("slow client")
        assert [each.holds for each in slow] == [set(), set()]
        slow[0].on_full()
        slow[1].on_full()
        slow[0].on_room()
        assert levels == ["full"]
        waiting = asyncio.create_task(transport.send(create_notification("x/y")))
        slow[1].on_room()
        await waiting
        assert levels == ["full", "room"]
