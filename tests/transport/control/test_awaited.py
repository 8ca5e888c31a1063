"""Which `mcp_message` a reply is led back to, and which are waited for no more."""

from __future__ import annotations

from anywire.testing.line_wire import line_pair
from anywire.transport.control.awaited import AwaitedReplies
from anywire.transport.control.link import ControlLink
from anywire.wire.limits import DEFAULT_LIMITS
from anywire.wire.message import Batch, create_request, create_response
from tests.transport.control.talk import OtherSide


async def test_what_is_taken_back_is_all_of_its_message_and_nothing_else() -> None:
    """Also where several messages came under one id; what has its reply is not in flight any more."""
    host, sdk = line_pair()
    link = ControlLink(sdk, "sdk-", DEFAULT_LIMITS)
    async with OtherSide(host) as other:
        await link.start()
        replies = AwaitedReplies(link)
        for control_id, number in ((b'"a"', 1), (b'"b"', 2), (b'"a"', 3), (b'"c"', 4)):
            replies.expect(control_id, create_request(number, "x"))
            replies.delivered()
        batch = Batch(tuple(create_request(number, "x") for number in (5, 6, 7)))
        assert replies.expect_batch(b'"d"', batch)
        replies.delivered()
        assert replies.take(create_response(1, {})) is None
        assert replies.take(create_response(6, {})) is None

        assert replies.withdraw(b'"a"') == [b"3"]
        assert replies.withdraw(b'"d"') == [b"5", b"7"]
        assert replies.withdraw(b'"a"') == replies.withdraw(b'"d"') == []
        assert len(replies) == 2
        for number in (3, 5, 2, 4):  # those that were taken back are answered in vain
            assert replies.take(create_response(number, {})) is None
        assert len(replies) == 0
        for control_id, number in (("a", 1), ("b", 2), ("c", 4)):
            assert (await other.hear_reply(control_id))["id"] == number
        await other.hear_nothing()
        await sdk.close()


async def test_many_requests_are_taken_back_in_any_order() -> None:
    """Each by itself, without a look at the others."""
    _, sdk = line_pair()
    replies = AwaitedReplies(ControlLink(sdk, "sdk-", DEFAULT_LIMITS))
    numbers = range(10_000)
    for number in numbers:
        replies.expect(b"%d" % number, create_request(number, "x"))
        replies.delivered()
    assert [replies.withdraw(b"%d" % number) for number in reversed(numbers)] == [
        [b"%d" % number] for number in reversed(numbers)
    ]
