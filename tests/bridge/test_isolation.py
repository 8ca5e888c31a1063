"""Two clients at one face of a bridge, over each way to the server: neither learns of the other, nor can touch it.

They use the same ids and the same tokens for everything, on purpose.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.bridge.guests import LOG, PROGRESS, UPDATED, Guest, HandshakeGuest, House, Way, house

WAYS = [
    Way(face, era, shared)
    for face in ("session", "events", "posts")
    for era in ("legacy", "modern")
    for shared in (False, True)
]
each_way = pytest.mark.parametrize("way", WAYS, ids=str)


async def two(here: House) -> tuple[Guest, Guest]:
    """Two guests."""
    return await here.guest("ada"), await here.guest("bob")


@each_way
@pytest.mark.parametrize(("one", "other"), [(1, 1), ("1", 1)], ids=["same", "alike"])
async def test_replies_and_progress_come_to_who_asked(way: Way, one: object, other: object) -> None:
    """Both calls are under way at the same time, and are told of by the same token."""
    async with house(way) as here:
        ada, bob = await two(here)
        await ada.calls(one, "stay", token=other)
        await bob.calls(other, "stay", token=one)
        assert (await ada.text(one), await bob.text(other)) == ("ada", "bob")
        for guest, token in ((ada, other), (bob, one)):
            await guest.nothing_more()
            assert [each["message"] for each in guest.all_told(PROGRESS)] == [guest.name] * 2
            assert [each["progressToken"] for each in guest.all_told(PROGRESS)] == [token] * 2
            assert [each["id"] for each in guest.heard if "method" not in each][:-1] == [
                one if guest is ada else other
            ]


@each_way
async def test_logs_come_to_who_asked_for_them(way: Way) -> None:
    """One client wants all of them, the other only the grave ones."""
    async with house(way) as here:
        ada, bob = await two(here)
        here.inn.waiting.append("somebody")  # so that nobody waits for a second guest
        await ada.wants_logs("debug")
        await bob.wants_logs("error")
        for guest in (bob, ada, bob):
            await guest.calls(1, "stay", token="t")
            assert await guest.text(1) == guest.name
        for guest in (ada, bob):
            await guest.nothing_more()
        assert [each["data"] for each in ada.all_told(LOG)] == ["ada"]
        assert bob.all_told(LOG) == []


@each_way
async def test_what_a_server_asks_reaches_who_called(way: Way) -> None:
    """And the answers are not mixed up, in whichever order they come."""
    async with house(way) as here:
        ada, bob = await two(here)
        for guest in (ada, bob):  # and now it is known that the server asks
            await guest.calls(1, "book")
            last = await guest.answers(1, await guest.is_asked(1), f"{guest.name} herself")
            assert await guest.text(last) == f"{guest.name} is {guest.name} herself"
        if way.asks_one_at_a_time:
            return
        for guest in (ada, bob):
            await guest.calls(1, "book")
        asked = [(guest, await guest.is_asked(1)) for guest in (ada, bob)]
        for guest, question in reversed(asked):
            last = await guest.answers(1, question, f"{guest.name} herself")
            assert await guest.text(last) == f"{guest.name} is {guest.name} herself"


@each_way
async def test_nobody_answers_for_another(way: Way) -> None:
    """Whatever id, or state, it makes up or has heard of elsewhere."""
    async with house(way) as here:
        ada, bob = await two(here)
        await bob.calls(1, "book")
        question = await bob.is_asked(1)
        await _answers_everything(ada, question)
        last = await bob.answers(1, question, "bob himself")
        assert await bob.text(last) == "bob is bob himself"


async def _answers_everything(guest: Guest, question: Any) -> None:
    if isinstance(guest, HandshakeGuest):
        for id in (question["id"], *range(20), *map(str, range(20))):
            await guest.answers(1, {"id": id}, "mallory")
        return
    for state in ("", "0", "1", question["requestState"][:-1], question["requestState"][::-1]):
        last = await guest.answers(1, {**question, "requestState": state}, "mallory")
        assert "is mallory" not in str(await guest.reply(last))


@each_way
async def test_changes_are_told_to_who_follows_them(way: Way) -> None:
    """By subscriptions of the same id; what one ends goes on for the other."""
    async with house(way) as here:
        ada, bob = await two(here)
        for guest in (ada, bob):
            await guest.follows(5, guest.name)
            await guest.follows(6, "hall")
        await ada.calls(1, "change", {"rooms": ["ada", "bob", "hall"]})
        assert await ada.text(1) == "changed"
        for guest in (ada, bob):
            rooms = {(await guest.told(UPDATED))["uri"] for _ in range(2)}
            assert rooms == {f"rooms://{guest.name}", "rooms://hall"}
        await ada.follows_no_more(6, "hall")
        await bob.calls(1, "change", {"rooms": ["hall"]})
        assert (await bob.told(UPDATED))["uri"] == "rooms://hall"
        for guest, often in ((ada, 2), (bob, 3)):
            await guest.nothing_more()
            assert len(guest.all_told(UPDATED)) == often


@each_way
async def test_who_cancels_cancels_nothing_of_another(way: Way) -> None:
    """Neither the call of the same id, nor one of an id that only the other uses."""
    async with house(way) as here:
        ada, bob = await two(here)
        inn = here.inn
        await ada.calls(7, "wait")
        await bob.calls(7, "wait")
        await bob.calls(8, "wait")
        await inn.until(lambda: len(inn.waiting) == 3)
        await ada.cancels(8)
        await ada.cancels(7)
        await inn.until(lambda: bool(inn.cancelled))
        await ada.nothing_more()
        inn.released.set()
        assert (await bob.text(8), await bob.text(7)) == ("bob", "bob")
        assert inn.cancelled == ["ada"]
        assert [each["id"] for each in ada.heard if "result" in each and each["id"] == 7] == []


@each_way
async def test_who_leaves_takes_nothing_of_another_along(way: Way) -> None:
    """Calls go on, changes are told, questions are answered."""
    async with house(way) as here:
        ada, bob = await two(here)
        inn = here.inn
        for guest in (ada, bob):
            await guest.follows(5, "hall")
            await guest.calls(7, "wait")
        await inn.until(lambda: len(inn.waiting) == 2)
        await ada.leaves()
        await inn.until(lambda: bool(inn.cancelled))
        await bob.calls(1, "change", {"rooms": ["hall"]})
        assert (await bob.told(UPDATED))["uri"] == "rooms://hall"
        inn.released.set()
        assert await bob.text(7) == "bob"
        await bob.calls(9, "book")
        last = await bob.answers(9, await bob.is_asked(9), "bob himself")
        assert await bob.text(last) == "bob is bob himself"
        assert inn.cancelled == ["ada"]


@pytest.mark.parametrize("way", [way for way in WAYS if way.asks_one_at_a_time], ids=str)
async def test_a_question_that_could_be_about_either_is_put_to_neither(way: Way) -> None:
    """The server is refused, and both calls come to their end."""
    async with house(way) as here:
        ada, bob = await two(here)
        await ada.calls(1, "wait")
        await here.inn.until(lambda: bool(here.inn.waiting))
        await bob.calls(1, "book")
        reply = await bob.reply(1)
        here.inn.released.set()
        assert await ada.text(1) == "ada"
    assert "error" in reply or reply["result"]["isError"]
    assert not [each for guest in (ada, bob) for each in guest.heard if "id" in each and "method" in each]


async def test_many_guests_at_once_are_kept_apart() -> None:
    """Not only two."""
    async with house(Way("session", "legacy", shared=True)) as here:
        names = [f"guest-{number}-" for number in range(20)]
        guests = [await here.guest(name) for name in names]
        await asyncio.gather(*(guest.calls(1, "stay", token=1) for guest in guests))
        assert [await guest.text(1) for guest in guests] == names
