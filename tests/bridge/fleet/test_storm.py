"""Everything at once, by chance: servers that ask, report, die and are replaced while clients call and take back."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest

from anywire.errors import ProcessExited
from anywire.testing import ScriptedPeer, in_virtual_time
from tests.bridge.fleet.houses import House, Play, Played, house

CALLS = 40
SERVERS = ("a", "b", "c")
CAN: dict[str, Any] = {"roots": {}}


class Troupe:
    """Servers that play themselves, as chance has it."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self.makers: dict[str, Played] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def hire(self, name: str) -> Played:
        """Return what makes the processes of a server, which live by themselves."""
        maker = self.makers[name] = Played()
        self._run(self._keep(name, maker))
        return maker

    def _run(self, work: Any) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _keep(self, name: str, maker: Played) -> None:
        while True:
            self._run(self._live(name, await maker.next(patience=1e9)))

    async def _live(self, name: str, play: Play) -> None:
        waiting: dict[str, dict[str, Any]] = {}
        while True:
            try:
                message = await play.peer.receive()
                await self._act(name, play, message, waiting)
            except AssertionError:
                return  # it is closed

    async def _act(
        self, name: str, play: Play, message: dict[str, Any], waiting: dict[str, dict[str, Any]]
    ) -> None:
        match message.get("method"):
            case "initialize":
                version = message["params"]["protocolVersion"]
                capabilities = {"tools": {"listChanged": True}}
                await play.peer.answer(message, {"protocolVersion": version, "capabilities": capabilities})
            case "tools/list":
                await play.peer.answer(message, {"tools": [{"name": "do"}]})
            case "tools/call":
                await self._call(name, play, message, waiting)
            case None:
                call = waiting.pop(message["id"], None)
                if call is not None:
                    await self._answer(name, play, call)
            case _:
                pass

    async def _call(
        self, name: str, play: Play, call: dict[str, Any], waiting: dict[str, dict[str, Any]]
    ) -> None:
        chance = self._chance.random()
        if chance < 0.04:
            play.lose(ProcessExited("server", 3, "enough"))
        elif chance < 0.4:
            id = f"{name} {call['id']}"
            waiting[id] = call
            await play.peer.ask(id, "roots/list")
        elif chance < 0.6:
            token = call["params"]["_meta"]["progressToken"]
            await play.peer.notify("notifications/progress", {"progressToken": token, "progress": 1})
            await asyncio.sleep(self._chance.random())
            await self._answer(name, play, call)
        elif chance < 0.65:
            await play.peer.notify("notifications/tools/list_changed")
            await self._answer(name, play, call)
        else:
            await self._answer(name, play, call)

    async def _answer(self, name: str, play: Play, call: dict[str, Any]) -> None:
        await play.peer.answer(call, {"by": name, "of": call["params"]["arguments"]["of"]})

    async def close(self) -> None:
        """End all of them."""
        while self._tasks:
            for task in list(self._tasks):
                task.cancel()
            await asyncio.wait(self._tasks)


class Guest:
    """A client that calls, answers, and takes some of its calls back."""

    def __init__(self, name: str, client: ScriptedPeer, chance: random.Random) -> None:
        self._name = name
        self._client = client
        self._chance = chance
        #: The calls that must be answered, and what answered.
        self.open: set[int] = set()
        self.answers: dict[int, dict[str, Any]] = {}
        self.lists = 0

    async def visit(self) -> None:
        """Make all calls; return when each has its one answer."""
        await self._client.initialize(capabilities=CAN)
        for id in range(CALLS):
            server = self._chance.choice(SERVERS)
            self.open.add(id)
            arguments = {"of": f"{self._name} {id} {server}"}
            await self._client.call(id, f"{server}__do", arguments, {"progressToken": f"{self._name} {id}"})
            if self._chance.random() < 0.1:
                await self._client.notify("notifications/cancelled", {"requestId": id})
                self.open.discard(id)
            if self._chance.random() < 0.3:
                await self._hear_all()
            if self._chance.random() < 0.3:
                await asyncio.sleep(self._chance.random())
        while self.open:
            await self._hear(await self._client.receive())
        await self._client.ask("list", "tools/list")
        while not self.lists:
            await self._hear(await self._client.receive())

    async def _hear_all(self) -> None:
        while self._client.inbox:
            await self._hear(await self._client.receive())

    async def _hear(self, message: dict[str, Any]) -> None:
        method, id = message.get("method"), message.get("id")
        if method == "roots/list":
            await self._client.answer(message, {"roots": []})
        elif method == "notifications/progress":
            token = message["params"]["progressToken"]
            assert token.startswith(self._name)
        elif method is None and id == "list":
            self.lists += 1
        elif method is None:
            assert isinstance(id, int)
            assert id not in self.answers, f"{id} was answered twice"
            self.answers[id] = message
            self.open.discard(id)


@pytest.mark.parametrize("seed", range(8))
def test_each_call_has_one_answer_of_its_server_and_nothing_is_left(seed: int) -> None:
    """Whatever happens meanwhile: deaths, changes of lists, another server under the name."""
    in_virtual_time(storm)(seed)


async def storm(seed: int) -> None:
    """See above."""
    chance = random.Random(seed)
    troupe = Troupe(chance)
    async with house({name: troupe.hire(name) for name in SERVERS}) as ours:
        async with ours.raw() as one, ours.raw() as two:
            guests = [Guest("one", one, chance), Guest("two", two, chance)]
            visits = [asyncio.ensure_future(guest.visit()) for guest in guests]
            replacing = asyncio.ensure_future(replace(ours, troupe, chance))
            async with asyncio.timeout(3_000):
                await asyncio.gather(*visits)
            replacing.cancel()
            await asyncio.wait([replacing])
            for connection in ours.fleet._connections:
                table = connection._table
                assert not table.calls
                assert not len(table.questions)
                assert not table._tokens
        for guest, name in zip(guests, ("one", "two"), strict=True):
            answered = [each for each in guest.answers.values() if "result" in each]
            for each in answered:
                result = each["result"]
                assert result["of"] == f"{name} {each['id']} {result['by']}"
            assert len(answered) > CALLS / 4
        await troupe.close()


async def replace(ours: House, troupe: Troupe, chance: random.Random) -> None:
    """Put another server under one of the names, now and then."""
    while True:
        await asyncio.sleep(2 * chance.random())
        name = chance.choice(SERVERS)
        old = ours.upstreams.pop(name)
        makers = {each: troupe.makers[each] if each != name else troupe.hire(name) for each in SERVERS}
        retired = ours.have(makers)
        assert list(retired.values()) == [old]
        await ours.fleet.drained(retired.values())
        await old.close()
