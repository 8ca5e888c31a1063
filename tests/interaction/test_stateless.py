"""Requests that say of themselves what a handshake would have agreed on, beside those of a handshake."""

from __future__ import annotations

from typing import Any

import pytest

from anywire import Context, Server
from anywire.errors import Refusal
from anywire.protocol.types.initialize import Implementation
from anywire.testing import ScriptedPeer
from tests.interaction.talk import error, notification, over_each_wire, result, talk, text

VERSION = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
CLIENT = "io.modelcontextprotocol/clientInfo"
LEVEL = "io.modelcontextprotocol/logLevel"
SERVER = "io.modelcontextprotocol/serverInfo"
SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"

SIGNED = {"resultType": "complete", "_meta": {SERVER: {"name": "s", "version": "1"}}}


def meta(capabilities: object = None, **more: object) -> dict[str, Any]:
    return {
        VERSION: "2026-07-28",
        CAPABILITIES: capabilities or {},
        CLIENT: {"name": "scripted", "version": "1"},
        **more,
    }


async def ask(peer: ScriptedPeer, id: object, method: str, params: Any = None, **more: Any) -> None:
    """A request with its envelope."""
    given: dict[str, Any] = params or {}
    await peer.ask(id, method, {**given, "_meta": meta(**more)})


def complete(id: object, members: dict[str, Any]) -> dict[str, Any]:
    return result(id, SIGNED | members)


def shop() -> Server:
    server = Server(Implementation("s", "1"), instructions="Buy.", fresh_seconds=2.5)

    @server.tool
    async def who(context: Context) -> str:
        await context.log("info", "asked")
        await context.progress(1)
        return f"{context.client.name} speaks {context.revision}"

    @server.tool
    async def count(context: Context) -> str:
        context.state["n"] = context.state.get("n", 0) + 1
        return str(context.state["n"])

    @server.resource("a://b", mime_type="text/plain", fresh_seconds=60)
    def held() -> str:
        return "held"

    @server.prompt
    def hello() -> str:
        return "Hello"

    @server.tool
    def refuse() -> str:
        raise Refusal(-31000, "no")

    return server


@over_each_wire
async def test_a_server_tells_what_it_can_do_without_a_handshake(wire: str) -> None:
    """With the revisions that it speaks so."""
    async with talk(shop(), wire) as peer:
        await ask(peer, 1, "server/discover")
        await peer.expect(
            complete(
                1,
                {
                    "supportedVersions": ["2026-07-28"],
                    "capabilities": {
                        "tools": {"listChanged": True},
                        "logging": {},
                        "prompts": {"listChanged": True},
                        "resources": {"subscribe": True, "listChanged": True},
                        "completions": {},
                    },
                    "instructions": "Buy.",
                    "ttlMs": 2500,
                    "cacheScope": "private",
                },
            )
        )


@over_each_wire
async def test_results_say_what_they_are(wire: str) -> None:
    """And who gave them; those that may be kept say for how long."""
    async with talk(shop(), wire) as peer:
        await ask(peer, 1, "tools/call", {"name": "who"})
        words = {"type": "text", "text": "scripted speaks 2026-07-28"}
        await peer.expect(complete(1, {"content": [words]}))
        await ask(peer, 2, "resources/read", {"uri": "a://b"})
        contents = [{"uri": "a://b", "text": "held", "mimeType": "text/plain"}]
        await peer.expect(complete(2, {"contents": contents, "ttlMs": 60000, "cacheScope": "private"}))
        await ask(peer, 3, "prompts/list")
        listed = {"prompts": [{"name": "hello"}], "ttlMs": 2500, "cacheScope": "private"}
        await peer.expect(complete(3, listed))
        await ask(peer, 4, "prompts/get", {"name": "hello"})
        said = {"role": "user", "content": {"type": "text", "text": "Hello"}}
        await peer.expect(complete(4, {"messages": [said]}))


@over_each_wire
async def test_both_eras_are_served_side_by_side(wire: str) -> None:
    """On one wire; each request is of the era that it says."""
    async with talk(shop(), wire) as peer:
        await ask(peer, 1, "tools/call", {"name": "count"})
        assert (await peer.receive())["result"]["content"][0]["text"] == "1"
        await peer.initialize("2025-11-25")
        for id, n in [(2, "1"), (3, "2")]:
            await peer.call(id, "count")
            await peer.expect(text(id, n))
        await ask(peer, 4, "tools/call", {"name": "count"})
        got = (await peer.receive())["result"]
        assert (got["content"][0]["text"], got["resultType"]) == ("1", "complete")
        await peer.call(5, "who")
        assert (await peer.receive())["method"] == "notifications/message"
        await peer.expect(text(5, "scripted speaks 2025-11-25"))


async def test_log_messages_are_sent_to_who_asked_for_them() -> None:
    """With this request, from this level on."""
    async with talk(shop()) as peer:
        for id, (level, heard) in enumerate([("info", 1), ("debug", 1), ("error", 0)]):
            await ask(peer, id, "tools/call", {"name": "who"}, **{LEVEL: level})
            if heard:
                await peer.expect(notification("notifications/message", {"level": "info", "data": "asked"}))
            assert (await peer.receive())["id"] == id
        await ask(peer, "p", "tools/call", {"name": "who"}, progressToken="t")
        await peer.expect(notification("notifications/progress", {"progressToken": "t", "progress": 1.0}))
        assert (await peer.receive())["id"] == "p"


