"""What a server tells without having been asked, and how a client listens; the same over each wire."""

from __future__ import annotations

import asyncio
import gc
from typing import Any

import pytest

from anywire import Client, Context, PeerError, Server, connect
from anywire.client.event import (
    ClientEvent,
    ElicitationCompleted,
    EventsMissed,
    ListChanged,
    LogMessage,
    OtherNotification,
    ResourceUpdated,
)
from anywire.errors import ConfigError, SessionError, TransportBroken
from anywire.testing import ScriptedPeer
from anywire.transport.memory import memory_pair
from anywire.wire.limits import DEFAULT_LIMITS
from tests.interaction.clients import played, served
from tests.interaction.talk import PATIENCE, error, over_each_wire, result


def garden() -> Server:
    server = Server("garden")

    @server.resource("plants://{name}")
    async def plant(name: str) -> str:
        return name

    @server.tool
    async def grow(name: str, ctx: Context) -> None:
        server.resource_updated(f"plants://{name}")

    @server.tool
    async def extend() -> None:
        @server.tool(name="dig")
        async def dig() -> None: ...

        @server.prompt(name="wish")
        async def wish() -> str:
            return "rain"

        @server.resource("plants://rose")
        async def rose() -> str:
            return "rose"

    @server.tool
    async def report(ctx: Context) -> None:
        await ctx.log("warning", {"dry": True}, "soil")

    @server.tool
    async def done() -> None:
        server.elicitation_complete("e1")

    return server


async def some(events: Any, count: int) -> list[ClientEvent]:
    """The next events, within bounds."""
    async with asyncio.timeout(PATIENCE):
        return [await anext(events) for _ in range(count)]


@over_each_wire
async def test_every_kind_of_notification_is_an_event_of_its_own(wire: str) -> None:
    """Typed, with the bytes that came."""
    async with served(garden(), wire) as client, client.listen(resources=["plants://rose"]) as events:
        await client.call_tool("report")
        (log,) = await some(events, 1)
        await client.call_tool("grow", {"name": "rose"})
        (updated,) = await some(events, 1)
        await client.call_tool("done")
        (completed,) = await some(events, 1)
        await client.call_tool("extend")
        changed = await some(events, 3)

    assert isinstance(log, LogMessage)
    assert (log.level, log.data, log.logger) == ("warning", {"dry": True}, "soil")
    assert log.raw == b'{"level":"warning","data":{"dry":true},"logger":"soil"}'
    assert updated == ResourceUpdated("plants://rose", raw=b'{"uri":"plants://rose"}')
    assert completed == ElicitationCompleted("e1", raw=b'{"elicitationId":"e1"}')
    assert [each.which for each in changed if isinstance(each, ListChanged)] == [
        "tools",
        "prompts",
        "resources",
    ]


async def test_what_is_unknown_or_cannot_be_read_is_an_event_as_well() -> None:
    """Nothing is lost."""
    async with played() as (client, peer):
        events = client.listen()
        await peer.notify("notifications/sunset", {"at": 20})
        await peer.notify("notifications/resources/updated", {"uri": 5})
        await peer.notify("notifications/message", {"level": "loud", "data": 1})
        sunset, updated, log = await some(events, 3)

    assert sunset == OtherNotification("notifications/sunset", raw=b'{"at":20}')
    assert updated == OtherNotification("notifications/resources/updated", raw=b'{"uri":5}')
    assert isinstance(log, OtherNotification)


@over_each_wire
async def test_a_listener_is_subscribed_as_long_as_it_listens(wire: str) -> None:
    """To its resources, and only while it is there."""
    server = garden()
    async with served(server, wire) as client:
        async with client.listen(resources=["plants://rose", "plants://oak"]) as events:
            await client.call_tool("grow", {"name": "oak"})
            assert [event.uri for event in await some(events, 1) if isinstance(event, ResourceUpdated)] == [
                "plants://oak"
            ]
        other = client.listen()
        await client.call_tool("grow", {"name": "oak"})
        await client.call_tool("report")
        assert isinstance((await some(other, 1))[0], LogMessage)


@over_each_wire
async def test_the_subscriptions_of_a_listener_go_over_the_wire_once(wire: str) -> None:
    """Two who listen to one resource share one subscription, which ends with the last."""
    async with played(wire) as (client, peer):

        async def answered(method: str, coroutine: Any) -> None:
            task = asyncio.ensure_future(coroutine)
            request = await peer.receive()
            assert (request["method"], request["params"]["uri"]) == (method, "a:b")
            await peer.send(result(request["id"], {}))
            await task

        one, two = client.listen(resources=["a:b", "a:b"]), client.listen(resources=["a:b"])
        await answered("resources/subscribe", one.open())
        await two.open()
        await one.close()
        await one.close()
        await peer.expect_silence()
        await answered("resources/subscribe", client.subscribe("a:b"))
        await two.close()
        await peer.expect_silence()
        await answered("resources/unsubscribe", client.unsubscribe("a:b"))


async def test_a_subscription_that_is_refused_ends_those_before_it() -> None:
    """All or none; the error is the server's."""
    async with played() as (client, peer):
        opening = asyncio.ensure_future(client.listen(resources=["a:1", "a:2"]).open())
        first = await peer.receive()
        await peer.send(result(first["id"], {}))
        second = await peer.receive()
        await peer.send(error(second["id"], -32002, "no such resource"))
        third = await peer.receive()
        assert (third["method"], third["params"]["uri"]) == ("resources/unsubscribe", "a:1")
        await peer.send(error(third["id"], 5, "whatever"))
        with pytest.raises(PeerError, match="no such resource"):
            await opening


