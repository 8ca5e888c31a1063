"""A stateless client whose server is lost: it has set nothing but what it listens to."""

from __future__ import annotations

from typing import Any

from anywire.testing.clock import in_virtual_time
from tests.bridge.stage import CRASH, Server, Stage

META: dict[str, object] = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
FILTER: dict[str, object] = {"toolsListChanged": True, "resourceSubscriptions": ["a:1"]}
ID = "io.modelcontextprotocol/subscriptionId"


def acknowledged(id: object) -> dict[str, Any]:
    """The params with which a server says that it will tell."""
    return {"_meta": {ID: id}, "notifications": FILTER}


async def listening(stage: Stage) -> Server:
    """A client listens; return the server."""
    server = await stage.next_server()
    await stage.client.ask(1, "server/discover", {"_meta": META})
    await server.answers("server/discover")
    await stage.client.ask("l", "subscriptions/listen", {"_meta": META, "notifications": FILTER})
    await server.hears("subscriptions/listen")
    await server.peer.notify("notifications/subscriptions/acknowledged", acknowledged("l"))
    await stage.client.receive_many(2)
    return server


@in_virtual_time
async def test_a_listening_client_listens_to_the_successor_and_hears_what_may_have_changed() -> None:
    """It has heard already that it listens; nothing else is said to the successor."""
    async with Stage() as stage:
        server = await listening(stage)
        listen: dict[str, Any] = {}
        for _ in range(3):
            server.lose()
            server = await stage.next_server()
            listen = await server.hears("subscriptions/listen")
            await stage.client.expect_silence()
            await server.peer.notify("notifications/subscriptions/acknowledged", acknowledged("l"))
            heard = await stage.hears_of(
                "notifications/tools/list_changed", "notifications/resources/updated"
            )

            assert listen["params"] == {"_meta": META, "notifications": FILTER}
            assert [each["params"]["_meta"] for each in heard] == [{ID: "l"}] * 2
            assert heard[1]["params"]["uri"] == "a:1"
            await server.peer.expect_silence()
            await stage.client.call(2, "pay", meta=META)
            await server.answers("tools/call")
            await stage.client.receive()
        await server.peer.answer(listen, {"_meta": {ID: "l"}})
        assert (await stage.client.receive())["id"] == "l"
        server.lose()
        assert (await stage.next_server()).peer.inbox == stage.client.inbox


@in_virtual_time
async def test_a_listen_that_was_not_acknowledged_fails_with_its_server() -> None:
    async with Stage() as stage:
        server = await stage.next_server()
        await stage.client.ask(1, "server/discover", {"_meta": META})
        await server.answers("server/discover")
        await stage.client.receive()
        await stage.client.ask("l", "subscriptions/listen", {"_meta": META, "notifications": FILTER})
        await server.hears("subscriptions/listen")
        server.lose()
        failed = await stage.client.receive()

        assert (failed["id"], "exited with code 3" in failed["error"]["message"]) == ("l", True)


@in_virtual_time
async def test_a_stateless_server_that_is_lost_before_any_answer_is_an_error() -> None:
    async with Stage() as stage:
        server = await stage.next_server()
        await stage.client.ask(1, "server/discover", {"_meta": META})
        await server.hears("server/discover")
        server.lose()

        assert "exited with code 3" in (await stage.client.receive())["error"]["message"]
        assert await stage.ended() is CRASH
