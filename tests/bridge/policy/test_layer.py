"""A client and a server that a test plays, and a policy between them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from anywire.bridge.policy.layer import PolicyLayer
from anywire.bridge.policy.notices import Notices
from anywire.bridge.policy.policy import Policy
from anywire.bridge.streams import Relating
from anywire.errors import TransportClosed
from anywire.testing import ScriptedPeer
from anywire.transport.contract import Filling, Holding, ignore
from anywire.transport.memory import memory_pair
from anywire.wire.codec import decode, encode
from anywire.wire.message import Batch, Fault, Notification, Request, Response

META: dict[str, Any] = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
each_era = pytest.mark.parametrize("meta", [{}, {"_meta": META}], ids=["handshake", "stateless"])


class Stage:
    """Both ends, and what was reported."""

    def __init__(self, *deny: str, allow: tuple[str, ...] = ()) -> None:
        self.near, far = memory_pair()
        self.reports: list[str] = []
        self.layer = PolicyLayer(self.near, Policy(allow, deny), Notices(self.reports.append))
        self.client, self.server = ScriptedPeer(self.layer), ScriptedPeer(far)

    async def passes(self, text: bytes) -> bytes:
        """Return what the server gets of it."""
        await self.client.send(text)
        got = await self.server.receive_message()
        assert not isinstance(got, Fault)
        return encode(got)

    async def answers(self, text: bytes) -> bytes:
        """Return what the client gets of it."""
        await self.server.send(text)
        got = await self.client.receive_message()
        assert not isinstance(got, Fault)
        return encode(got)

    async def refused(self, method: str, params: object) -> Any:
        """Return the error of a request that the server does not get; of a tool it may be a result."""
        await self.client.ask(7, method, params)
        reply = await self.client.receive()
        assert reply["id"] == 7
        await self.server.expect_silence()
        return reply["error"] if "error" in reply else reply["result"]


@asynccontextmanager
async def stage(*deny: str, allow: tuple[str, ...] = ()) -> AsyncGenerator[Stage]:
    """A policy between a client and a server, within bounds."""
    async with asyncio.timeout(20):
        here = Stage(*deny, allow=allow)
        async with here.server, here.client:
            yield here


UNKNOWN = "Unknown tool: delete_all"


@pytest.mark.parametrize(
    ("meta", "expected"),
    [
        ({}, {"content": [{"type": "text", "text": UNKNOWN}], "isError": True}),
        ({"_meta": META}, {"code": -32602, "message": UNKNOWN}),
    ],
    ids=["handshake", "stateless"],
)
async def test_a_hidden_tool_is_not_called_and_is_unknown(meta: dict[str, Any], expected: object) -> None:
    """As most servers of the era have it for a tool that there is not."""
    async with stage("delete_*") as here:
        assert await here.refused("tools/call", {"name": "delete_all", "arguments": {}, **meta}) == expected
    assert here.reports == [
        "a client asked for the tool 'delete_all', which is hidden from it: deny 'delete_*'"
    ]


@each_era
async def test_a_hidden_prompt_is_unknown(meta: dict[str, Any]) -> None:
    async with stage("prompt:p") as here:
        error = await here.refused("prompts/get", {"name": "p", **meta})
    assert error == {"code": -32602, "message": "Unknown prompt: p"}


@pytest.mark.parametrize("method", ["resources/read", "resources/subscribe", "resources/unsubscribe"])
async def test_a_hidden_resource_is_not_found(method: str) -> None:
    """Under the code that the era has for it."""
    async with stage("resource:file:///x*") as here:
        old = await here.refused(method, {"uri": "file:///x/y"})
        new = await here.refused(method, {"uri": "file:///x/y", "_meta": META})
    assert old == {
        "code": -32002,
        "message": "Resource not found: file:///x/y",
        "data": {"uri": "file:///x/y"},
    }
    assert new == {**old, "code": -32602}


@each_era
@pytest.mark.parametrize(
    ("ref", "said"),
    [
        ({"type": "ref/prompt", "name": "p"}, "Unknown prompt: p"),
        ({"type": "ref/resource", "uri": "file:///{x}"}, "Unknown resource template: file:///{x}"),
        ({"uri": "file:///{x}", "name": "other"}, "Unknown resource template: file:///{x}"),
    ],
)
async def test_nothing_hidden_is_completed(meta: dict[str, Any], ref: object, said: str) -> None:
    async with stage("prompt:p", "resource:file:*") as here:
        params = {"ref": ref, "argument": {"name": "a", "value": ""}, **meta}
        assert await here.refused("completion/complete", params) == {"code": -32602, "message": said}


@pytest.mark.parametrize(
    "text",
    [
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{ "name":"ok","arguments":{"f":1.0e-5}} }',
        b'{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"\\ud800","x":[ ]}}',
        b'{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"file:///ok"}}',
        b'{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":{"name":"ok"}}}',
        b'{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":{"type":"ref/new"}}}',
        b'{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{ }}}',
        b'{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen",'
        b'"params":{"notifications":{"resourceSubscriptions":[ "file:///ok"]}}}',
        b'{"jsonrpc":"2.0","id":1,"method":"hidden/method","params":{"name":"hidden"}}',
        b'{"jsonrpc":"2.0","method":"notifications/x","params":{"name":"hidden"}, "y":1.0}',
        b'{"jsonrpc":"2.0","id":"q","result":{"name":"hidden"}, "y":1.0}',
    ],
)
async def test_what_is_there_passes_byte_for_byte(text: bytes) -> None:
    async with stage("hidden", "prompt:hidden", "resource:hidden") as here:
        assert await here.passes(text) == text


async def test_a_kind_without_rules_is_not_looked_at() -> None:
    """However odd what is said of it."""
    text = b'{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":7,"name":[]}}'
    async with stage("hidden") as here:
        assert await here.passes(text) == text


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("tools/call", b'{"name":"ok","name":"hidden"}'),
        ("tools/call", b'{"name":"hidden","name":"ok"}'),
        ("tools/call", b'{"name":"ok","Name":"hidden"}'),
        ("tools/call", b'{"Name":"hidden"}'),
        ("tools/call", b'{"name":["hidden"]}'),
        ("tools/call", b"[]"),
        ("resources/read", b'{"uri":"file:///ok","\\u0055RI":"file:///hidden"}'),
        ("completion/complete", b'{"ref":{"name":"ok"},"ref":{"name":"hidden"}}'),
        ("completion/complete", b'{"ref":{"type":"ref/prompt","NAME":"hidden"}}'),
        ("subscriptions/listen", b'{"notifications":{},"Notifications":{}}'),
        ("subscriptions/listen", b'{"notifications":{"resourceSubscriptions":"file:///hidden"}}'),
        ("subscriptions/listen", b'{"notifications":{"resourcesubscriptions":["file:///hidden"]}}'),
    ],
)
async def test_what_two_readers_could_read_in_two_ways_is_refused(method: str, params: bytes) -> None:
    """One of the readings might be hidden."""
    async with stage("hidden", "prompt:hidden", "resource:file:///hidden") as here:
        await here.client.send(Request(b"1", method, params))
        reply = await here.client.receive()
        await here.server.expect_silence()
    assert reply["error"]["code"] == -32602
    assert reply["error"]["message"].startswith("Invalid params: ")
    assert here.reports == []


async def test_an_envelope_that_could_be_read_in_two_ways_is_written_in_one() -> None:
    """There are decoders that take `Method` for `method`."""
    params = b'"params":{"name":"hidden"}'
    text = b'{"jsonrpc":"2.0","id":1,"method":"ping",%b,"Method":"tools/call","x":1}' % params
    async with stage("hidden") as here:
        assert await here.passes(text) == b'{"jsonrpc":"2.0","id":1,"method":"ping",%b}' % params


async def test_a_call_without_an_id_is_dropped() -> None:
    """It must not be executed, but a server might."""
    async with stage("hidden") as here:
        await here.client.notify("tools/call", {"name": "hidden"})
        await here.server.expect_silence()
        await here.client.expect_silence()


LISTED = b'{"jsonrpc":"2.0", "id":%b,"x":1.0,"result":{"a":1e2,"tools":[%b],"nextCursor":"c"}}'
ONE, TWO = b'{"name":"one", "f":1.0e-5}', b'{"name":"two"}'


@each_era
async def test_a_list_comes_without_what_is_hidden(meta: dict[str, Any]) -> None:
    """Everything else keeps its bytes."""
    async with stage(allow=("one",)) as here:
        await here.client.ask(1, "tools/list", meta)
        await here.server.receive()
        assert await here.answers(LISTED % (b"1", TWO + b"," + ONE)) == LISTED % (b"1", ONE)
    assert here.reports == ["hidden from clients: tool 'two'"]


async def test_each_page_passes_with_its_cursor_and_is_reported_once() -> None:
    """However many clients ask how often."""
    async with stage("two") as here:
        for id in (1, 2):
            await here.client.ask(id, "tools/list", {"cursor": "c"})
            await here.server.receive()
            assert await here.answers(LISTED % (b"%d" % id, TWO)) == LISTED % (b"%d" % id, b"")
            await here.refused("tools/call", {"name": "two"})
    assert len(here.reports) == 2


async def test_only_an_answer_to_a_list_is_taken_for_one() -> None:
    """What a tool says is its own business."""
    async with stage("two") as here:
        await here.client.ask(1, "tools/call", {"name": "one"})
        await here.server.receive()
        assert await here.answers(LISTED % (b"1", TWO)) == LISTED % (b"1", TWO)


@pytest.mark.parametrize("id", [b'"1"', b"1.0"])
async def test_a_server_that_spells_the_id_in_another_way_shows_no_more(id: bytes) -> None:
    """Its answer is understood behind the policy."""
    async with stage("two") as here:
        await here.client.ask(1, "tools/list")
        await here.server.receive()
        assert await here.answers(LISTED % (id, TWO)) == LISTED % (id, b"")


async def test_a_list_that_was_cancelled_and_comes_nevertheless_shows_no_more() -> None:
    """The id may stand for something else by then."""
    async with stage("two") as here:
        await here.client.ask(1, "tools/list")
        await here.client.notify("notifications/cancelled", {"requestId": 1})
        await here.client.ask(1, "ping")
        await here.server.receive_many(3)
        assert await here.answers(LISTED % (b"1", TWO)) == LISTED % (b"1", b"")


async def test_a_list_that_fails_is_forgotten() -> None:
    """Whether the server says so or the wire."""
    async with stage("two") as here:
        await here.client.ask(1, "tools/list")
        await here.client.ask(2, "tools/list")
        await here.server.receive_many(2)
        await here.answers(b'{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"no"}}')
        here.near.callbacks.on_failed(b"2", TransportClosed("gone"))
        for id in (b"1", b"2"):
            assert await here.answers(LISTED % (id, TWO)) == LISTED % (id, TWO)


async def test_changes_of_what_is_hidden_are_not_told() -> None:
    """Of the rest they are, byte for byte."""
    updated = b'{"jsonrpc":"2.0","method":"notifications/resources/updated", "params":{"uri":"file:///%b"}}'
    async with stage("resource:file:///x") as here:
        await here.server.send(updated % b"x")
        assert await here.answers(updated % b"y") == updated % b"y"
        other = b'{"jsonrpc":"2.0","method":"notifications/resources/updated"}'
        assert await here.answers(other) == other


async def test_what_is_hidden_is_not_listened_to() -> None:
    """The server hears of the rest alone, which it acknowledges."""
    text = (
        b'{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"x":1.0,'
        b'"resourceSubscriptions":["file:///a", "file:///x",7,"file:///\\u0062"]},"_meta":{ }}}'
    )
    async with stage("resource:file:///x") as here:
        assert await here.passes(text) == text.replace(b'["file:///a", "file:///x",7,', b'["file:///a",7,')
    async with stage(allow=("resource:file:///[ab]",)) as here:
        assert await here.passes(text) == text.replace(b'["file:///a", "file:///x",7,', b'["file:///a",')


async def test_a_batch_goes_on_without_what_is_hidden() -> None:
    """What stays in it keeps its bytes, be it no message at all; the rest is answered."""
    ping, wrong = b'{"jsonrpc": "2.0", "id":2, "method":"ping"}', b'{"x" :1.0}'
    call = b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"%b"}}'
    async with stage("hidden") as here:
        whole = b"[ %b , %b,%b]" % (ping, wrong, call % (3, b"ok"))
        assert await here.passes(whole) == whole
        assert await here.passes(b"[%b, %b,%b]" % (ping, call % (3, b"hidden"), wrong)) == b"[%b,%b]" % (
            ping,
            wrong,
        )
        assert (await here.client.receive())["result"]["content"][0]["text"] == "Unknown tool: hidden"
        await here.client.send(b"[%b,%b]" % (call % (4, b"hidden"), call % (5, b"hidden")))
        assert [each["id"] for each in await here.client.receive_many(2)] == [4, 5]
        await here.server.expect_silence()


async def test_a_batch_from_the_server_is_looked_at_item_by_item() -> None:
    """A list in it, and a change."""
    pong = b'{"jsonrpc": "2.0","id":2,"result":{}}'
    gone = b'{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"file:///x"}}'
    async with stage("two", "resource:file:///x") as here:
        await here.client.ask(1, "tools/list")
        await here.server.receive()
        got = await here.answers(b"[%b, %b ,%b]" % (pong, LISTED % (b"1", ONE + b"," + TWO), gone))
        assert got == b"[%b,%b]" % (pong, LISTED % (b"1", ONE))
        await here.server.send(b"[%b]" % gone)
        await here.client.expect_silence()


async def test_a_batch_that_was_built_here_is_filtered_as_well() -> None:
    """One that has no text yet."""
    call = Request(b"1", "tools/call", b'{"name":"hidden"}')
    async with stage("hidden") as here:
        await here.client.send(Batch((Request(b"2", "ping"), call, Notification("n"))))
        got = await here.server.receive_message()
    assert isinstance(got, Batch)
    assert encode(got) == encode(Batch((Request(b"2", "ping"), Notification("n"))))


async def test_a_client_cannot_fill_the_log() -> None:
    """Names that nobody has are endless, and long; what they contain breaks no line."""
    async with stage("x*") as here:
        for number in range(1_100):
            here.layer.post(
                Request(b"%d" % number, "tools/call", b'{"name":"x%d\\n%b"}' % (number, b"y" * 500))
            )
    assert len(here.reports) == 1_000
    assert max(map(len, here.reports)) < 250
    assert not any("\n" in each for each in here.reports)


async def test_after_the_end_nothing_is_sent_and_nothing_is_answered() -> None:
    async with stage("x") as here:
        await here.client.close()
        with pytest.raises(TransportClosed):
            here.layer.post(Request(b"1", "tools/call", b'{"name":"x"}'))
        with pytest.raises(TransportClosed):
            await here.layer.send(Request(b"1", "ping"))


async def test_it_holds_and_fills_and_relates_as_far_as_what_is_behind_it_does() -> None:
    """It is put in the place of that."""
    near, _ = memory_pair()
    layer = PolicyLayer(near, Policy(), Notices(ignore))
    for contract in (Holding, Filling):
        assert isinstance(layer, contract) is isinstance(near, contract)
    assert layer.related is None
    setattr(near, "related", b"7")  # noqa: B010 as a translator has it
    setattr(near, "writes_stdout", True)  # noqa: B010 as a wire to a child has it
    assert isinstance(layer, Relating)
    assert (layer.related, layer.writes_stdout) == (b"7", True)


async def test_lists_that_never_come_are_forgotten_at_last() -> None:
    """The latest are known still."""
    async with stage("two") as here:
        for number in range(10_001):
            here.layer.post(Request(b"%d" % number, "tools/list"))
        for id, shown in ((b"0", TWO), (b"10000", b"")):
            assert await here.answers(LISTED % (id, TWO)) == LISTED % (id, shown)
    assert isinstance(decode(LISTED % (b"0", TWO)), Response)
