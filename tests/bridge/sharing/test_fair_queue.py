"""What waits for a server that several clients share, and who goes next."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from anywire.bridge.sharing.fair_queue import FairQueue, size_of
from anywire.wire.message import Notification, Request


def request(id: str) -> Request:
    """A request of that id."""
    return Request(id.encode(), "x")


def drain(queue: FairQueue) -> list[str]:
    """The ids of the requests that are in it, in the order in which they leave."""
    got: list[str] = []
    while (item := queue.take()) is not None:
        assert isinstance(item[1], Request)
        got.append(item[1].id.decode())
    return got


def test_clients_take_turns_and_keep_their_own_order() -> None:
    """Who said a lot does not keep the others waiting."""
    queue = FairQueue()
    for id in ("a1", "a2", "a3", "a4"):
        queue.put(1, request(id))
    for id in ("b1", "b2"):
        queue.put(2, request(id))
    assert drain(queue) == ["a1", "b1", "a2", "b2", "a3", "a4"]
    assert not queue


def test_what_concerns_others_keeps_one_order_for_all() -> None:
    """It does not overtake, and is not overtaken, between clients or within one."""
    queue = FairQueue()
    for id in ("a1", "a2"):
        queue.put(1, request(id))
    queue.put(1, request("A"), ordered=True)
    queue.put(2, request("B"), ordered=True)
    queue.put(2, request("b1"))
    queue.put(3, request("c1"))
    assert drain(queue) == ["a1", "c1", "a2", "A", "B", "b1"]


def test_a_request_that_is_taken_back_is_gone_at_once() -> None:
    """What it took is free again; what was sent already cannot be taken back."""
    queue = FairQueue()
    queue.put(1, request("1"))
    queue.put(1, request("2"))
    queue.put(2, request("3"))
    assert queue.withdraw(b"2")
    assert not queue.withdraw(b"2")
    assert queue.size_of(1) == size_of(request("1"))
    assert queue.withdraw(b"3")
    assert drain(queue) == ["1"]
    assert not queue.withdraw(b"1")
    assert queue.size == queue.size_of(1) == 0


def test_what_a_client_told_can_be_forgotten_but_for_what_concerns_others() -> None:
    """The order of the rest stays."""
    queue = FairQueue()
    queue.put(1, Notification("x"))
    queue.put(1, request("A"), ordered=True)
    queue.put(1, Notification("x"))
    queue.put(2, request("B"), ordered=True)
    queue.forget(1)
    queue.forget(3)
    assert drain(queue) == ["A", "B"]


steps = st.lists(
    st.tuples(st.sampled_from(("put", "put", "ordered", "take", "withdraw", "forget")), st.integers(0, 4))
)


@given(steps)
def test_nothing_is_lost_or_overtaken_whatever_happens(story: list[tuple[str, int]]) -> None:
    """Each message leaves once; those of a client, and those of the one order, as they came."""
    queue = FairQueue()
    waiting: list[tuple[int, int, bool]] = []  # number, client, ordered

    def take() -> None:
        item = queue.take()
        assert (item is None) == (not waiting)
        if item is not None:
            key, message = item
            assert isinstance(message, Request)
            found = next(each for each in waiting if each[0] == int(message.id))
            before = waiting[: waiting.index(found)]
            assert found[1] == key
            assert not [each for each in before if each[1] == key or (each[2] and found[2])]
            waiting.remove(found)

    for number, (what, client) in enumerate(story):
        match what:
            case "take":
                take()
            case "withdraw" if waiting:
                chosen = waiting[client % len(waiting)]
                assert queue.withdraw(b"%d" % chosen[0]) == (not chosen[2])
                if not chosen[2]:
                    waiting.remove(chosen)
            case "forget":
                queue.forget(client)
                waiting[:] = [each for each in waiting if each[1] != client or each[2]]
            case "put" | "ordered":
                queue.put(client, request(str(number)), ordered=what == "ordered")
                waiting.append((number, client, what == "ordered"))
            case _:
                pass
        assert queue.size == sum(size_of(request(str(each[0]))) for each in waiting)
    while waiting:
        take()
    assert not queue
