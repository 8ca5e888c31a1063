"""The wire with several streams behaves as HTTP will."""

from __future__ import annotations

import asyncio

import pytest

from anywire.errors import ConnectFailed, LimitExceeded
from anywire.testing import ScriptedPeer, StreamsListener, streams_pair
from anywire.testing.streams import BACKLOG, StreamsClient, StreamsServer
from anywire.transport.contract import Transport
from anywire.wire.limits import DEFAULT_LIMITS
from anywire.wire.message import (
    Batch,
    Message,
    create_error_response,
    create_notification,
    create_request,
    create_response,
)


class Ends:
    """Two started ends and what came in at each."""

    def __init__(self, *, general: bool = True) -> None:
        self.client, self.server = streams_pair(general=general)
        self.at_client: list[Message | Batch] = []
        self.at_server: list[Message | Batch] = []
        self.errors: list[object] = []
        self.client.callbacks.on_message = self.at_client.append
        self.server.callbacks.on_message = self.at_server.append
        self.server.callbacks.on_error = self.errors.append

    async def start(self) -> None:
        await self.client.start()
        await self.server.start()

    async def close(self) -> None:
        await self.client.close()
        await self.server.close()


async def turn() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


def streams_of(client: StreamsClient, *messages: Message) -> list[str | None]:
    return [client.stream_of(message) for message in messages]


async def test_each_request_has_a_stream_that_ends_with_its_reply() -> None:
    """What is related goes there before it; afterwards there is only the general one."""
    ends = Ends()
    await ends.start()
    asked = [create_request(1, "a"), create_request("1", "b")]
    for request in asked:
        ends.client.post(request)
    await turn()
    assert ends.server.open_streams == 2
    related, late = create_notification("related"), create_notification("late")
    reply, failure = create_response(1, "a"), create_error_response("1", -1, "b")
    ends.server.post(related, b"1")
    ends.server.post(reply, b"1")
    ends.server.post(late, b"1")
    ends.server.post(failure, b'"1"')
    await turn()

    assert streams_of(ends.client, asked[0], related, reply) == ["stream 1"] * 3
    assert streams_of(ends.client, asked[1], failure) == ["stream 2"] * 2
    assert streams_of(ends.client, late) == ["general"]
    assert ends.server.open_streams == 0
    assert len(ends.at_client) == 4
    await ends.close()


async def test_two_spellings_of_an_id_are_one_request() -> None:
    """The decoded id counts."""
    ends = Ends()
    await ends.start()
    ends.client.post(create_request("a", "x"))
    await turn()
    note = create_notification("related")
    ends.server.post(note, rb'"\u0061"')

    assert ends.client.stream_of(note) == "stream 1"
    await ends.close()


async def test_a_second_request_of_one_id_has_a_stream_of_its_own() -> None:
    """Its refusal goes there, and the first one's reply to the first."""
    ends = Ends()
    await ends.start()
    ends.client.post(create_request(1, "first"))
    await turn()
    ends.client.post(create_request(1, "second"))
    await turn()
    refusal, reply = create_error_response(1, -32600, "taken"), create_response(1, "first")
    ends.server.post(refusal, b"1")
    ends.server.post(reply, b"1")

    assert streams_of(ends.client, refusal, reply) == ["stream 2", "stream 1"]
    assert ends.server.open_streams == 0
    await ends.close()


async def test_a_batch_has_one_stream_that_ends_with_its_last_reply() -> None:
    """Whether the replies come together or one by one."""
    ends = Ends()
    await ends.start()
    ends.client.post(Batch((create_request(1, "a"), create_notification("n"), create_request(2, "b"))))
    await turn()
    assert ends.server.open_streams == 2
    ends.server.post(create_response(1, "a"), b"1")
    assert ends.server.open_streams == 1
    last = create_response(2, "b")
    ends.server.post(Batch((last,)), b"2")

    assert ends.server.open_streams == 0
    assert [name for name, _ in ends.client.log] == ["stream 1"] * 3
    await ends.close()


async def test_what_waits_for_a_general_stream_comes_when_there_is_one() -> None:
    """In order; what is related does not wait for it."""
    ends = Ends(general=False)
    await ends.start()
    ends.client.post(create_request(1, "a"))
    await turn()
    notes: list[Message] = [create_notification("note", number) for number in range(3)]
    for note in notes:
        await ends.server.send(note)
    reply = create_response(1, "a")
    ends.server.post(reply, b"1")
    await turn()
    assert ends.at_client == [reply]
    ends.client.open_general()
    ends.client.open_general()
    await turn()

    assert ends.at_client == [reply, *notes]
    await ends.close()


async def test_too_much_that_waits_costs_the_oldest_and_is_told() -> None:
    """Memory is bounded though nobody fetches."""
    ends = Ends(general=False)
    await ends.start()
    for number in range(BACKLOG + 2):
        ends.server.post(create_notification("note", number))
    assert len(ends.errors) == 2
    assert isinstance(ends.errors[0], LimitExceeded)
    ends.client.open_general()
    await turn()

    assert ends.at_client == [create_notification("note", number) for number in range(2, BACKLOG + 2)]
    await ends.close()


async def test_a_dropped_stream_loses_its_own_messages_only() -> None:
    """The others go on, and the server learns nothing."""
    ends = Ends()
    await ends.start()
    for id in (1, 2):
        ends.client.post(create_request(id, "a"))
    await turn()
    ends.server.post(create_notification("related", 1), b"1")
    ends.client.drop(b"1")
    ends.client.drop(b"99")
    await ends.server.send(create_notification("related", 2), b"1")
    ends.server.post(create_response(1, "a"), b"1")
    reply = create_response(2, "a")
    ends.server.post(reply, b"2")
    await turn()

    assert ends.at_client == [reply]
    await ends.close()


async def test_a_sender_waits_for_room_in_its_own_stream() -> None:
    """Another stream has room; dropping one lets its sender go."""
    client, server = streams_pair(DEFAULT_LIMITS.replace(requests_in_flight=2))
    await server.start()
    for id in (1, 2):
        client.post(create_request(id, "a"))
    await turn()
    note = create_notification("related")
    waiting = [asyncio.ensure_future(server.send(note, b"1")) for _ in range(3)]
    await turn()
    assert [each.done() for each in waiting] == [True, True, False]
    await server.send(note, b"2")
    client.drop(b"1")
    await asyncio.wait_for(waiting[2], 20)
    await server.close()
    await client.close()


async def test_a_client_that_asks_nothing_more_still_gets_its_answers() -> None:
    """The end of its requests is not the end of its streams."""
    client, server = streams_pair()
    async with ScriptedPeer(client) as one, ScriptedPeer(server) as other:
        await one.ask(1, "a")
        one.end()
        await other.receive()
        await other.expect_end()
        await other.send({"jsonrpc": "2.0", "id": 1, "result": {}})
        await one.expect({"jsonrpc": "2.0", "id": 1, "result": {}})


async def test_a_listener_accepts_while_it_is_served() -> None:
    """With or without a general stream."""
    listener = StreamsListener()
    accepted: list[Transport] = []
    with pytest.raises(ConnectFailed):
        listener.connect()
    serving = asyncio.ensure_future(listener.serve(accepted.append))
    await turn()
    clients = [listener.connect(), listener.connect(general=False)]
    await listener.close()
    await serving

    assert len(accepted) == 2
    assert all(isinstance(each, StreamsServer) and each.closed for each in accepted)
    with pytest.raises(ConnectFailed):
        listener.connect()
    for client in clients:
        await client.close()
