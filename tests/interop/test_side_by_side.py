"""Large calls through one bridge take the time of one of them, and hardly more for carrying."""

from __future__ import annotations

import asyncio
import statistics
import time
from typing import Any

import pytest

from anywire import connect
from tests.interop.crossings import End, server_at, target_of

pytestmark = [pytest.mark.interop, pytest.mark.large]

MEGABYTE = 1 << 20
AT_ONCE, TIMES = 8, 10
ROUTES = [("newline", "newline"), ("newline", "http"), ("http", "newline")]


async def naps(target: Any, how: dict[str, Any]) -> list[float]:
    """How many seconds eight calls of a tenth of a second took, each time."""
    took: list[float] = []
    async with asyncio.timeout(60), connect(target, era="legacy", **how) as client:
        await client.tools()
        for _ in range(TIMES):
            began = time.perf_counter()
            calls = (client.call_tool("nap", {"baggage": "x" * MEGABYTE}) for _ in range(AT_ONCE))
            results = await asyncio.gather(*calls)
            took.append(time.perf_counter() - began)
            assert [result.structured["result"] for result in results] == [MEGABYTE] * AT_ONCE
    return took


@pytest.mark.parametrize(("face", "behind"), ROUTES, ids="-to-".join)
def test_eight_calls_with_a_megabyte_each_end_within_a_quarter_of_a_second(face: str, behind: str) -> None:
    """At best: the machine may have other things to do."""
    with (
        server_at(End(behind, "legacy"), "napping_server.py") as named,
        target_of(End(face, "legacy"), named) as (target, how),
    ):
        took = asyncio.run(naps(target, how))
    print(f"{face} to {behind}: best {min(took) * 1e3:.0f} ms, median {statistics.median(took) * 1e3:.0f} ms")
    assert min(took) < 0.25
