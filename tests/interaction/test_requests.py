"""What every JSON-RPC server owes its client, whatever the method."""

from __future__ import annotations

from typing import Any

import pytest

from anywire import Context, Server
from anywire.testing import scripted_peer
from anywire.wire.framing import Framing
from tests.interaction.talk import (
    Gate,
    error,
    framed,
    in_each_revision,
    over_each_raw_wire,
    over_each_wire,
    result,
    talk,
    text,
)

NULL_ID_REVISIONS = ("2024-11-05", "2025-03-26", "2025-06-18")

IDS = [
    "1",
    "0",
    "-1",
    "9007199254740993",
    "123456789012345678901234567890",
    "1.0",
    "1e2",
    '""',
    '"0"',
    '"ebf9-0"',
    '"' + "x" * 64 + '"',
    r'"\u0061"',
    '"é😀"',
]


@over_each_wire
@in_each_revision
async def test_ping_is_answered_before_and_after_the_handshake(wire: str, revision: str) -> None:
    """An empty result, at any time."""
    async with talk(Server("s"), wire) as peer:
        await peer.ask(1, "ping")
        await peer.expect(result(1, {}))
        await peer.initialize(revision)
        await peer.ask(2, "ping", {})
        await peer.expect(result(2, {}))


@over_each_wire
async def test_an_unknown_method_is_not_found(wire: str) -> None:
    """The error has the id and names the method; the next request works."""
    async with talk(Server("s"), wire) as peer:
        await peer.ask("a", "foo/bar", {"x": 1})
        await peer.ask("b", "ping")

        await peer.expect(error("a", -32601, "Method not found: foo/bar"), result("b", {}))


@over_each_wire
@pytest.mark.parametrize(
    "method", ["notifications/initialized", "notifications/unknown", "tools/call", "ping", "x"]
)
async def test_a_notification_is_never_answered(wire: str, method: str) -> None:
    """Known or not, with whatever params: not a byte comes back."""
    async with talk(Server("s"), wire) as peer:
        await peer.notify(method)
        await peer.notify(method, [1])
        await peer.notify(method, {"requestId": 1, "progressToken": 1, "name": "no such"})

        await peer.expect_silence()


@over_each_wire
async def test_a_cancellation_that_means_nothing_is_ignored(wire: str) -> None:
    """Unknown ids, no id, ids that are none, no params."""
    async with talk(Server("s"), wire) as peer:
        odd: list[Any] = [{"requestId": 99}, {"requestId": None}, {"requestId": {"x": 1}}, {}, [], None]
        for params in odd:
            await peer.notify("notifications/cancelled", params)
        await peer.expect_silence()
        await peer.ask(1, "ping")

        await peer.expect(result(1, {}))


