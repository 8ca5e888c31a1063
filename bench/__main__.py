"""`python -m bench`: measure, print what was found, and write it down."""

from __future__ import annotations

import argparse
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Final

from bench.case import Group
from bench.groups import (
    bridge,
    http_client,
    http_server,
    in_process,
    memory,
    sizes,
    start,
    stdio_client,
    stdio_server,
)
from bench.page import write_page
from bench.peers import Peers
from bench.results import Results
from bench.run import run_groups
from bench.table import aligned, failures, figures_table, targets_table

GROUPS: Final = {
    module.GROUP.name: module.GROUP
    for module in (
        stdio_server,
        stdio_client,
        http_server,
        http_client,
        in_process,
        bridge,
        start,
        sizes,
        memory,
    )
}
#: Where what was found is written if nobody says otherwise.
RESULTS: Final = Path(__file__).parent / ".results"


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    found = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    found.add_argument(
        "--quick", action="store_true", help="every case for a moment: whether it works at all"
    )
    found.add_argument(
        "--no-peers", action="store_true", help="only anywire and the floors; nothing is installed"
    )
    found.add_argument("--only", action="append", choices=GROUPS, metavar="GROUP", help=", ".join(GROUPS))
    found.add_argument("--cases", metavar="WORD", default="", help="only cases whose name has this in it")
    found.add_argument("--rounds", type=int, metavar="N", help="rounds of each group")
    found.add_argument("--out", type=Path, metavar="FILE", help="where to write what was found, as JSON")
    found.add_argument(
        "--page", type=Path, nargs="+", metavar="FILE", help="write docs/benchmarks.md from such files"
    )
    return found


def chosen(group: Group, options: argparse.Namespace) -> Group:
    """Return a group with the cases that were asked for."""
    cases = [
        case for case in group.cases if options.cases in case.name and not (options.no_peers and case.needs)
    ]
    return replace(group, cases=cases)


def show(results: Results) -> str:
    """Return what is printed at the end of a run."""
    parts = [f"{found.title}\n{aligned(figures_table(found))}" for found in results.groups.values()]
    if failed := failures(results):
        parts.append("Failed\n" + "\n".join(failed))
    parts.append(aligned(targets_table(results, judged=not results.quick)))
    return "\n\n".join(parts)


def interrupt(signum: int, frame: FrameType | None) -> None:
    """End in order, so that whatever was started is ended as well."""
    raise KeyboardInterrupt


def main(argv: Sequence[str] | None = None) -> int:
    """Do what the command line says; the exit code is 1 where one of our own cases failed."""
    options = parser().parse_args(argv)
    if options.page:
        write_page([Results.read(path) for path in options.page])
        return 0
    signal.signal(signal.SIGTERM, interrupt)
    groups = [chosen(GROUPS[name], options) for name in options.only or GROUPS]
    peers = Peers(wanted=not options.no_peers)
    try:
        results = run_groups(groups, peers, quick=options.quick, rounds=options.rounds)
    except KeyboardInterrupt:
        print("bench: interrupted", file=sys.stderr)
        return 130
    print(show(results))
    out = options.out or RESULTS / f"{time.strftime('%Y%m%d-%H%M%S')}-{results.python}.json"
    out.parent.mkdir(exist_ok=True)
    results.write(out)
    print(f"\nwritten to {out}")
    ours = [(group.name, case.name) for group in groups for case in group.cases if not case.needs]
    return 1 if any(results.failure(*each) for each in ours) else 0


if __name__ == "__main__":
    raise SystemExit(main())
