"""Clients that share a server of ours through a hub: each is served as if it were alone."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from anywire import Client, Context, Server
from anywire.client.event import ListChanged, ResourceUpdated
from anywire.client.listening import Listener
from anywire.protocol.types.sampling import CreateMessageParams
from tests.bridge.sharing.hubs import served, soon


class Works:
    """A server whose tools wait until the test lets them go on, and what was seen in it."""

    def __init__(self) -> None:
        self.server = Server("works")
        self.begun: asyncio.Queue[str] = asyncio.Queue()
        self.ended: asyncio.Queue[tuple[str, bool]] = asyncio.Queue()
        self.gates: dict[str, asyncio.Event] = {}
        self.most_at_once = self._at_once = 0
        self.server.tool(self.work)
        self.server.tool(self.echo)
        self.server.tool(self.think)
        self.server.tool(self.say)
        for name in ("a", "b"):
            self.server.resource(f"res://{name}", name=name)(self.read)

    async def work(self, name: str, ctx: Context) -> str:
        """Report progress, wait for the gate of that name, report again."""
        gate = self.gates.setdefault(name, asyncio.Event())
        self._at_once += 1
        self.most_at_once = max(self.most_at_once, self._at_once)
        cancelled = True
        try:
            await ctx.progress(1, message=name)
            self.begun.put_nowait(name)
            await gate.wait()
            await ctx.progress(2, message=name)
            cancelled = False
            return f"done: {name}"
        finally:
            self._at_once -= 1
            self.ended.put_nowait((name, cancelled))

    async def echo(self, text: str) -> str:
        """Return the text, a few turns of the loop later."""
        for _ in range(len(text)):
            await asyncio.sleep(0)
        return text

    async def think(self, about: str, ctx: Context) -> str:
        """Ask the client's model."""
        answer = await ctx.sample(about)
        return f"{about}: {answer.content}"

    async def say(self, level: Any, text: str, ctx: Context) -> None:
        """Write a line of the log."""
        await ctx.log(level, text)

    async def read(self) -> str:
        """Return a text."""
        return "text"

    def let_go(self, name: str) -> None:
        """Let the work of that name go on."""
        self.gates[name].set()


def updated(uri: str) -> dict[str, Any]:
    """What a client is told of a resource that has changed."""
    return {"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": uri}}


async def told(listener: Listener) -> str:
    """The resource of which a listener hears next."""
    event = await soon(listener.next())
    assert isinstance(event, ResourceUpdated)
    return event.uri


# Calls.


async def test_equal_ids_and_tokens_are_told_apart() -> None:
    """Each of two clients that count alike gets its own progress and its own result, late or soon."""
    works = Works()
    async with served(works.server) as shared:
        one, two = shared.raw(), shared.raw()
        async with one, two:
            for client, name in ((one, "one"), (two, "two")):
                await client.initialize()
                await client.call(7, "work", {"name": name}, {"progressToken": "t"})
                assert await soon(works.begun.get()) == name
            works.let_go("two")
            for client, name in ((two, "two"), (one, "one")):
                first, second, reply = await client.receive_many(3)
                assert [each["params"]["progressToken"] for each in (first, second)] == ["t", "t"]
                assert [each["params"]["message"] for each in (first, second)] == [name, name]
                assert (reply["id"], reply["result"]["content"][0]["text"]) == (7, f"done: {name}")
                works.let_go("one")
            await one.expect_silence()
            await two.expect_silence()
    assert works.most_at_once == 2
    assert len(shared.made) == 1


async def test_sixty_four_clients_at_once_get_each_its_own() -> None:
    """All calls run on one server, which sees one client."""
    works = Works()

    async def use(client: Client, number: int) -> None:
        async with client:
            calls = (client.call_tool("echo", {"text": f"{number}/{each}"}) for each in range(8))
            results = await asyncio.gather(*calls)
            assert [result.text for result in results] == [f"{number}/{each}" for each in range(8)]

    async with served(works.server) as shared:
        await soon(asyncio.gather(*(use(shared.client(), number) for number in range(64))))
    assert len(shared.made) == 1


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_what_one_gives_up_is_ended_and_nothing_of_another(era: str) -> None:
    """A call that is cancelled ends in the server; that of another, with the same id, goes on."""
    works = Works()
    async with served(works.server) as shared:
        async with shared.client(era=era) as one, shared.client(era=era) as two:
            first = asyncio.ensure_future(one.call_tool("work", {"name": "first"}))
            second = asyncio.ensure_future(two.call_tool("work", {"name": "second"}))
            assert {await soon(works.begun.get()), await soon(works.begun.get())} == {"first", "second"}
            first.cancel()
            assert await soon(works.ended.get()) == ("first", True)
            works.let_go("second")
            assert (await soon(second)).text == "done: second"
            assert (await one.call_tool("echo", {"text": "still there"})).text == "still there"
        await asyncio.gather(first, return_exceptions=True)


