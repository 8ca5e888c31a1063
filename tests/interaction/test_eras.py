"""Which era a client and a server speak: all pairs of them over each wire, and servers that do not know the question."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import msgspec
import pytest

from anywire import Client, ConnectFailed, Context, Limits, PeerError, Server, connect
from anywire.errors import ProcessExited
from anywire.protocol.types.elicitation import ElicitFormParams, ElicitParams
from anywire.testing import ScriptedPeer, in_virtual_time
from anywire.transport.http_client import HttpClientTransport
from anywire.transport.memory import memory_pair
from anywire.wire.limits import DEFAULT_LIMITS
from tests.http.in_process import AsgiExchange
from tests.interaction.clients import ANSWER
from tests.interaction.talk import PATIENCE, WIRES, result
from tests.transport.children import alive, eventually, program

Era = Literal["auto", "legacy", "modern"]
MODERN, LEGACY = "2026-07-28", "2025-11-25"

over_each = pytest.mark.parametrize("wire", ["memory", "newline", "headers", "http"])


@asynccontextmanager
async def served(server: Server, wire: str, **options: Any) -> AsyncGenerator[Client]:
    """A client of that server over that wire; at the end nothing is left, neither task nor request."""
    before = asyncio.all_tasks()
    if wire == "http":
        app = server.http_app(path="/mcp")
        exchange = AsgiExchange(app)
        transport = HttpClientTransport("http://127.0.0.1/mcp", exchange=lambda: exchange)
        try:
            async with connect(transport, **options) as client:
                yield client
        finally:
            await app.close()
            assert (exchange.failures, exchange.calls) == ([], set())
    else:
        end, other, _ = WIRES[wire](DEFAULT_LIMITS)
        serving = asyncio.ensure_future(server.serve(other))
        try:
            async with connect(end, **options) as client:
                yield client
        finally:
            async with asyncio.timeout(PATIENCE):
                await serving
    async with asyncio.timeout(PATIENCE):
        while left := asyncio.all_tasks() - before:
            await asyncio.wait(left)


class Name(msgspec.Struct):
    """A form."""

    name: str


def inn(eras: list[Literal["legacy", "modern"]]) -> Server:
    """A server with a tool that asks two questions."""
    server = Server("inn", eras=eras)

    @server.tool
    async def book(ctx: Context, nights: int) -> str:
        who = await ctx.elicit("Who are you?", Name)
        whom = await ctx.elicit("And with whom?", Name)
        assert who.content is not None
        assert whom.content is not None
        return f"{who.content.name} and {whom.content.name}, {nights}"

    return server


SERVERS: dict[str, list[Literal["legacy", "modern"]]] = {
    "both": ["legacy", "modern"],
    "legacy": ["legacy"],
    "modern": ["modern"],
}
#: What a client of one era speaks with a server of another; else the sentence that it fails with.
PAIRS: dict[tuple[Era, str], str] = {
    ("auto", "both"): MODERN,
    ("auto", "legacy"): LEGACY,
    ("auto", "modern"): MODERN,
    ("legacy", "both"): LEGACY,
    ("legacy", "legacy"): LEGACY,
    ("legacy", "modern"): (
        f"{{}} speaks {MODERN} and shakes no hands: Unsupported protocol version: a handshake (code -32022)"
    ),
    ("modern", "both"): MODERN,
    ("modern", "legacy"): (f"{{}} does not speak {MODERN}: Method not found: server/discover (code -32601)"),
    ("modern", "modern"): MODERN,
}
NAMES = {"memory": "memory (client)", "http": "http://127.0.0.1/mcp"}


@over_each
@pytest.mark.parametrize(("client_era", "server_era"), PAIRS, ids="-".join)
async def test_each_era_meets_each(client_era: Era, server_era: str, wire: str) -> None:
    """It works wherever they have an era in common, with questions as well, and fails in one sentence elsewhere."""
    asked: list[str] = []

    async def on_elicit(params: ElicitParams) -> dict[str, str]:
        assert isinstance(params, ElicitFormParams)
        asked.append(params.message)
        return {"name": f"guest {len(asked)}"}

    expected = PAIRS[client_era, server_era]
    options: dict[str, Any] = {"era": client_era, "on_elicit": on_elicit}
    if expected in (MODERN, LEGACY):
        async with served(inn(SERVERS[server_era]), wire, **options) as client:
            assert (client.revision, client.server.server_info.name) == (expected, "inn")
            assert [tool.name for tool in await client.tools()] == ["book"]
            booked = await client.call_tool("book", {"nights": 2})
            await client.ping()
        assert (booked.text, booked.is_error) == ("guest 1 and guest 2, 2", False)
        assert asked == ["Who are you?", "And with whom?"]
        return
    with pytest.raises(ConnectFailed) as failed:
        async with served(inn(SERVERS[server_era]), wire, **options):
            pass
    assert str(failed.value) == expected.format(NAMES.get(wire, "stdio"))


# Servers that do not know the question.


@asynccontextmanager
async def opening(**options: Any) -> AsyncGenerator[tuple[Client, ScriptedPeer, asyncio.Task[None]]]:
    """A client that opens, and the peer that plays its server."""
    end, other = memory_pair(options.get("limits", DEFAULT_LIMITS))
    peer = ScriptedPeer(other, patience=PATIENCE)
    client = connect(end, **options)
    async with peer:
        task = asyncio.create_task(client.open())
        yield client, peer, task
        await client.close()


async def asked(peer: ScriptedPeer, method: str) -> Any:
    """The next request, which must be of that method."""
    request = await peer.receive()
    assert request["method"] == method, request
    return request


async def shake_hands(peer: ScriptedPeer, task: asyncio.Task[None]) -> None:
    """Be greeted with a handshake."""
    request = await asked(peer, "initialize")
    await peer.send(result(request["id"], ANSWER))
    await task
    await peer.expect({"jsonrpc": "2.0", "method": "notifications/initialized"})


async def refuse(peer: ScriptedPeer, request: Any, code: object, data: object = None) -> None:
    """Refuse a request."""
    detail = {"code": code, "message": "no"} | ({} if data is None else {"data": data})
    await peer.send({"jsonrpc": "2.0", "id": request["id"], "error": detail})


async def discovered(peer: ScriptedPeer, request: Any) -> None:
    """Answer the question as a server of the stateless era."""
    said: dict[str, Any] = {"resultType": "complete", "supportedVersions": [MODERN], "capabilities": {}}
    await peer.send(result(request["id"], said))


@in_virtual_time
async def test_a_server_that_ignores_the_question_costs_a_second() -> None:
    """Then it is greeted with a handshake, and nothing else waits."""
    loop = asyncio.get_running_loop()
    async with opening() as (client, peer, task):
        await asked(peer, "server/discover")
        await shake_hands(peer, task)
        assert client.revision == LEGACY
        assert 0 < loop.time() <= Limits().era_seconds == 1.0


@in_virtual_time
async def test_the_time_for_the_question_can_be_set() -> None:
    """It is a limit."""
    loop = asyncio.get_running_loop()
    async with opening(limits=Limits(era_seconds=0.25)) as (_, peer, task):
        await asked(peer, "server/discover")
        await shake_hands(peer, task)
        assert loop.time() == 0.25


@in_virtual_time
@pytest.mark.parametrize("code", [-32601, -32602, -32600, -32700, -32000, -32002, -32603, 0, 1, "nope"])
async def test_whatever_the_refusal_a_handshake_follows_at_once(code: object) -> None:
    """Also with a code that is no code."""
    async with opening() as (client, peer, task):
        await refuse(peer, await asked(peer, "server/discover"), code)
        await shake_hands(peer, task)
        assert client.revision == LEGACY
        assert asyncio.get_running_loop().time() == 0


@in_virtual_time
@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"supportedVersions": 5},
        {"supportedVersions": ["2025-11-25"], "capabilities": {}},
        [],
        None,
        "hello",
    ],
)
async def test_an_answer_that_makes_no_sense_is_none(answer: object) -> None:
    """So a server that answers everything with something is greeted with a handshake."""
    async with opening() as (client, peer, task):
        await peer.send(result((await asked(peer, "server/discover"))["id"], answer))
        await shake_hands(peer, task)
        assert client.revision == LEGACY


@in_virtual_time
@pytest.mark.parametrize("late", ["an answer", "an error", "twice"])
@pytest.mark.parametrize("before", [True, False], ids=["before the answer to initialize", "after it"])
async def test_an_answer_that_comes_after_the_handshake_has_begun_changes_nothing(
    late: str, before: bool
) -> None:
    """The handshake decides."""

    async def answer_late() -> None:
        for _ in range(2 if late == "twice" else 1):
            await (refuse(peer, question, -32601) if late == "an error" else discovered(peer, question))

    async with opening() as (client, peer, task):
        question = await asked(peer, "server/discover")
        request = await asked(peer, "initialize")
        if before:
            await answer_late()
        await peer.send(result(request["id"], ANSWER))
        await task
        await peer.receive()
        if not before:
            await answer_late()
        assert client.revision == LEGACY
        call = asyncio.create_task(client.call_tool("anything"))
        called = await asked(peer, "tools/call")
        assert "_meta" not in called["params"] or not any(
            "protocolVersion" in key for key in called["params"]["_meta"]
        )
        await peer.send(result(called["id"], {"content": [{"type": "text", "text": "done"}]}))
        assert (await call).text == "done"


@in_virtual_time
async def test_a_slow_server_of_the_stateless_era_is_found_by_its_refusal_of_the_handshake() -> None:
    """It is asked once more, with more patience; what it answers to the first question comes too late."""
    async with opening() as (client, peer, task):
        first = await asked(peer, "server/discover")
        request = await asked(peer, "initialize")
        await discovered(peer, first)
        await refuse(peer, request, -32022, {"supported": [MODERN], "requested": LEGACY})
        second = await asked(peer, "server/discover")
        await asyncio.sleep(5)
        await discovered(peer, second)
        await task
        assert client.revision == MODERN
        await peer.expect_silence()


# Refusals that only the stateless era has.


@in_virtual_time
@pytest.mark.parametrize("era", ["auto", "modern"])
@pytest.mark.parametrize(
    "data", [{"supported": ["2031-01-01", MODERN], "requested": MODERN}, {"supported": [MODERN]}]
)
async def test_a_refusal_that_names_a_revision_we_speak_is_asked_again_with_it(era: Era, data: Any) -> None:
    """No handshake comes in between."""
    async with opening(era=era) as (client, peer, task):
        await refuse(peer, await asked(peer, "server/discover"), -32022, data)
        await discovered(peer, await asked(peer, "server/discover"))
        await task
        assert client.revision == MODERN


@in_virtual_time
async def test_a_server_that_refuses_again_what_it_has_named_is_asked_no_more() -> None:
    """Its refusal is what the program gets."""
    async with opening() as (_, peer, task):
        for _ in range(2):
            await refuse(peer, await asked(peer, "server/discover"), -32022, {"supported": [MODERN]})
        with pytest.raises(PeerError, match="no") as failed:
            await task
        assert failed.value.code == -32022


@in_virtual_time
@pytest.mark.parametrize("data", [None, {}, {"supported": ["2025-11-25", "2031-01-01"]}, "2026-07-28"])
async def test_a_refusal_that_names_nothing_we_speak_leads_to_a_handshake(
    data: object,
) -> None:
    """There is nothing else that both might speak."""
    async with opening() as (client, peer, task):
        await refuse(peer, await asked(peer, "server/discover"), -32022, data)
        await shake_hands(peer, task)
        assert client.revision == LEGACY


@in_virtual_time
@pytest.mark.parametrize("code", [-32020, -32021])
async def test_an_error_of_the_stateless_era_is_no_reason_for_a_handshake(code: int) -> None:
    """Who has such an error would not shake hands; what it says is what the program gets."""
    async with opening() as (_, peer, task):
        await refuse(peer, await asked(peer, "server/discover"), code)
        with pytest.raises(PeerError) as failed:
            await task
        assert failed.value.code == code


@in_virtual_time
async def test_who_insists_on_the_stateless_era_waits_longer_and_shakes_no_hands() -> None:
    """A server that says nothing is one that cannot be reached."""
    async with opening(era="modern", limits=Limits(connect_seconds=7.0)) as (_, peer, task):
        await asked(peer, "server/discover")
        with pytest.raises(ConnectFailed, match=r"does not speak 2026-07-28: .* within 7 s"):
            await task
        assert asyncio.get_running_loop().time() == 7.0


# Children.

DIES = """
with open({log!r}, "a", encoding="utf-8") as log:
    print(os.getpid(), file=log)