async def test_a_listener_that_is_dropped_is_unsubscribed() -> None:
    """As after a loop that was left by `break`."""
    async with played() as (client, peer):

        async def first_of_all() -> None:
            async for event in client.listen(resources=["a:b"]):
                assert event == ResourceUpdated("a:b/part", raw=b'{"uri":"a:b/part"}')
                break

        hearing = asyncio.ensure_future(first_of_all())
        request = await peer.receive()
        await peer.send(result(request["id"], {}))
        await peer.notify("notifications/resources/updated", {"uri": "other:b"})
        await peer.notify("notifications/resources/updated", {"uri": "a:b/part"})
        await hearing
        del hearing
        gc.collect()
        last = await peer.receive()
        assert last["method"] == "resources/unsubscribe"
        await peer.send(result(last["id"], {}))


@over_each_wire
async def test_listening_ends_with_the_client(wire: str) -> None:
    """After the last event; who listens later hears nothing."""
    async with served(garden(), wire) as client:
        events = client.listen()
        await client.call_tool("report")
        hearing = asyncio.ensure_future(_all(events))
        await client.call_tool("report")
    async with asyncio.timeout(PATIENCE):
        assert len(await hearing) == 2
        assert await _all(client.listen()) == []


@over_each_wire
async def test_listening_ends_when_the_server_goes(wire: str) -> None:
    """In order, it just ends."""
    async with played(wire) as (client, peer):
        hearing = asyncio.ensure_future(_all(client.listen()))
        await peer.notify("notifications/last")
        await peer.close()
        async with asyncio.timeout(PATIENCE):
            assert [event.method for event in await hearing if isinstance(event, OtherNotification)] == [
                "notifications/last"
            ]


async def test_a_wire_that_broke_is_raised_after_the_last_event() -> None:
    """A silent end would look like an orderly one."""
    async with played() as (client, peer):
        events = client.listen()
        await _tell(peer, client, range(1))
        client._transport.callbacks.on_close(TransportBroken("the pipe burst"))
        assert _seen(await some(events, 1)) == [0]
        for _ in range(2):
            with pytest.raises(TransportBroken, match="the pipe burst"):
                await anext(events)


async def _all(events: Any) -> list[ClientEvent]:
    return [event async for event in events]


async def test_who_is_too_slow_sees_where_events_are_missing() -> None:
    """The old ones are kept, the gap is counted, what comes later follows it."""
    limits = DEFAULT_LIMITS.replace(listen_events=2)
    async with played(limits=limits) as (client, peer):
        events = client.listen()
        await _tell(peer, client, range(5))
        assert _seen(await some(events, 1)) == [0]
        await _tell(peer, client, range(5, 6))
        assert _seen(await some(events, 1)) == [1]
        await _tell(peer, client, range(6, 7))
        assert _seen(await some(events, 2)) == ["4 missed", 6]
        await _tell(peer, client, range(7, 8))
        assert _seen(await some(events, 1)) == [7]


async def _tell(peer: ScriptedPeer, client: Client, numbers: range) -> None:
    """Tell these, and wait until the client has them."""
    for number in numbers:
        await peer.notify(f"notifications/{number}")
    pinging = asyncio.ensure_future(client.ping())
    request = await peer.receive()
    await peer.send(result(request["id"], {}))
    await pinging


def _seen(events: list[ClientEvent]) -> list[object]:
    seen: list[object] = []
    for event in events:
        if isinstance(event, EventsMissed):
            seen.append(f"{event.count} missed")
        else:
            assert isinstance(event, OtherNotification)
            seen.append(int(event.method.removeprefix("notifications/")))
    return seen


@over_each_wire
async def test_callbacks_for_logs_and_notifications_hear_what_listeners_hear(wire: str) -> None:
    """Both at once."""
    logged: list[Any] = []
    notified: list[str] = []

    def note(notification: Any) -> None:
        notified.append(notification.method)

    async with served(garden(), wire, on_log=logged.append, on_notification=note) as client:
        events = client.listen()
        await client.call_tool("report")
        await some(events, 1)

    assert logged == [{"level": "warning", "data": {"dry": True}, "logger": "soil"}]
    assert notified == ["notifications/message"]


async def test_a_closed_listener_hears_nothing() -> None:
    """And who waits for it goes on."""
    async with played() as (client, peer):
        events = client.listen()
        hearing = asyncio.ensure_future(_all(events))
        await _tell(peer, client, range(1))
        await events.close()
        assert _seen(await hearing) == [0]
        await _tell(peer, client, range(1))
        assert await _all(events) == []


async def test_what_cannot_be_listened_to_is_refused() -> None:
    """A text is no list of URIs, and nobody subscribes before the client is open."""
    client = connect(memory_pair(DEFAULT_LIMITS)[0])
    with pytest.raises(ConfigError, match="a list of URIs"):
        client.listen(resources="plants://rose")
    with pytest.raises(SessionError, match="has not been opened"):
        await client.listen(resources=["plants://rose"]).open()
