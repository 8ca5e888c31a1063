"""How a conversation opens, and that nothing needs it to have opened."""

from __future__ import annotations

import pytest

from anywire import Context, Server
from anywire.protocol.revisions import MCP_LATEST_PROTOCOL_VERSION
from tests.interaction.talk import error, in_each_revision, over_each_wire, result, talk, text

CAPABILITIES = {"tools": {"listChanged": True}, "logging": {}}


@over_each_wire
@in_each_revision
async def test_initialize_answers_exactly_what_is_promised(wire: str, revision: str) -> None:
    """The version asked for, the capabilities and the name; nothing else."""
    async with talk(Server("witty", "1.2"), wire) as peer:
        await peer.ask(0, "initialize", {"protocolVersion": revision, "capabilities": {}, "clientInfo": {}})

        await peer.expect(
            result(
                0,
                {
                    "protocolVersion": revision,
                    "capabilities": CAPABILITIES,
                    "serverInfo": {"name": "witty", "version": "1.2"},
                },
            )
        )


async def test_instructions_and_title_are_told_when_they_are_set() -> None:
    """What the author wrote for the client is in the answer."""
    server = Server("witty", "1", title="Witty", instructions="Ask twice.")
    async with talk(server) as peer:
        answer = await peer.initialize()

        assert answer["instructions"] == "Ask twice."
        assert answer["serverInfo"] == {"name": "witty", "version": "1", "title": "Witty"}


@pytest.mark.parametrize(
    "params",
    [
        None,
        {},
        [],
        "2025-03-26",
        {"protocolVersion": None},
        {"protocolVersion": 20250326},
        {"protocolVersion": "1999-01-01"},
        {"protocolVersion": {"major": 1}},
        {"protocolVersion": "2026-07-28", "capabilities": {}, "clientInfo": {"name": "n", "version": "1"}},
    ],
)
async def test_an_unusable_version_is_answered_with_the_latest(params: object) -> None:
    """Absent, of a wrong type, unknown or of another era: negotiation never fails."""
    async with talk(Server("s")) as peer:
        await peer.ask(1, "initialize", params)

        assert (await peer.receive())["result"]["protocolVersion"] == MCP_LATEST_PROTOCOL_VERSION


@pytest.mark.parametrize("broken", [{"clientInfo": "me"}, {"capabilities": []}, {"clientInfo": {"name": 1}}])
async def test_a_usable_version_survives_members_that_are_not(broken: dict[str, object]) -> None:
    """A client with odd params still gets the revision that it asked for."""
    async with talk(Server("s")) as peer:
        await peer.ask(1, "initialize", {"protocolVersion": "2024-11-05", **broken})

        assert (await peer.receive())["result"]["protocolVersion"] == "2024-11-05"


@over_each_wire
async def test_the_client_is_known_to_handlers(wire: str) -> None:
    """A handler sees who asks and in which revision."""
    server = Server("s")

    @server.tool
    async def who(ctx: Context) -> str:
        return f"{ctx.client.name} {ctx.client.version} {ctx.revision}"

    async with talk(server, wire) as peer:
        await peer.call(1, "who")
        await peer.expect(text(1, "  None"))
        await peer.initialize("2025-06-18")
        await peer.call(2, "who")

        await peer.expect(text(2, "scripted 1 2025-06-18"))


@over_each_wire
async def test_there_is_no_gate_before_the_handshake(wire: str) -> None:
    """Any method works at once, as real clients expect."""
    server = Server("s")

    @server.tool
    async def hello() -> str:
        return "hi"

    async with talk(server, wire) as peer:
        await peer.ask(1, "ping")
        await peer.call(2, "hello")
        await peer.ask(3, "tools/list")

        await peer.expect(result(1, {}))
        listed, called = sorted(await peer.receive_many(2), key=lambda reply: -reply["id"])
        assert called == text(2, "hi")
        assert [tool["name"] for tool in listed["result"]["tools"]] == ["hello"]


@over_each_wire
async def test_initialize_may_be_repeated(wire: str) -> None:
    """The later agreement holds."""
    async with talk(Server("s"), wire, "2025-03-26") as peer:
        await peer.send([{"jsonrpc": "2.0", "id": 1, "method": "ping"}])
        await peer.expect([result(1, {})])

        assert (await peer.initialize("2025-06-18"))["protocolVersion"] == "2025-06-18"
        await peer.send([{"jsonrpc": "2.0", "id": 2, "method": "ping"}])
        await peer.expect(
            error(None, -32600, "Invalid Request: batches are part of revision 2025-03-26 only")
        )