@over_each_wire
async def test_a_reply_that_answers_nothing_is_never_answered(wire: str) -> None:
    """Two endpoints must not answer each other for ever."""
    async with talk(Server("s"), wire) as peer:
        await peer.send({"jsonrpc": "2.0", "id": 5, "result": {}})
        await peer.send({"jsonrpc": "2.0", "id": 5, "error": {"code": -1, "message": "no"}})
        await peer.send({"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "no"}})
        await peer.send({"jsonrpc": "2.0", "error": {"code": -32600, "message": "no"}})
        await peer.send(
            [{"jsonrpc": "2.0", "id": 5, "result": {}}, {"jsonrpc": "1.0", "id": 6, "result": {}}]
        )

        await peer.expect_silence()


@over_each_raw_wire
async def test_a_malformed_reply_is_never_answered(wire: str) -> None:
    """Not even when it is no valid message."""
    async with talk(Server("s"), wire) as peer:
        for body in (
            b'{"id":1,"result":{}}',
            b'{"jsonrpc":"2.0","id":null,"result":{}}',
            b'{"jsonrpc":"2.0","result":[1,',
            b'{"jsonrpc":"1.0","id":3,"error":"no"}',
        ):
            await peer.send_bytes(framed(wire, body))

        await peer.expect_silence()


@pytest.mark.parametrize("id", IDS)
@pytest.mark.parametrize("framing", Framing)
async def test_an_id_is_echoed_as_it_was_spelled(id: str, framing: Framing) -> None:
    """Same type, same digits, same escapes; 0 and "" are ids."""
    async with talk(Server("s"), framing.value) as peer:
        await peer.send(f'{{"jsonrpc":"2.0","id":{id},"method":"ping"}}')

        reply = await peer.receive_message()

        spelled = id if framing is Framing.NEWLINE else id.replace("é😀", r"\u00e9\ud83d\ude00")
        assert getattr(reply, "frame", b"").decode() == f'{{"jsonrpc":"2.0","id":{spelled},"result":{{}}}}'


@over_each_wire
@pytest.mark.parametrize("id", [0, "", "0", 1, 1.5])
async def test_a_call_with_an_id_that_seems_empty_is_answered(wire: str, id: object) -> None:
    """Presence of the member counts, not truth."""
    server = Server("s")

    @server.tool
    async def hello() -> str:
        return "hi"

    async with talk(server, wire) as peer:
        await peer.call(id, "hello")

        await peer.expect(text(id, "hi"))


@over_each_wire
async def test_a_second_request_under_an_id_in_flight_is_refused(wire: str) -> None:
    """The first one is not disturbed, and other spellings are other ids."""
    server, gate = Server("s"), Gate()

    @server.tool
    async def wait() -> str:
        await gate.wait()
        return "first"

    async with talk(server, wire) as peer:
        await peer.call(5, "wait")
        await gate.reached.wait()
        await peer.ask(5, "ping")
        await peer.ask("5", "ping")

        await peer.expect(
            error(5, -32600, "Invalid Request: a request with the id 5 is in flight already"),
            result("5", {}),
        )
        gate.open()
        await peer.expect(text(5, "first"))
        await peer.ask(5, "ping")
        await peer.expect(result(5, {}))


@over_each_raw_wire
@in_each_revision
async def test_a_malformed_message_is_answered_and_the_next_works(wire: str, revision: str) -> None:
    """Nothing is known of its id: null where the revision wants one, else left out."""
    async with talk(Server("s"), wire, revision) as peer:
        await peer.send_bytes(
            framed(wire, b"{not json}") + framed(wire, b'{"jsonrpc":"2.0","id":1,"method":"ping"}')
        )

        fault = await peer.receive()

        assert fault["error"]["code"] == -32700
        assert fault["error"]["message"].startswith("Parse error: ")
        if revision in NULL_ID_REVISIONS:
            assert fault["id"] is None
        else:
            assert "id" not in fault
        await peer.expect(result(1, {}))


@over_each_raw_wire
@pytest.mark.parametrize(
    ("body", "id", "code"),
    [
        (b'{"jsonrpc":"2.0","id":7,"method":"ping"', 7, -32700),
        (b'{"jsonrpc":"2.0","id":"x","method":"ping","params":{"a":nul}}', "x", -32700),
        (b'{"jsonrpc":"2.0","id":8}', 8, -32600),
        (b'{"id":9,"method":"ping"}', 9, -32600),
        (b'{"jsonrpc":"1.0","id":10,"method":"ping"}', 10, -32600),
        (b'{"jsonrpc":"2.0","id":11,"method":""}', 11, -32600),
        (b'{"jsonrpc":"2.0","id":12,"method":5}', 12, -32600),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', None, -32600),
        (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', None, -32600),
        (b'{"jsonrpc":"2.0","id":[1],"method":"ping"}', None, -32600),
        (b"17", None, -32600),
        (b'"text"', None, -32600),
        (b"null", None, -32600),
        (b"\xff\xfe", None, -32700),
    ],
)
async def test_a_fault_is_answered_under_the_id_that_could_be_read(
    wire: str, body: bytes, id: object, code: int
) -> None:
    """The caller of the bad message hears of it, and the code tells JSON from message."""
    async with talk(Server("s"), wire) as peer:
        await peer.send_bytes(framed(wire, body))

        reply = await peer.receive()

        assert (reply["id"], reply["error"]["code"]) == (id, code)
        await peer.expect_silence()


@pytest.mark.parametrize("framing", Framing)
async def test_a_message_cut_anywhere_is_put_together(framing: Framing) -> None:
    """Byte by byte, so that characters are cut as well."""
    server = Server("s")

    @server.tool
    async def echo(word: str) -> str:
        return word

    body = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"word":"Zoë 😀"}}}'
    async with talk(server, framing.value) as peer:
        for byte in framed(framing.value, body.encode()):
            await peer.send_bytes(bytes([byte]))

        await peer.expect(text(1, "Zoë 😀"))


