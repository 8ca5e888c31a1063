"""Whatever the other side says, in whatever order: each request has one answer, and nothing is left behind."""

from __future__ import annotations

import asyncio
import contextlib
import json
from typing import Any, TypeAlias

from hypothesis import given, settings
from hypothesis import strategies as st

from anywire import Context, PeerError, Server
from anywire.errors import AnywireError
from anywire.testing.line_wire import line_pair
from anywire.transport.control.host import ControlHost
from anywire.transport.control.router import ControlRouter
from anywire.wire.limits import DEFAULT_LIMITS
from anywire.wire.message import Batch, ErrorResponse, Message, Response, create_request
from tests.transport.control.talk import OtherSide, initialize

#: What a host says in an `mcp_message`, or that it takes one of those back, or noise.
Move: TypeAlias = tuple[str, Any]

ids: st.SearchStrategy[Any] = st.sampled_from([0, 1, "a", "1", None])
servers: st.SearchStrategy[Any] = st.sampled_from(["calc", "a:b", "nobody"])
calls: st.SearchStrategy[Any] = st.fixed_dictionaries(
    {
        "jsonrpc": st.just("2.0"),
        "id": ids,
        "method": st.sampled_from(["tools/call", "tools/list", "ping", "no/such"]),
        "params": st.fixed_dictionaries({"name": st.sampled_from(["add", "wait", "ask", "fail", "none"])}),
    }
)
replies: st.SearchStrategy[Any] = st.fixed_dictionaries(
    {"jsonrpc": st.just("2.0"), "id": ids, "result": st.just({"roots": []})}
)
cancellations: st.SearchStrategy[Any] = ids.map(
    lambda id: {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}
)
messages: st.SearchStrategy[Any] = st.one_of(
    calls,
    replies,
    cancellations,
    st.just(initialize()),
    st.just({"jsonrpc": "2.0", "method": "notifications/initialized"}),
    st.just({"id": 4}),
    st.just([]),
    st.lists(calls, min_size=1, max_size=3),
)
moves: st.SearchStrategy[list[Move]] = st.lists(
    st.one_of(
        st.tuples(servers, messages),
        st.tuples(st.just("take back"), st.integers(1, 8)),
        st.tuples(st.just("answer"), st.sampled_from(["success", "error", "nothing", "roots"])),
        st.tuples(st.just("noise"), st.sampled_from(["{", "[]", '{"type":"control_request"}', "x", "{}"])),
    ),
    max_size=14,
)


def toolbox(name: str) -> Server:
    """A server with tools that answer at once, later, never, and by asking first."""
    server = Server(name, version="1", limits=DEFAULT_LIMITS.replace(drain_seconds=0.0))

    @server.tool(inline=True)
    def add() -> int:
        """Answer at once."""
        return 1

    @server.tool
    async def wait() -> None:
        """Never answer."""
        await asyncio.Event().wait()

    @server.tool
    async def ask(context: Context) -> str:
        """Ask the host, whatever it may answer."""
        with contextlib.suppress(PeerError):
            await context.roots()
        return "asked"

    @server.tool
    async def fail() -> None:
        """Fail."""
        raise ValueError("no")

    return server


def make(move: Move, host: OtherSide, asked: list[str], taken_back: set[str], seen: list[str]) -> None:
    """Say what the move wants."""
    kind, what = move
    if kind == "noise":
        host.say(what)
    elif kind == "take back":
        taken_back.add(f"r{what}")
        host.say({"type": "control_cancel_request", "request_id": f"r{what}"})
    elif kind == "answer":
        roots: dict[str, Any] = {"mcp_response": {"jsonrpc": "2.0", "id": 0, "result": {"roots": []}}}
        for id in seen:
            if what == "error":
                host.refuse(id, "no")
            elif what != "nothing":
                host.answer(id, roots if what == "roots" else None)
    else:
        asked.append(host.message(kind, what))


async def play(moves: list[Move]) -> None:
    """Make the moves, end, and count the answers."""
    host_end, sdk_end = line_pair()
    calc, other = toolbox("calc"), toolbox("a:b")
    accepts = {"calc": calc.accept, "a:b": other.accept}
    asked, taken_back, answered, seen = list[str](), set[str](), list[str](), list[str]()
    limits = DEFAULT_LIMITS.replace(drain_seconds=0.0)
    async with OtherSide(host_end) as host, ControlRouter(sdk_end, accepts, limits=limits) as router:
        for server in accepts:
            asked.append(host.message(server, initialize()))
        for move in moves:
            make(move, host, asked, taken_back, seen)
            for _ in range(3):
                await asyncio.sleep(0)
            seen = [json_line["request_id"] for json_line in host.heard if "request" in json_line]
        host_end.end_sending()
        async with asyncio.timeout(10):
            await router.wait()
        await host.hear_the_end()
        answered = [line["response"]["request_id"] for line in host.heard if "response" in line]
        assert len(router.conversations) == 0
    await calc.close()
    await other.close()
    strict = [id for id in asked if id not in taken_back]
    assert sorted(id for id in answered if id in strict) == sorted(strict), json.dumps(moves)
    assert len(set(answered) & set(asked)) == len([id for id in answered if id in asked])


