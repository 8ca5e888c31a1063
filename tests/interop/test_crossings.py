"""Every wire and era to every other, through a bridge: what a client sees is what it sees without one."""

from __future__ import annotations

import asyncio
import functools
from typing import Any

import pytest

from anywire import connect
from anywire.protocol.translate.crossing import CROSSINGS, Fate
from tests.interop.crossings import ENDS, GAPS, End, gaps, server_at, target_of
from tests.interop.every_feature import STEPS, Era, is_failure, walk
from tests.interop.peers import SCRIPTS
from tests.interop.processes import anywire

pytestmark = pytest.mark.interop


@functools.cache
def alone(era: Era) -> dict[str, Any]:
    """The conversation without a bridge, with a server of the client's era."""
    command = anywire("serve", f"{SCRIPTS / 'eras_server.py'}:{era}")
    return asyncio.run(walk(lambda options: connect(command, **options), era))


def across(client: End, server: End) -> dict[str, Any]:
    """The conversation through a bridge."""
    with server_at(server) as named, target_of(client, named) as (target, how):
        return asyncio.run(walk(lambda options: connect(target, **how, **options), client.era))


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_without_a_bridge_every_step_can_be_taken(era: Era) -> None:
    """So whatever is missing behind a bridge is missing because of it."""
    assert [gave for gave in alone(era).values() if is_failure(gave)] == []


def _pairs() -> list[Any]:
    always = {(client, ENDS[(number + 2) % len(ENDS)]) for number, client in enumerate(ENDS)}
    return [
        pytest.param(
            client,
            server,
            id=f"{client}-to-{server}",
            marks=() if (client, server) in always else pytest.mark.large,
        )
        for client in ENDS
        for server in ENDS
    ]


@pytest.mark.parametrize(("client", "server"), _pairs())
def test_a_client_sees_what_it_sees_without_a_bridge(client: End, server: End) -> None:
    """But for what cannot cross, which is known beforehand and by name; and nothing is named that can."""
    gave, expected = across(client, server), alone(client.era)
    known = gaps(client, server)
    assert {step: gave[step] for step in gave if gave[step] != expected[step] and step not in known} == {}
    assert {step for step in known if gave[step] == expected[step]} == set()
    assert list(gave) == list(expected)


def test_each_gap_is_explained() -> None:
    """By what the documentation says of a feature that does not simply cross."""
    said = {(each.direction, each.feature) for each in CROSSINGS if each.fate is not Fate.CROSSES}
    explained = {(before, feature) for before, steps in GAPS.items() for feature in steps.values()}
    assert explained <= said
    assert {step for steps in GAPS.values() for step in steps} <= STEPS.keys()
