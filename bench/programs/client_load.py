"""What a client in Python is asked to do: calls one by one, then 64 at a time.  Prints the figures as JSON.

Programs that import this take `TARGET ERA SECONDS`; a target is a URL, or a command line.
"""

# pyright: basic

import asyncio
import json
import shlex
import statistics
import sys
import time
from typing import Literal

TEXT = "x" * 100
AT_ONCE = 64
TARGET, SECONDS = sys.argv[1], float(sys.argv[3])
ERA: Literal["legacy", "modern"] = "modern" if sys.argv[2] == "modern" else "legacy"
COMMAND = shlex.split(TARGET)
REVISION = "2026-07-28"


async def measure(call, seconds: float = SECONDS) -> None:
    """`call` is a coroutine function that calls `echo` with `TEXT` and checks what comes back."""
    clock, cpu = time.perf_counter, time.process_time
    took: list[float] = []
    for _ in range(10):
        await call()
    end = clock() + seconds / 2
    while (began := clock()) < end:
        await call()
        took.append(clock() - began)

    async def work(end: float) -> int:
        done = 0
        while clock() < end:
            await call()
            done += 1
        return done

    await together(work, clock() + seconds / 5)
    began, used = clock(), cpu()
    done = sum(await together(work, began + seconds))
    wall, used = clock() - began, cpu() - used
    found = {"serial_us": statistics.median(took) * 1e6, "rate": done / wall, "cpu_us": used / done * 1e6}
    print(json.dumps(found), flush=True)


async def together(work, end: float) -> list[int]:
    return await asyncio.gather(*[work(end) for _ in range(AT_ONCE)])
