"""The transport that agent SDKs give to a server in their process: plain JSON objects, two callbacks."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Generator
from typing import Any

import pytest

from anywire import Server, connect
from anywire.errors import ConfigError, LocalProtocolError, TransportClosed
from anywire.testing import check_transport
from anywire.transport.contract import Transport
from anywire.transport.control.plain import PlainMessage, SdkMcpTransport
from anywire.wire.message import create_notification, create_request

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "h", "version": "1"},
    },
}


def doubler() -> Server:
    """A server with one tool."""
    server = Server("calc", version="1")

    @server.tool(inline=True)
    def double(number: int) -> int:
        """Double a number."""
        return 2 * number

    return server


class Host:
    """The program that carries the messages: keeps what comes, and wakes who waits for it."""

    def __init__(self) -> None:
        self.got: list[Any] = []
        self._news = asyncio.Event()
        self.transport = SdkMcpTransport(self.take)

    def take(self, message: Any) -> None:
        """Get a message of the server's."""
        self.got.append(message)
        self._news.set()

    async def receive(self) -> Any:
        """Wait for the next message."""
        async with asyncio.timeout(10):
            while not self.got:
                self._news.clear()
                await self._news.wait()
        return self.got.pop(0)


@contextlib.contextmanager
def pair() -> Generator[tuple[Transport, Transport]]:
    """Two of them, each of which carries the other's messages."""
    one = SdkMcpTransport(lambda message: other.receive(message))  # noqa: PLW0108 it is made below
    other = SdkMcpTransport(one.receive)
    one.on_close, other.on_close = other.end, one.end
    yield one, other


async def test_it_is_a_transport_like_any_other() -> None:
    """Whatever a session or a bridge relies on, it keeps; bytes included, where nobody touched the object."""
    await check_transport(pair)


async def test_a_call_goes_in_by_on_message_and_comes_back_by_the_callback() -> None:
    """In this process, without a child: the host gives an object and is given one."""
    host = Host()
    server = doubler()
    server.accept(host.transport)

    host.transport.on_message(INITIALIZE)
    greeting = await host.receive()
    host.transport.on_message({"jsonrpc": "2.0", "method": "notifications/initialized"})
    call = {"name": "double", "arguments": {"number": 21}}
    host.transport.on_message({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call})
    reply = await host.receive()

    assert greeting["result"]["serverInfo"]["name"] == "calc"
    assert (reply["id"], reply["result"]["content"][0]["text"]) == (1, "42")
    await server.close()


async def test_each_server_gets_its_own_messages() -> None:
    """Two transports in one process share nothing."""
    hosts, server = [Host(), Host()], doubler()
    for number, host in enumerate(hosts):
        server.accept(host.transport)
        host.transport.on_message({"jsonrpc": "2.0", "id": number, "method": "ping"})

    assert [await host.receive() for host in hosts] == [
        {"jsonrpc": "2.0", "id": number, "result": {}} for number in range(2)
    ]
    await server.close()


async def test_a_plain_server_sets_its_own_handler() -> None:
    """As the servers of other libraries do: the host's call reaches it at once."""
    host, seen = Host(), list[Any]()
    host.transport.on_message = seen.append
    message = {"jsonrpc": "2.0", "id": 1, "method": "x"}

    await host.transport.start()
    host.transport.on_message(message)

    assert seen[0] is message


async def test_start_may_be_called_when_the_server_connects() -> None:
    """It opens nothing and returns at once."""
    host = Host()

    assert await host.transport.start() is None
    await host.transport.close()


async def test_send_passes_the_same_object_on() -> None:
    """Replies and notifications alike, and nothing else than that object."""
    host = Host()
    reply: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "result": {}}
    for message in (reply, {"jsonrpc": "2.0", "method": "x"}):
        await host.transport.send(message)
        assert host.got.pop() is message


async def test_the_callback_is_called_in_the_order_of_the_sends() -> None:
    """Synchronously: when `send` is first stepped, the message has gone."""
    host = Host()
    sends = [host.transport.send({"jsonrpc": "2.0", "method": str(number)}) for number in range(5)]
    for number, send in enumerate(sends):
        with pytest.raises(StopIteration):
            send.send(None)
        assert host.got[-1]["method"] == str(number)


async def test_a_callback_that_raises_rejects_the_send() -> None:
    """Whoever sends learns of it; a reply that is posted tells the loop's exception handler."""

    def fail(_: object) -> None:
        raise ValueError("no room")

    transport = SdkMcpTransport(fail)
    told: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context["exception"]))

    with pytest.raises(ValueError, match="no room"):
        await transport.send({"jsonrpc": "2.0", "method": "x"})
    transport.post(create_notification("x"))

    assert [str(error) for error in told] == ["no room"]


async def test_closing_is_heard_of_once() -> None:
    """Closed, then again, then from two tasks at once."""
    host, closes = Host(), list[bool]()
    host.transport.on_close = lambda: closes.append(host.transport.closed)

    assert not host.transport.closed
    await host.transport.close()
    await host.transport.close()
    await asyncio.gather(host.transport.close(), host.transport.close())

    assert closes == [True]


async def test_sending_after_the_end_raises() -> None:
    """With the words that other transports of this kind have for it."""
    host = Host()
    await host.transport.close()

    with pytest.raises(TransportClosed, match=r"^Transport is closed$"):
        await host.transport.send({"jsonrpc": "2.0", "method": "x"})
    with pytest.raises(TransportClosed, match=r"^Transport is closed$"):
        host.transport.post(create_request(1, "x"))
    assert host.got == []


