"""What a transport in front of another passes on, besides the contract: what only some have."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from anywire.transport.contract import Detachable, Filling, Holding, Troubled
from anywire.transport.http_client import HttpClientTransport
from anywire.transport.layer import Layer
from anywire.transport.memory import memory_pair
from anywire.transport.process import Command
from anywire.transport.sse_client import SseClientTransport
from anywire.transport.stdio_client import StdioClientTransport

URL = "http://127.0.0.1:1/mcp"


def stdio() -> StdioClientTransport:
    """A transport to a child that is never started."""
    return StdioClientTransport(Command((sys.executable,), {}, None, False))


async def test_what_only_some_have_is_there_where_it_is_and_nowhere_else() -> None:
    """Whoever asks for it learns from that which wire it is."""
    child, http, old, memory = (
        Layer(each) for each in (stdio(), HttpClientTransport(URL), SseClientTransport(URL), memory_pair()[0])
    )

    def having(name: str) -> list[bool]:
        return [hasattr(each, name) for each in (child, http, old, memory)]

    assert having("child") == [True, False, False, False]
    assert having("mirrors") == [False, True, False, False]
    assert having("shakes_hands") == [False, False, True, False]
    assert having("writes_stdout") == [True, False, False, False]
    assert [isinstance(each, Troubled) for each in (child, http)] == [False, True]
    assert [isinstance(each, Holding) for each in (child, http, old)] == [True, True, True]
    assert [isinstance(each, Filling) for each in (child, memory)] == [True, False]
    assert not isinstance(http, Detachable)
    assert child.explain_silence() is not None


async def test_mirrors_are_those_of_the_wire() -> None:
    """Who sets them on the layer sets them there."""
    inner = HttpClientTransport(URL)
    layer, mirrors = Layer(inner), dict[str, Any]()
    layer.mirrors = mirrors

    assert inner.mirrors is mirrors
    with pytest.raises(AttributeError):
        layer.nothing  # noqa: B018 it is asked for


async def test_whoever_listens_to_pressure_may_come_later() -> None:
    """The wire tells the layer, and that tells whoever listens then."""
    inner, told = stdio(), list[str]()
    layer: Any = Layer(inner)
    layer.on_full = lambda: told.append("full")
    inner.on_full()
    layer.on_full = lambda: told.append("again")
    inner.on_full()

    assert told == ["full", "again"]