request = read()
if request["method"] != "initialize":
    {death}
reply(request, greeting(request))
read()
serve()
"""


@pytest.mark.parametrize(
    "death", ["sys.exit(3)", "os.kill(os.getpid(), 9)", "raise KeyError(request['method'])"]
)
async def test_a_child_that_dies_of_the_question_is_started_again(death: str, tmp_path: Path) -> None:
    """It is greeted with a handshake, and next time it is not asked at all; nothing is left of any."""
    log = tmp_path / "started"
    command = program(DIES.format(log=str(log), death=death))
    before = asyncio.all_tasks()
    for starts in (2, 3):
        async with connect(command) as client:
            assert client.revision == LEGACY
            assert (await client.call_tool("anything")).text == "called"
        pids = [int(line) for line in log.read_text(encoding="utf-8").split()]
        assert len(pids) == starts
        await eventually(lambda pids=pids: not any(map(alive, pids)))
    assert asyncio.all_tasks() == before


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_a_child_is_started_once_where_the_era_is_given(era: Era, tmp_path: Path) -> None:
    """One that dies then has failed."""
    log = tmp_path / "started"
    command = program(DIES.format(log=str(log), death="sys.exit(3)"))
    if era == "modern":
        with pytest.raises(ProcessExited, match="exited with code 3"):
            await connect(command, era=era).open()
    else:
        async with connect(command, era=era) as client:
            assert client.revision == LEGACY
    assert len(log.read_text(encoding="utf-8").split()) == 1


async def test_a_child_that_dies_of_everything_fails_with_its_last_words() -> None:
    """Those of its second life, like those of its first."""
    words = "print('no database', file=sys.stderr); sys.exit(3)"
    before = asyncio.all_tasks()
    with pytest.raises(ProcessExited, match=r"exited with code 3 .* its last words: no database"):
        await connect(program(f"read(); {words}")).open()
    assert asyncio.all_tasks() == before