async def test_a_client_that_leaves_in_the_middle_of_a_call_leaves_nothing() -> None:
    """Its call ends in the server, and the others are served as before."""
    works = Works()
    async with served(works.server) as shared, shared.client() as stays:
        leaves = shared.raw()
        await leaves.start()
        await leaves.initialize()
        await leaves.call(2, "work", {"name": "x"})
        assert await soon(works.begun.get()) == "x"
        await leaves.close()
        assert await soon(works.ended.get()) == ("x", True)
        assert (await stays.call_tool("echo", {"text": "served"})).text == "served"
        assert len(shared.hub) == 1
        assert not leaves.inbox


# What the server asks.


def thinker(name: str) -> Any:
    """A model that says whose it is."""

    async def think(params: CreateMessageParams) -> str:
        return f"{name} thinks"

    return think


async def test_a_question_goes_to_whose_call_runs() -> None:
    """The model of the caller is asked, whoever else has one."""
    works = Works()
    async with (
        served(works.server) as shared,
        shared.client(on_sample=thinker("one")) as one,
        shared.client(on_sample=thinker("two")) as two,
    ):
        for client, name in ((one, "one"), (two, "two"), (one, "one")):
            assert f"{name} thinks" in (await client.call_tool("think", {"about": "x"})).text


async def test_who_declared_no_model_is_not_asked() -> None:
    """The server is told so, and the next of the others is served all the same."""
    works = Works()
    async with (
        served(works.server) as shared,
        shared.client() as mute,
        shared.client(on_sample=thinker("two")) as two,
    ):
        refused = await mute.call_tool("think", {"about": "x"})
        assert refused.is_error
        assert "sampling" in refused.text
        assert "two thinks" in (await two.call_tool("think", {"about": "x"})).text


async def test_a_question_that_may_be_anybodys_is_refused_plainly() -> None:
    """With calls of two clients running nobody is asked; whoever runs the bridge hears of it, once."""
    works = Works()
    async with (
        served(works.server) as shared,
        shared.client(on_sample=thinker("one")) as one,
        shared.client() as two,
    ):
        working = asyncio.ensure_future(two.call_tool("work", {"name": "w"}))
        await soon(works.begun.get())
        for _ in range(2):
            refused = await one.call_tool("think", {"about": "x"})
            assert refused.is_error
            assert "which of them is meant cannot be told" in refused.text
        works.let_go("w")
        await soon(working)
        assert "one thinks" in (await one.call_tool("think", {"about": "x"})).text
    assert len(shared.reports) == 1


# What the server tells.


async def test_a_followed_resource_is_told_to_each_follower_once() -> None:
    """Also when one of several stops following, and not to those who follow another."""
    works = Works()
    async with served(works.server) as shared:
        one, two, three = clients = [shared.raw() for _ in range(3)]
        for client, uri in zip(clients, ("res://a", "res://a", "res://b"), strict=True):
            await client.start()
            await client.initialize()
            await client.ask(1, "resources/subscribe", {"uri": uri})
            await client.expect({"jsonrpc": "2.0", "id": 1, "result": {}})
        works.server.resource_updated("res://a")
        await one.expect(updated("res://a"))
        await one.ask(2, "resources/unsubscribe", {"uri": "res://a"})
        await one.expect({"jsonrpc": "2.0", "id": 2, "result": {}})
        works.server.resource_updated("res://a")
        works.server.resource_updated("res://b")
        await two.expect(updated("res://a"), updated("res://a"))
        await three.expect(updated("res://b"))
        for client in clients:
            await client.expect_silence()
            await client.close()


async def test_changed_lists_are_told_to_all() -> None:
    """What the server offers is the same for all."""
    works = Works()
    async with served(works.server) as shared, shared.client() as one, shared.client() as two:
        heard = one.listen(), two.listen()
        works.server.remove_tool("say")
        for listener in heard:
            event = await soon(listener.next())
            assert isinstance(event, ListChanged)


async def test_each_client_has_its_own_log_level() -> None:
    """The server sends what the keenest wants, and each gets what it asked for."""
    works = Works()
    keen_log: list[dict[str, Any]] = []
    calm_log: list[dict[str, Any]] = []
    async with (
        served(works.server) as shared,
        shared.client(on_log=keen_log.append) as keen,
        shared.client(on_log=calm_log.append) as calm,
    ):
        await keen.set_log_level("debug")
        await calm.set_log_level("error")
        for client in (keen, calm):
            for level in ("debug", "error"):
                await client.call_tool("say", {"level": level, "text": level})
    assert [each["data"] for each in keen_log] == ["debug", "error"]
    assert [each["data"] for each in calm_log] == ["error"]


# The stateless era.


async def test_stateless_clients_share_a_server_too() -> None:
    """Each request stands for itself, questions come in rounds, and each hears what it listens to."""
    works = Works()
    async with (
        served(works.server) as shared,
        shared.client(era="modern", on_sample=thinker("one")) as one,
        shared.client(era="modern", on_sample=thinker("two")) as two,
    ):
        answers = await asyncio.gather(
            one.call_tool("think", {"about": "x"}), two.call_tool("think", {"about": "x"})
        )
        assert ["one thinks" in answers[0].text, "two thinks" in answers[1].text] == [True, True]
        async with one.listen(resources=["res://a"]) as first, two.listen(resources=["res://b"]) as second:
            works.server.resource_updated("res://a")
            works.server.resource_updated("res://b")
            assert await told(first) == "res://a"
            assert await told(second) == "res://b"