async def test_the_end_of_the_server_is_told() -> None:
    """`on_close` fires also when it is the server that ends."""
    host, server, closed = Host(), doubler(), asyncio.Event()
    host.transport.on_close = closed.set
    server.accept(host.transport)
    await server.close()

    async with asyncio.timeout(10):
        await closed.wait()


async def test_a_server_that_fails_is_told_as_its_end() -> None:
    """`on_close` fires once, also when nobody had asked for it."""
    host, server, closes = Host(), doubler(), list[bool]()
    closed = asyncio.Event()

    @server.tool
    async def leave() -> None:
        """End in the middle."""
        raise SystemExit(3)

    def close() -> None:
        closes.append(host.transport.closed)
        closed.set()

    async def converse() -> None:
        host.transport.on_message(INITIALIZE)
        await host.receive()
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "leave"}}
        host.transport.on_message(call)

    host.transport.on_close = close
    conversing = asyncio.ensure_future(converse())
    async with asyncio.timeout(10):
        with pytest.raises(SystemExit):
            await server.serve(host.transport)
        await closed.wait()
    await conversing
    assert closes == [True]


async def test_what_is_no_message_is_answered_and_told() -> None:
    """The host hears of it twice: as JSON-RPC has it, and as an error of the transport."""
    host, server, errors = Host(), doubler(), list[Exception]()
    host.transport.on_error = errors.append
    server.accept(host.transport)

    host.transport.on_message({"jsonrpc": "1.0", "id": 3, "method": "ping"})
    reply = await host.receive()

    assert (reply["id"], reply["error"]["code"]) == (3, -32600)
    assert [str(error) for error in errors] == ["Invalid Request: member 'jsonrpc' must be \"2.0\""]
    await server.close()


async def test_what_has_no_json_is_refused_at_once() -> None:
    """It is the caller's mistake, not a peer's."""
    with pytest.raises(LocalProtocolError, match="plain JSON"):
        Host().transport.receive({"id": object()})


async def test_an_async_callback_is_refused() -> None:
    """Nobody would await it, and each message would vanish."""

    async def send(_: object) -> None: ...

    with pytest.raises(ConfigError, match="plain function"):
        SdkMcpTransport(send)


async def test_an_object_that_was_changed_is_what_it_was_changed_to() -> None:
    """The bytes it came from are used only while they say the same."""
    message = PlainMessage(b'{"jsonrpc":"2.0","method":"x","params":{"a":1e2}}')
    seen: list[Any] = []
    transport = SdkMcpTransport(print)
    transport.callbacks.on_message = seen.append
    await transport.start()

    transport.receive(message)
    message["params"] = {"a": 2}
    transport.receive(message)
    await asyncio.sleep(0)

    assert [each.params for each in seen] == [b'{"a":1e2}', b'{"a":2}']


async def test_a_client_can_use_it_as_well() -> None:
    """Two of them back to back are a wire between a client and a server."""
    server = doubler()
    with pair() as (one, other):
        server.accept(other)
        async with connect(one) as client:
            result = await client.call_tool("double", {"number": 4})
    assert result.text == "8"
    await server.close()


async def test_a_call_from_another_thread_is_refused_and_harms_nothing() -> None:
    """Whatever it was: a message, something that is none, a batch."""
    host, server = Host(), doubler()
    server.accept(host.transport)
    ping: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    host.transport.on_message(ping)
    assert (await host.receive())["id"] == 1

    for said in (ping, {}, [ping]):
        with pytest.raises(LocalProtocolError, match=r"on its event loop.*call_soon_threadsafe"):
            await asyncio.to_thread(host.transport.on_message, said)
    host.transport.on_message({**ping, "id": 2})

    assert (await host.receive())["id"] == 2
    assert host.got == []
    await server.close()


async def test_a_transport_belongs_to_the_loop_that_started_it() -> None:
    """The loop of another thread is another one; one that is gone holds nobody up."""
    host, server = Host(), doubler()
    server.accept(host.transport)
    ping: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    host.transport.on_message(ping)
    await host.receive()

    async def meddle() -> None:
        with pytest.raises(LocalProtocolError, match="on its event loop"):
            host.transport.on_message(ping)
        with pytest.raises(LocalProtocolError, match="on its event loop"):
            await host.transport.close()

    await asyncio.to_thread(asyncio.run, meddle())
    host.transport.on_message({**ping, "id": 2})
    assert (await host.receive())["id"] == 2
    await server.close()
    other = SdkMcpTransport(host.take)
    await asyncio.to_thread(asyncio.run, other.start())
    await other.close()


def test_what_comes_before_the_start_needs_no_loop() -> None:
    """It waits; what is no message has nobody to be told to."""
    got: list[Any] = []
    transport = SdkMcpTransport(got.append)
    transport.on_message({"jsonrpc": "2.0", "id": 1, "method": "ping"})
    with pytest.raises(LocalProtocolError, match="on its event loop"):
        transport.on_message({})

    async def serve() -> None:
        heard = asyncio.Event()
        transport.callbacks.on_message = lambda _: heard.set()
        await transport.start()
        async with asyncio.timeout(10):
            await heard.wait()
        await transport.close()

    asyncio.run(serve())
