"""Clients that all count from 0 and use the same tokens, in any order of events: nobody sees another's."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from anywire.protocol.types.logging import LogLevel, is_logged
from tests.bridge.sharing.world import World

#: What happens, with two numbers that choose among what there is.
EVENTS = (
    "join",
    "leave",
    "ask",
    "ask",
    "listen",
    "subscribe",
    "subscribe",
    "unsubscribe",
    "updated",
    "cancel",
    "reply",
    "reply",
    "refuse",
    "progress",
    "log",
    "level",
    "updated",
    "tagged",
    "question",
    "answer",
    "invent",
)
events = st.lists(
    st.tuples(st.sampled_from(EVENTS), st.integers(0, 7), st.integers(0, 7)), min_size=20, max_size=80
)

URIS = ("a", "b")
LEVELS: tuple[LogLevel, ...] = ("debug", "info", "error")
TAG = "io.modelcontextprotocol/subscriptionId"


class Party:
    """A client as it sees itself: what it waits for, and what it must not get."""

    def __init__(self, owner: Hashable) -> None:
        self.owner = owner
        self.next = 0
        self.waits: dict[int, str] = {}
        self.settled: set[int] = set()
        self.follows: set[str] = set()
        self.wants: dict[str, list[int]] = {uri: [] for uri in URIS}
        self.questions: list[Any] = []
        self.level: LogLevel | None = None


class Story:
    """A world in which every message says whose it is, and is seen to be only where it belongs."""

    def __init__(self) -> None:
        self.world = World()
        self.parties: dict[int, Party] = {}
        self.upstream: list[dict[str, Any]] = []
        self.number = 0
        self.server_level: LogLevel | None = None
        self.has_levels = True

    def run(self, steps: list[tuple[str, int, int]]) -> None:
        self.join(0, 0)
        for event, one, two in steps:
            if self.parties or event == "join":
                getattr(self, event)(one, two)
                self.look()
        for key in list(self.parties):
            self.drop(key)
            self.look()
        while self.upstream:
            self.reply(0, 0)
        assert self.world.routes.is_idle

    def pick(self, number: int) -> tuple[int, Party]:
        keys = list(self.parties)
        key = keys[number % len(keys)]
        return key, self.parties[key]

    # What happens.

    def join(self, one: int, two: int) -> None:
        owner = f"owner {one % 3}" if two % 2 else object()
        key = self.world.join(owner)
        self.parties[key] = Party(owner)
        self.world.greet(key, {"roots": {}})

    def leave(self, one: int, two: int) -> None:
        self.drop(self.pick(one)[0])

    def drop(self, key: int) -> None:
        self.world.leave(key)
        del self.parties[key]

    def ask(self, one: int, two: int, method: str = "tools/call", more: dict[str, Any] | None = None) -> None:
        key, party = self.pick(one)
        id, party.next = party.next, party.next + 1
        party.waits[id] = method
        meta = {"progressToken": f"t{id}" if two % 2 else id}
        self.world.ask(key, id, method, {"of": [key, id], "_meta": meta, **(more or {})})

    def listen(self, one: int, two: int) -> None:
        self.ask(one, two, "subscriptions/listen")

    def subscribe(self, one: int, two: int) -> None:
        _, party = self.pick(one)
        party.wants[URIS[two % 2]].append(party.next)
        self.ask(one, two, "resources/subscribe", {"uri": URIS[two % 2]})

    def unsubscribe(self, one: int, two: int) -> None:
        _, party = self.pick(one)
        uri = URIS[two % 2]
        party.follows.discard(uri)
        party.wants[uri].clear()
        self.ask(one, two, "resources/unsubscribe", {"uri": uri})

    def level(self, one: int, two: int) -> None:
        _, party = self.pick(one)
        party.level = LEVELS[two % 3]
        self.ask(one, two, "logging/setLevel", {"level": party.level})

    def cancel(self, one: int, two: int) -> None:
        key, party = self.pick(one)
        if party.waits:
            id = list(party.waits)[two % len(party.waits)]
            party.waits.pop(id)
            for wanted in party.wants.values():
                wanted[:] = [each for each in wanted if each != id]
            self.world.notify(key, "notifications/cancelled", {"requestId": id})

    def reply(self, one: int, two: int) -> None:
        if self.upstream:
            request = self.upstream.pop(two % len(self.upstream))
            result: dict[str, Any] = {"of": request["params"].get("of")}
            if request["method"] == "subscriptions/listen":
                result["_meta"] = {TAG: request["id"]}
            self.world.answer(request, result)
            self.look()

    def refuse(self, one: int, two: int) -> None:
        if self.upstream:
            request = self.upstream.pop(two % len(self.upstream))
            error = {"code": 1, "message": "no", "data": request["params"].get("of")}
            self.has_levels &= request["method"] != "logging/setLevel"
            self.world.say({"jsonrpc": "2.0", "id": request["id"], "error": error})

    def progress(self, one: int, two: int) -> None:
        if self.upstream:
            request = self.upstream[two % len(self.upstream)]
            token = request["params"].get("_meta", {}).get("progressToken")
            if token is not None:
                params = {"progressToken": token, "progress": 1, "of": request["params"]["of"]}
                self.world.tell("notifications/progress", params)

    def tagged(self, one: int, two: int) -> None:
        if self.upstream:
            request = self.upstream[two % len(self.upstream)]
            params = {"_meta": {TAG: request["id"]}, "of": request["params"].get("of")}
            self.world.tell("notifications/tools/list_changed", params)

    def log(self, one: int, two: int) -> None:
        callers, level = self.callers(), LEVELS[two % 3]
        if len(callers) > 1:
            self.world.tell("notifications/message", {"level": level, "data": "of several"})
        elif callers:
            whose = repr(next(iter(callers)))
            self.world.tell("notifications/message", {"level": level, "owner": whose})

    def updated(self, one: int, two: int) -> None:
        uri = URIS[two % 2]
        self.look()
        self.world.tell("notifications/resources/updated", {"uri": uri})
        for key, party in self.parties.items():
            told = [each for each in self.world.got(key) if each.get("method", "").endswith("/updated")]
            assert bool(told) == (uri in party.follows), (key, uri)

    def question(self, one: int, two: int) -> None:
        callers = self.callers()
        self.number += 1
        whose = repr(next(iter(callers))) if len(callers) == 1 else "nobody"
        if callers:
            self.world.say(
                {
                    "jsonrpc": "2.0",
                    "id": f"q{self.number}",
                    "method": "roots/list",
                    "params": {"owner": whose},
                }
            )

    def answer(self, one: int, two: int) -> None:
        key, party = self.pick(one)
        if party.questions:
            asked = party.questions.pop()
            self.world.client(key, {"jsonrpc": "2.0", "id": asked["id"], "result": {"by": key}})

    def invent(self, one: int, two: int) -> None:
        """Names that were given to nobody, or to others, are nothing."""
        key, party = self.pick(one)
        given = [
            each["id"] for other in self.parties.values() for each in other.questions if other is not party
        ]
        for id in (two + 100, *given):
            self.world.client(key, {"jsonrpc": "2.0", "id": id, "result": {}})
        self.world.notify(key, "notifications/progress", {"progressToken": two, "progress": 1})
        self.world.notify(key, "notifications/cancelled", {"requestId": 100 + two})
        assert not self.peek()

    # What is seen of it.

    def callers(self) -> set[Hashable]:
        calls = ((party.owner, method) for party in self.parties.values() for method in party.waits.values())
        return {owner for owner, method in calls if method == "tools/call"}

    def peek(self) -> list[Any]:
        got = self.world.heard()
        for each in got:
            self.take_up(each)
        return got

    def take_up(self, each: dict[str, Any]) -> None:
        if "id" in each and "method" in each:
            assert each["id"] not in [other["id"] for other in self.upstream]
            self.upstream.append(each)
            if each["method"] == "logging/setLevel":
                self.server_level = each["params"]["level"]
        elif each.get("method") == "notifications/cancelled":
            number = each["params"]["requestId"]
            self.upstream = [other for other in self.upstream if other["id"] != number]

    def look(self) -> None:
        self.peek()
        for key, party in self.parties.items():
            for each in self.world.got(key):
                self.see(key, party, each)
        if self.has_levels:
            wanted: list[LogLevel] = [
                party.level for party in self.parties.values() if party.level is not None
            ]
            assert all(is_logged(each, self.server_level or each) for each in wanted)

    def see(self, key: int, party: Party, each: Any) -> None:
        if "method" not in each:
            self.see_reply(key, party, each)
            return
        params = each.get("params", {})
        match each["method"]:
            case "notifications/progress":
                assert params["of"][0] == key
                id = params["of"][1]
                assert params["progressToken"] in (id, f"t{id}")
            case "notifications/tools/list_changed":
                assert params["of"] == [key, params["_meta"][TAG]]
            case "notifications/message":
                assert params["owner"] == repr(party.owner)
                wanted = party.level if self.has_levels else None
                assert wanted is None or is_logged(params["level"], wanted)
            case "roots/list":
                assert params["owner"] == repr(party.owner)
                party.questions.append(each)
            case method:
                raise AssertionError(method)

    def see_reply(self, key: int, party: Party, each: Any) -> None:
        id = each["id"]
        method = party.waits.pop(id)  # each settles once
        of = each["result"].get("of") if "result" in each else each["error"].get("data")
        if method in ("tools/call", "subscriptions/listen"):
            assert of == [key, id]
        if method == "subscriptions/listen" and "result" in each:
            assert each["result"]["_meta"] == {TAG: id}
        for uri, wanted in party.wants.items():
            if id in wanted:
                wanted.remove(id)
                if "result" in each:
                    party.follows.add(uri)


@settings(max_examples=150, deadline=None)
@given(events)
def test_no_client_ever_sees_anything_of_another(steps: list[tuple[str, int, int]]) -> None:
    """Replies, progress, logs, questions and changes reach whom they belong to, each reply once."""
    Story().run(steps)
