"""How long until a server answers?  Measures on this machine, side by side in one run.

    python docs/start_time.py            the median of 21 runs
    python docs/start_time.py 5          of 5 runs

Each line is a program.  For servers, the time from starting the process to reading the answer to
`initialize` counts; for the others, the time until they have ended.
"""

import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

SERVER = str(Path(__file__).resolve().parents[1] / "examples" / "server.py")
ANYWIRE = [sys.executable, "-m", "anywire"]
INITIALIZE = (
    b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25",'
    b'"capabilities":{},"clientInfo":{"name":"stopwatch","version":"1"}}}\n'
)


def until_ended(argv: Sequence[str]) -> float:
    """Return the seconds that a program takes."""
    began = time.perf_counter()
    subprocess.run(argv, check=True)
    return time.perf_counter() - began


def until_answered(argv: Sequence[str]) -> float:
    """Return the seconds until a server has answered `initialize`."""
    began = time.perf_counter()
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(INITIALIZE)
        server.stdin.flush()
        answer = server.stdout.readline()
        took = time.perf_counter() - began
        server.stdin.close()
        server.wait(timeout=10)
    assert b'"serverInfo"' in answer, answer
    return took


PROGRAMS: dict[str, Callable[[], float]] = {
    "import asyncio, msgspec": partial(until_ended, [sys.executable, "-c", "import asyncio, msgspec"]),
    "server.py": partial(until_answered, [sys.executable, SERVER]),
    "anywire serve": partial(until_answered, [*ANYWIRE, "serve", f"{SERVER}:server"]),
    "anywire bridge": partial(until_answered, [*ANYWIRE, "bridge", "stdio", "--", sys.executable, SERVER]),
}


def main() -> None:
    """Measure in turns, so that whatever else the machine does falls on all alike."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 21
    times: dict[str, list[float]] = {name: [] for name in PROGRAMS}
    for _ in range(runs):
        for name, measure in PROGRAMS.items():
            times[name].append(measure())
    unit = statistics.median(next(iter(times.values())))
    for name, each in times.items():
        middle = statistics.median(each)
        print(f"{name:24} {1000 * middle:6.0f} ms   x {middle / unit:.2f}")


if __name__ == "__main__":
    main()