async def test_blank_lines_and_marks_are_skipped() -> None:
    """CRLF, empty lines and a byte order mark cost nothing and are answered by nothing."""
    async with talk(Server("s"), "newline") as peer:
        await peer.send_bytes(b'\xef\xbb\xbf{"jsonrpc":"2.0","id":1,"method":"ping"}\r\n\r\n \t\n\n')
        await peer.send_bytes(b'{"jsonrpc":"2.0","id":2,"method":"ping"}\r\n')

        await peer.expect(result(1, {}), result(2, {}))
        await peer.expect_silence()


async def test_a_last_line_without_its_end_counts() -> None:
    """A whole object at the end of input is a message."""
    async with talk(Server("s"), "newline") as peer:
        await peer.send_bytes(b'{"jsonrpc":"2.0","id":1,"method":"ping"}')
        peer.end()

        await peer.expect(result(1, {}))
        await peer.expect_end()


async def test_a_change_of_framing_is_answered_and_changes_nothing() -> None:
    """One header in a stream of lines is a fault; the lines go on."""
    peer, transport = scripted_peer()
    server = Server("s")
    server.accept(transport)
    async with peer:
        await peer.ask(1, "ping")
        await peer.expect(result(1, {}))
        await peer.send_bytes(b'Content-Length: 40\r\n\r\n{"jsonrpc":"2.0","id":2,"method":"ping"}\n')

        assert (await peer.receive())["error"]["code"] == -32700
        await peer.expect(result(2, {}))


@over_each_wire
async def test_a_fault_of_the_server_itself_costs_one_request(wire: str) -> None:
    """Here a list that cannot be written: an internal error with the id, and the next request works."""
    server = Server("s")

    @server.tool(annotations={"unwritable": object()})
    async def odd() -> str:
        return "works"

    async with talk(server, wire) as peer:
        await peer.ask("a", "tools/list")
        await peer.call("b", "odd")

        await peer.expect(error("a", -32603, "Internal error in tools/list"), text("b", "works"))


@over_each_wire
async def test_a_handler_can_look_at_its_request(wire: str) -> None:
    """The raw id and the raw `_meta`."""
    server = Server("s")

    @server.tool
    async def look(ctx: Context) -> str:
        return f"{ctx.request_id.decode()} {ctx.meta.decode()}"

    async with talk(server, wire) as peer:
        await peer.call("a", "look")
        await peer.expect(text("a", '"a" {}'))
        await peer.send(
            '{"jsonrpc":"2.0","id":1.0,"method":"tools/call","params":{"name":"look","_meta":{"x/y":[1.0]}}}'
        )
        await peer.expect(text(1.0, '1.0 {"x/y":[1.0]}'))


@over_each_wire
async def test_more_requests_than_the_limit_are_refused(wire: str) -> None:
    """One more than may be in flight is answered with an error at once; the others go on."""
    from anywire.wire.limits import DEFAULT_LIMITS

    limits = DEFAULT_LIMITS.replace(requests_in_flight=3)
    server, gate = Server("s", limits=limits), Gate()

    @server.tool
    async def wait() -> str:
        await gate.wait()
        return "done"

    async with talk(server, wire) as peer:
        for id in range(4):
            await peer.call(id, "wait")

        await peer.expect(error(3, -32603, "more than 3 requests are unanswered; wait for some of them"))
        gate.open()
        replies = await peer.receive_many(3)
        assert sorted(reply["id"] for reply in replies) == [0, 1, 2]