@pytest.mark.parametrize(
    ("envelope", "code", "data"),
    [
        ({VERSION: "2026-07-28"}, -32602, None),
        ({VERSION: 5, CAPABILITIES: {}}, -32602, None),
        ({VERSION: "2026-07-28", CAPABILITIES: 5}, -32602, None),
        (
            {VERSION: "v999.0.0", CAPABILITIES: {}},
            -32022,
            {"supported": ["2026-07-28"], "requested": "v999.0.0"},
        ),
        (
            {VERSION: "2025-11-25", CAPABILITIES: {}},
            -32022,
            {"supported": ["2026-07-28"], "requested": "2025-11-25"},
        ),
    ],
)
async def test_an_envelope_that_says_too_little_is_refused(envelope: Any, code: int, data: object) -> None:
    """With what would do."""
    async with talk(shop()) as peer:
        await peer.ask(1, "tools/list", {"_meta": envelope})
        got = (await peer.receive())["error"]

        assert got["code"] == code
        assert got.get("data") == data


async def test_an_envelope_may_leave_out_who_its_client_is() -> None:
    """And may say more than is known here."""
    async with talk(shop()) as peer:
        envelope = {VERSION: "2026-07-28", CAPABILITIES: {"new": 1}, "x/y": 2, CLIENT: 7}
        await peer.ask(1, "tools/call", {"name": "who", "_meta": envelope})
        got = (await peer.receive())["result"]["content"][0]["text"]
        assert got == " speaks 2026-07-28"


@pytest.mark.parametrize(
    "method",
    [
        "initialize",
        "ping",
        "logging/setLevel",
        "resources/subscribe",
        "resources/unsubscribe",
        "unknown/method",
    ],
)
async def test_what_the_era_does_not_have_is_unknown(method: str) -> None:
    """Whatever the handshake era has under the name."""
    async with talk(shop()) as peer:
        await ask(peer, 1, method, {"uri": "a://b", "level": "info"})
        await peer.expect(error(1, -32601, f"Method not found: {method}"))


async def test_errors_have_the_codes_of_the_era() -> None:
    """A missing resource is an invalid parameter; a program's own code stays."""
    async with talk(shop()) as peer:
        await ask(peer, 1, "resources/read", {"uri": "none://x"})
        await peer.expect(error(1, -32602, "Resource not found: none://x", {"uri": "none://x"}))
        await ask(peer, 2, "tools/call", {"name": "refuse"})
        await peer.expect(error(2, -31000, "no"))


async def test_a_server_may_serve_one_era_alone() -> None:
    """Clients of the other learn what is spoken."""
    async with talk(Server(Implementation("s", "1"), eras=["legacy"])) as peer:
        await ask(peer, 1, "server/discover")
        await peer.expect(error(1, -32601, "Method not found: server/discover"))
        await ask(peer, 2, "tools/list")
        await peer.expect(result(2, {"tools": []}))
    async with talk(Server(Implementation("s", "1"), eras=["modern"])) as peer:
        await peer.ask(1, "initialize", {"protocolVersion": "2025-11-25"})
        got = (await peer.receive())["error"]
        assert (got["code"], got["data"]["supported"]) == (-32022, ["2026-07-28"])
        await ask(peer, 2, "tools/list")
        await peer.expect(complete(2, {"tools": [], "ttlMs": 0, "cacheScope": "private"}))


# Subscriptions.


async def listen(peer: ScriptedPeer, id: object, wanted: dict[str, Any]) -> None:
    await ask(peer, id, "subscriptions/listen", {"notifications": wanted})
    params = {"_meta": {SUBSCRIPTION: id}, "notifications": wanted}
    await peer.expect(notification("notifications/subscriptions/acknowledged", params))


@over_each_wire
async def test_changes_are_told_on_requests_that_ask_for_them(wire: str) -> None:
    """Each under its id, and only what it asked for."""
    server = shop()
    async with talk(server, wire) as peer:
        await listen(peer, 1, {"toolsListChanged": True})
        await listen(peer, "two", {"promptsListChanged": True, "resourceSubscriptions": ["a://b"]})

        server.remove_tool("who")
        await peer.expect(notification("notifications/tools/list_changed", {"_meta": {SUBSCRIPTION: 1}}))
        server.remove_prompt("hello")
        await peer.expect(
            notification("notifications/prompts/list_changed", {"_meta": {SUBSCRIPTION: "two"}})
        )
        server.resource_updated("a://c")
        server.resource_updated("a://b")
        updated = {"_meta": {SUBSCRIPTION: "two"}, "uri": "a://b"}
        await peer.expect(notification("notifications/resources/updated", updated))
        server.remove_resource("a://b")
        await peer.expect_silence()


@over_each_wire
async def test_a_subscription_ends_with_its_cancellation(wire: str) -> None:
    """Nothing is said any more, not even that it ended."""
    server = shop()
    async with talk(server, wire) as peer:
        await listen(peer, 1, {"toolsListChanged": True})
        await peer.notify("notifications/cancelled", {"requestId": 1})
        await ask(peer, 2, "tools/call", {"name": "count"})
        await peer.receive()
        server.remove_tool("who")
        await peer.expect_silence()


@over_each_wire
async def test_a_server_that_ends_ends_its_subscriptions(wire: str) -> None:
    """With a result, which names the subscription."""
    server = shop()
    async with talk(server, wire) as peer:
        await listen(peer, "x", {"toolsListChanged": True})
        peer.end()
        ended = {
            "_meta": {SUBSCRIPTION: "x", SERVER: {"name": "s", "version": "1"}},
            "resultType": "complete",
        }
        got = await peer.receive()
        assert got == result("x", ended)


@pytest.mark.parametrize(
    "params", [{}, {"notifications": 5}, {"notifications": {"resourceSubscriptions": [5]}}]
)
async def test_a_subscription_to_nothing_that_is_known_is_invalid(params: Any) -> None:
    """No acknowledgement, an error."""
    async with talk(shop()) as peer:
        await ask(peer, 1, "subscriptions/listen", params)
        assert (await peer.receive())["error"]["code"] == -32602