@settings(max_examples=60, deadline=None)
@given(moves)
def test_each_request_has_one_answer(moves: list[Move]) -> None:
    """Ids that meet, batches, calls that never end, noise, and an end in the middle."""
    asyncio.run(play(moves))


# The host's side.

#: How a program answers the oldest call, or what it says by itself.
answers: st.SearchStrategy[Any] = st.sampled_from(
    [
        {"mcp_response": {"jsonrpc": "2.0", "id": 1, "result": {}}},
        {"mcp_response": {"jsonrpc": "2.0", "id": 2, "error": {"code": -1, "message": "no"}}},
        {"mcp_response": {"jsonrpc": "2.0", "result": {}}},
        {"mcp_response": {"jsonrpc": "2.0", "id": 1, "method": "roots/list"}},
        {"mcp_response": {"jsonrpc": "2.0", "method": "notifications/x"}},
        {"mcp_response": [{"jsonrpc": "2.0", "id": 1, "result": {}}]},
        {"mcp_response": 7},
        {},
        None,
        "refuse",
        "twice",
    ]
)
program_moves: st.SearchStrategy[list[Move]] = st.lists(
    st.one_of(
        st.tuples(st.just("call"), st.integers(1, 3)),
        st.tuples(st.just("answer"), answers),
        st.tuples(st.just("say"), replies),
        st.tuples(st.just("say"), st.just({"jsonrpc": "2.0", "id": 1, "method": "ping"})),
        st.tuples(st.just("noise"), st.sampled_from(["{", "[]", '{"type":"control_response"}', "x"])),
    ),
    max_size=14,
)


def answer(program: OtherSide, id: str, how: Any) -> None:
    """Answer a call in one of many ways."""
    if how == "refuse":
        program.refuse(id, "no")
        return
    right: dict[str, Any] = {"mcp_response": {"jsonrpc": "2.0", "id": 1, "result": {}}}
    for _ in range(2 if how == "twice" else 1):
        program.answer(id, right if how == "twice" else how)


async def serve(moves: list[Move]) -> None:
    """Make the moves, end, and count what became of each call."""
    host_end, sdk_end = line_pair()
    settled, open_calls, called = list[bytes](), list[str](), list[bytes]()
    async with OtherSide(sdk_end) as program, ControlHost(host_end) as host:
        transport = host.transport("calc")
        closed: asyncio.Future[object] = asyncio.get_running_loop().create_future()

        def take(message: Message | Batch) -> None:
            for item in message.items if isinstance(message, Batch) else (message,):
                if isinstance(item, Response | ErrorResponse) and item.id is not None:
                    settled.append(item.id)

        transport.callbacks.on_message = take
        transport.callbacks.on_failed = lambda id, _: settled.append(id)
        transport.callbacks.on_close = closed.set_result
        await transport.start()
        for kind, what in moves:
            if kind == "call":
                request = create_request(100 * what + len(called), "tools/call")
                called.append(request.id)
                transport.post(request)
            elif kind == "answer" and open_calls:
                answer(program, open_calls.pop(0), what)
            elif kind == "say":
                program.message("calc", what)
            elif kind == "noise":
                program.say(what)
            for _ in range(3):
                await asyncio.sleep(0)
            while program.heard:
                line = program.heard.popleft()
                if "request" in line and line["request"]["message"]["method"] == "tools/call":
                    open_calls.append(line["request_id"])
        sdk_end.end_sending()
        async with asyncio.timeout(10):
            assert isinstance(await closed, AnywireError)
            await host.wait()
        assert not host.conversations
    own = [id for id in settled if id in called]
    assert len(own) == len(set(own)), json.dumps(moves)


@settings(max_examples=60, deadline=None)
@given(program_moves)
def test_no_call_is_settled_twice(moves: list[Move]) -> None:
    """Wrong ids, no ids, questions in the place of answers, answers given twice, and an end in the middle."""
    asyncio.run(serve(moves))
