"""What `check_transport` checks: one function for each promise of `anywire.transport.contract`.

Each takes a `Stage` with a pair of transports that have not been started, and fails where the
promise is broken.  What must never happen (a call before the start, from another thread, inside
another call, after the end) is seen by the `Witness` in all of them.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Coroutine
from typing import Any, Final, TypeAlias

from anywire.errors import TransportClosed
from anywire.testing.stage import Stage, turn
from anywire.testing.witness import Witness
from anywire.wire.codec import decode, decode_value, encode
from anywire.wire.message import (
    Batch,
    Message,
    Notification,
    Request,
    create_error_response,
    create_notification,
    create_request,
    create_response,
)

__all__ = ("ALL", "Check")

_LARGE = 5 * 1024 * 1024
_MANY = 10_000
_MIXED = 50
_RALLY = 2_000

#: The sentence that is proved, and the proof.
Check: TypeAlias = tuple[str, Callable[[Stage], Coroutine[Any, Any, None]]]

_End: TypeAlias = Callable[[Stage], Witness]


def _client(stage: Stage) -> Witness:
    return stage.at_client


def _server(stage: Stage) -> Witness:
    return stage.at_server


# Opening.


async def _nothing_before_start(stage: Stage, end: _End) -> None:
    sender, receiver = end(stage), stage.other(end(stage))
    if await stage.start_alone(sender):
        sender.transport.post(create_notification("early"))
        await turn()
        assert not receiver.messages, f"{receiver.name} received a message"
        await stage.within(receiver.start(), "start()")
    else:
        sender.transport.post(create_notification("early"))
    await stage.arrived(receiver, 1)


async def _close_without_start(stage: Stage) -> None:
    await stage.close_both()
    for witness in (stage.at_client, stage.at_server):
        assert witness.transport.closed, f"closed of {witness.name} is False"


# Carrying.


async def _order(stage: Stage) -> None:
    await stage.start()
    asked: list[Message] = []
    for number in range(_MIXED):
        asked += [create_request(number, "ask", {"n": number}), create_notification("tell", [number])]
    await _send_mixed(stage, stage.at_client, [(message, None) for message in asked])
    stage.same(asked, await stage.arrived(stage.at_server, len(asked)), stage.at_server.name)
    answers: list[tuple[Message, bytes | None]] = []
    for number in range(_MIXED):
        id = b"%d" % number
        reply = create_error_response(number, -1, "no") if number % 3 else create_response(number, [number])
        answers += [(create_notification("more", {"of": number}), id), (reply, id)]
        answers.append((create_request(f"s{number}", "ask back"), None))
    await _send_mixed(stage, stage.at_server, answers)
    sent = [message for message, _ in answers]
    stage.same(sent, await stage.arrived(stage.at_client, len(sent)), stage.at_client.name)
    replies: list[Message] = [create_response(f"s{number}", None) for number in range(_MIXED)]
    await _send_mixed(stage, stage.at_client, [(reply, None) for reply in replies])
    stage.same(replies, await stage.arrived(stage.at_server, len(replies)), stage.at_server.name)


async def _send_mixed(stage: Stage, sender: Witness, messages: list[tuple[Message, bytes | None]]) -> None:
    """Send by `post`, and now and then by `send`: there is one order for both."""
    for index, (message, related) in enumerate(messages):
        if index % 7 == 6:
            await stage.send(sender, message, related)
        else:
            sender.transport.post(message, related)


async def _many(stage: Stage) -> None:
    await stage.start()
    sent: list[Message] = [create_notification("many", number) for number in range(_MANY)]

    async def flood(sender: Witness) -> None:
        for message in sent:
            await sender.transport.send(message)

    both = asyncio.gather(flood(stage.at_client), flood(stage.at_server))
    await stage.within(both, f"sending {_MANY} messages each way")
    for witness in (stage.at_client, stage.at_server):
        received = await stage.arrived(witness, _MANY)
        assert received == sent, f"they came in at {witness.name} in another order"


async def _large(stage: Stage, end: _End) -> None:
    sender, receiver = end(stage), stage.other(end(stage))
    await stage.start()
    sent: list[Message] = [create_notification("large", "x" * _LARGE), create_notification("small")]
    for message in sent:
        await stage.send(sender, message)
    received = await stage.arrived(receiver, len(sent))
    assert received == sent, f"it came in at {receiver.name} in another shape"


async def _bytes_kept(stage: Stage, end: _End) -> None:
    sender, receiver = end(stage), stage.other(end(stage))
    await stage.start()
    odd = (
        b'{"x":[ 1 ],"params": {"b":1.0,"a":12345678901234567890123,"s":"\\u00e9\\/"}, '
        b'"method":"odd","jsonrpc":"2.0"}'
    )
    message = decode(odd)
    assert isinstance(message, Notification)
    await stage.send(sender, message)
    (received,) = await stage.arrived(receiver, 1)
    assert encode(received) == odd, f"{odd!r} came in as {encode(received)!r}"


async def _text_kept(stage: Stage, end: _End) -> None:
    sender, receiver = end(stage), stage.other(end(stage))
    await stage.start()
    text = "Zoë \u2028 \x85 \r\n 漢字 😀"
    await stage.send(sender, create_notification("text", text))
    (received,) = await stage.arrived(receiver, 1)
    got = decode_value(getattr(received, "params", b""), str)
    assert got == text, f"{text!r} came in as {got!r}"


async def _batch(stage: Stage) -> None:
    await stage.start()
    asked: list[Message] = [create_request(1, "a"), create_notification("b"), create_request(2, "c")]
    await stage.send(stage.at_client, Batch(tuple(asked)))
    received = await stage.arrived(stage.at_server, len(asked))
    assert received == asked, f"{asked} came in as {received}"
    replies: list[Message] = [create_response(2, "c"), create_response(1, "a")]
    await stage.send(stage.at_server, Batch(tuple(replies)), b"2")
    received = await stage.arrived(stage.at_client, len(replies))
    assert received == replies, f"{replies} came in as {received}"


async def _related(stage: Stage) -> None:
    await stage.start()
    client, server = stage.at_client.transport, stage.at_server.transport
    one, two = create_request(1, "one"), create_request("1", "two")
    client.post(one)
    client.post(two)
    await stage.arrived(stage.at_server, 2)
    note_one, note_two = create_notification("note", "of one"), create_notification("note", "of two")
    general, stray = create_notification("note", "of none"), create_notification("note", "of an unknown one")
    reply_one, reply_two = create_response(1, "one"), create_response("1", "two")
    server.post(note_two, two.id)
    server.post(note_one, one.id)
    server.post(general)
    server.post(stray, b"99")
    server.post(reply_two, two.id)
    server.post(reply_one, one.id)
    server.post(create_notification("note", "of one, late"), one.id)
    received = await stage.arrived(stage.at_client, 6)
    for message in (note_one, note_two, general, reply_one, reply_two):
        assert message in received, f"{message} did not come in"
    if stage.stream_of is not None:
        _routed(stage.stream_of, one, note_one, reply_one)
        _routed(stage.stream_of, two, note_two, reply_two)
        streams = {stage.stream_of(message) for message in (one, two, general)}
        assert len(streams) == 3, f"two requests and a message of none share streams: {streams}"


def _routed(stream_of: Callable[[Message], object], request: Request, *messages: Message) -> None:
    expected = stream_of(request)
    for message in messages:
        found = stream_of(message)
        assert found == expected, f"{message} went on {found}, not on {expected}, the stream of its request"


async def _send_from_callback(stage: Stage) -> None:
    """A rally of two ends that answer each message from within their callbacks."""
    await stage.start()
    rally = create_notification("rally")

    def hit_back(witness: Witness) -> None:
        if len(witness.messages) < _RALLY and not witness.broken:
            witness.transport.post(rally)

    stage.at_client.react = lambda _: hit_back(stage.at_client)
    stage.at_server.react = lambda _: hit_back(stage.at_server)
    stage.at_client.transport.post(rally)
    await stage.arrived(stage.at_server, _RALLY)


async def _raising_callback(stage: Stage, end: _End) -> None:
    sender, receiver = end(stage), stage.other(end(stage))
    await stage.start()
    loop = asyncio.get_running_loop()
    seen: list[BaseException | None] = []
    before = loop.get_exception_handler()
    loop.set_exception_handler(lambda _, context: seen.append(context.get("exception")))
    try:
        receiver.fault = ValueError("raised by a callback")
        for number in range(3):
            sender.transport.post(create_notification("next", number))
        await stage.arrived(receiver, 3)
        await stage.close(receiver)
    finally:
        loop.set_exception_handler(before)
    assert receiver.fault in seen, f"the loop's exception handler got {seen}"
    assert len(seen) >= 4, f"the loop's exception handler was called {len(seen)} times for 4 callbacks"


# Closing.


async def _sent_before_close(stage: Stage, end: _End) -> None:
    sender, receiver = end(stage), stage.other(end(stage))
    await stage.start()
    sent: list[Message] = [create_notification("last", number) for number in range(100)]
    sent.append(create_notification("last", "x" * 300_000))

    async def post_and_close() -> None:
        for message in sent:
            sender.transport.post(message)
        await sender.transport.close()

    await stage.within(post_and_close(), f"close() of {sender.name}")
    received = await stage.arrived(receiver, len(sent))
    assert received == sent, f"they came in at {receiver.name} in another order"
    await stage.heard_the_end(receiver)


async def _close_again(stage: Stage, end: _End) -> None:
    witness = end(stage)
    await stage.start()
    first = asyncio.ensure_future(witness.transport.close())
    await asyncio.sleep(0)
    assert witness.transport.closed, f"closed of {witness.name} is False while close() runs"

    async def close_and_see() -> None:
        await witness.transport.close()
        assert witness.closes == 1, f"close() of {witness.name} returned before on_close was called"

    closers = asyncio.gather(first, *(close_and_see() for _ in range(3)))
    await stage.within(closers, "closing from four tasks")
    await stage.within(close_and_see(), "closing again")
    await turn()
    assert witness.closes == 1, f"on_close of {witness.name} was called {witness.closes} times"


async def _closer_cancelled(stage: Stage, end: _End) -> None:
    witness = end(stage)
    waiting = await _fill(stage, witness) if await stage.start_alone(witness) else None
    first = asyncio.ensure_future(witness.transport.close())
    await asyncio.sleep(0)
    first.cancel()
    await stage.within(asyncio.wait([first]), "a cancelled close()")
    await stage.close(witness)
    assert witness.closes == 1, f"on_close of {witness.name} was called {witness.closes} times, not once"
    if waiting is not None:
        waiting.cancel()


async def _send_after_close(stage: Stage, end: _End) -> None:
    witness = end(stage)
    await stage.start()
    await stage.close(witness)
    message = create_notification("late")
    try:
        witness.transport.post(message)
    except TransportClosed:
        pass
    else:
        raise AssertionError(f"post() of {witness.name} raised nothing")
    try:
        await stage.send(witness, message)
    except TransportClosed:
        return
    raise AssertionError(f"send() of {witness.name} raised nothing")


async def _close_from_callback(stage: Stage, end: _End) -> None:
    sender, receiver = end(stage), stage.other(end(stage))
    await stage.start()
    closing: list[asyncio.Future[None]] = []

    def close(_: object) -> None:
        if not closing:
            closing.append(_start_now(receiver.transport.close()))

    receiver.react = close
    for number in range(100):
        sender.transport.post(create_notification("next", number))
    await stage.within(receiver.until(lambda: receiver.closes > 0), f"closing {receiver.name}")
    await stage.within(closing[0], f"close() of {receiver.name}")
    await turn()


def _start_now(coroutine: Coroutine[Any, Any, None]) -> asyncio.Future[None]:
    """Start a task, at once where Python can: inside the callback."""
    if sys.version_info >= (3, 12):
        return asyncio.Task(coroutine, loop=asyncio.get_running_loop(), eager_start=True)
    return asyncio.ensure_future(coroutine)


async def _closed_while_full(stage: Stage, end: _End) -> None:
    """The other end does not read, and the wire is as full as it gets."""
    witness = end(stage)
    if not await stage.start_alone(witness):
        return
    waiting = await _fill(stage, witness)
    await stage.close(witness)
    if waiting is not None:
        await stage.within(asyncio.wait([waiting]), f"a send() of {witness.name} that waited for room")
        error = waiting.exception()
        assert error is None or isinstance(error, TransportClosed), f"a waiting send() raised {error!r}"


async def _fill(stage: Stage, witness: Witness) -> asyncio.Future[None] | None:
    """Send until a sender waits for room, and return it; None when the wire has room for 16 MiB."""
    message = create_notification("fill", "x" * 1024 * 1024)
    for _ in range(16):
        sending = asyncio.ensure_future(witness.transport.send(message))
        await turn()
        if not sending.done():
            return sending
        sending.result()
    return None


def _each_end(promise: str, check: Callable[[Stage, _End], Coroutine[Any, Any, None]]) -> tuple[Check, ...]:
    return (promise, lambda stage: check(stage, _client)), (promise, lambda stage: check(stage, _server))


#: All checks, in the order in which a broken transport is best understood.
ALL: Final[tuple[Check, ...]] = (
    *_each_end("nothing is received before start()", _nothing_before_start),
    ("close() works before start()", _close_without_start),
    ("messages go out in the order of the calls", _order),
    ("a batch arrives whole", _batch),
    *_each_end("a large message arrives whole", _large),
    *_each_end("a message that was read goes on as the bytes it was", _bytes_kept),
    *_each_end("text of any alphabet arrives as it was", _text_kept),
    ("thousands of messages arrive in order while both ends send", _many),
    ("a related message goes on the stream of its request", _related),
    ("a callback may send, and is not called inside another", _send_from_callback),
    *_each_end("a callback that raises does not stop the transport", _raising_callback),
    *_each_end("what was sent before close() arrives, then the end", _sent_before_close),
    *_each_end("close() is idempotent and callable from any task", _close_again),
    *_each_end("send() and post() raise TransportClosed after the end", _send_after_close),
    *_each_end("close() in a callback is the end of callbacks", _close_from_callback),
    *_each_end("close() is bounded and lets waiting senders go", _closed_while_full),
    *_each_end("close() ends what a cancelled close() began", _closer_cancelled),
)
