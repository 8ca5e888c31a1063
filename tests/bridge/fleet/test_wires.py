"""A fleet on real wires: which stream a message travels on, whose headers go along, which processes are left."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from contextvars import ContextVar
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from anywire import PeerError, connect
from anywire.bridge.fleet.fleet import Fleet
from anywire.bridge.http_face import HttpFace
from anywire.bridge.meeting.era import Era
from anywire.bridge.meeting.upstream import Upstream
from anywire.bridge.relay import Relay
from anywire.protocol.http.stateless import StatelessFace
from anywire.testing import ScriptedPeer, in_virtual_time, streams_pair
from anywire.transport.contract import Transport
from anywire.transport.http_server import HttpListener
from anywire.transport.layer import Layer
from anywire.transport.process import Command
from anywire.transport.stdio_client import StdioClientTransport
from anywire.wire.message import Batch, Message, Request
from tests.bridge.fleet.houses import Choice, Ours, Played, house
from tests.bridge.fleet.test_conversations import answered, note, opened
from tests.bridge.fleet.test_fleet import ada, inn
from tests.http.serving import QUICK, on_socket, within
from tests.interop.processes import watch

LEDGER = Path(__file__).parents[1] / "servers" / "ledger.py"


@in_virtual_time
async def test_what_is_said_for_a_call_travels_on_its_stream() -> None:
    """Progress by its token, and whatever else a server says while it has one call to answer."""
    makers = {"left": Played(), "right": Played()}
    async with house(makers) as ours:
        face, other = streams_pair()
        relay = asyncio.ensure_future(Relay(other, ours.upstream.target, ours.reports.append).run())
        client = ScriptedPeer(face, patience=600)
        async with client:
            await client.initialize()
            left, right = await opened(makers, client, "left", "right")
            await client.call(1, "left__do", meta={"progressToken": "p"})
            await client.call(2, "right__do")
            await left.hears("tools/call")
            await right.hears("tools/call")
            seen = len(face.log)
            await left.peer.send(note("notifications/progress", {"progressToken": "p", "progress": 1}))
            await left.peer.ask(1, "roots/list")
            await right.peer.send(note("notifications/message", {"level": "info", "data": 1}))
            await client.receive_many(3)
            await left.peer.send(answered(1, {}))
            await right.peer.send(answered(2, {}))
            await client.receive_many(2)
            streams = [name for name, _ in face.log[seen:]]
        await relay
        # `initialize` had the first.
        assert sorted(streams) == ["stream 2", "stream 2", "stream 2", "stream 3", "stream 3"]


_on_behalf_of: ContextVar[str] = ContextVar("on_behalf_of", default="nobody")


class _Noting(Layer):
    """Notes on whose behalf requests are sent."""

    def __init__(self, inner: Transport, heard: list[tuple[str, str]]) -> None:
        super().__init__(inner)
        self._heard = heard

    def post(self, message: Message | Batch, related: bytes | None = None) -> None:
        if isinstance(message, Request):
            self._heard.append((message.method, _on_behalf_of.get()))
        super().post(message, related)


@in_virtual_time
async def test_each_message_goes_on_in_the_context_of_who_sent_it() -> None:
    """Headers of a client's request travel in it; calls that wait for the same server have their own each."""
    played, heard = Played(), list[tuple[str, str]]()
    async with house({"left": lambda: _Noting(played(), heard)}) as ours, ours.raw() as client:
        await client.initialize()
        play = await played.next()
        await play.opens()
        await play.lists("do")
        for number in (1, 2):
            _on_behalf_of.set(f"call {number}")
            await client.call(number, "left__do")
        _on_behalf_of.set("nobody")
        await play.answers("tools/call")
        await play.answers("tools/call")
        await client.receive_many(2)
    assert heard[-2:] == [("tools/call", "call 1"), ("tools/call", "call 2")]


@pytest.mark.chaos
async def test_processes_of_a_fleet_end_with_it(tmp_path: Path) -> None:
    """Two servers that are children: one crashes in a call, one cannot be started, and none is left."""
    reports: list[str] = []

    def child(*words: str) -> Callable[[], Transport]:
        return partial(StdioClientTransport, Command(words), on_stderr=lambda _: None)

    ledger = (sys.executable, "-I", "-S", str(LEDGER))
    with watch():
        fleet = Fleet()
        makers = {name: child(*ledger, str(tmp_path / name)) for name in ("left", "right")}
        makers["none"] = child(str(tmp_path / "no-such-program"))
        upstreams = {name: Upstream(make, reports.append) for name, make in makers.items()}
        fleet.replace(upstreams)
        upstream = Upstream(fleet.target, reports.append, era=Era.HANDSHAKE)
        async with asyncio.timeout(60), ScriptedPeer(upstream.target(), patience=30) as client:
            await client.initialize()
            said: dict[int, Any] = {}
            for id, name, word in ((1, "left", "fatal"), (2, "right", "hello"), (3, "none", "hello")):
                await client.call(id, f"{name}__work", {"name": word})
            while len(said) < 3:
                message = await client.receive()
                if "id" in message:
                    said[message["id"]] = message
        await fleet.close()
        for each in (upstream, *upstreams.values()):
            await each.close()
    lost, failed = said[1]["error"]["message"], said[3]["error"]["message"]
    assert lost.startswith("left: ")
    assert "exited with code 3; its last words: the ink has run out" in lost
    assert said[2]["result"]["content"][0]["text"].startswith("hello ")
    assert failed.startswith("none: ")
    assert "no-such-program" in failed


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_a_fleet_is_offered_over_http(era: Choice) -> None:
    """A call that asks its client in the middle, and the same servers for the next client."""
    reports: list[str] = []
    fleet = Fleet(QUICK, discreet=True)
    upstreams = {name: Upstream(Ours(inn(name)), reports.append, QUICK) for name in ("left", "right")}
    fleet.replace(upstreams)
    upstream = Upstream(fleet.target, reports.append, QUICK, era=Era.HANDSHAKE)
    face = HttpFace(upstream)
    stateless = StatelessFace(lambda _: True, lambda tool: upstream.mirrors.get(tool, ()))
    listener = HttpListener(face.accept, lambda _: True, path="/mcp", stateless=stateless, limits=QUICK)
    async with asyncio.timeout(60), on_socket(listener) as origin:
        for _ in range(2):
            async with connect(f"{origin}/mcp", era=era, on_elicit=ada, limits=QUICK) as client:
                assert [tool.name for tool in await client.tools()][:2] == ["left__book", "left__where"]
                assert (await client.call_tool("right__book", {"nights": 2})).text == "Ada at right, 2"
                with pytest.raises(PeerError, match="the servers are: left, right"):
                    await client.get_prompt("greet")
    await within(face.close())
    await fleet.close()
    for each in upstreams.values():
        await each.close()
    assert len(fleet) == 0
    assert not reports
