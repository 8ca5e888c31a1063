"""The options that several subcommands share, and what their values mean."""

from __future__ import annotations

import argparse
import math
import re

from anywire.cli.parser import nearest
from anywire.wire.framing import Framing

__all__ = (
    "add_child_options",
    "add_era",
    "add_json",
    "add_timeout",
    "add_verbose",
    "count",
    "duration",
    "framing",
)

_UNITS = {"": 1.0, "ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_DURATION = re.compile(r"(\d+(?:\.\d*)?|\.\d+)\s*([a-z]*)")
_AUTO = "auto"


def add_child_options(parser: argparse.ArgumentParser, *, with_framing: bool = True) -> None:
    """Add what says how a command is started."""
    parser.add_argument(
        "--env",
        action="append",
        default=[],
        metavar="NAME[=VALUE]",
        help="a variable for the command, such as --env DEBUG=1, or one of ours, such as --env API_KEY; "
        "may be repeated",
    )
    parser.add_argument(
        "--inherit-env",
        action="store_true",
        help="give the command our whole environment instead of a small one, "
        "for example: --inherit-env -- ./server",
    )
    parser.add_argument("--cwd", metavar="FOLDER", help="where the command runs, such as --cwd ../project")
    if with_framing:
        parser.add_argument(
            "--framing",
            type=framing,
            default=None,
            metavar="FRAMING",
            help="how the command frames messages: auto (default: find out), newline or headers, "
            "such as --framing headers",
        )


def add_era(parser: argparse.ArgumentParser, note: str = "") -> None:
    """Add `--era`, the era of the server; `note` says more about it."""
    parser.add_argument(
        "--era",
        choices=("auto", "legacy", "modern"),
        default="auto",
        metavar="ERA",
        help=f"auto, legacy (a handshake) or modern (2026-07-28), such as --era legacy{note}",
    )


def add_timeout(parser: argparse.ArgumentParser, meaning: str) -> None:
    """Add `--timeout`, which means that."""
    parser.add_argument(
        "--timeout",
        type=duration,
        default=None,
        metavar="DURATION",
        help=f"{meaning}, such as --timeout 90s, 1.5m, 500ms or a number of seconds",
    )


def add_json(parser: argparse.ArgumentParser, document: str) -> None:
    """Add `--json`, which prints that document."""
    parser.add_argument(
        "--json",
        action="store_true",
        help=f"for programs: print {document}; an error is one line of JSON on stderr then, "
        f"for example: {parser.prog} --json … | jq .",
    )


def add_verbose(parser: argparse.ArgumentParser, more: str) -> None:
    """Add `--verbose`, which tells more."""
    parser.add_argument(
        "-v",
        "--verbose",
        action="store_true",
        help=f"{more}, for example: {parser.prog} -v … 2>log.txt",
    )


def duration(text: str) -> float:
    """Read `90s`, `1.5m`, `500ms`, `1h` or plain seconds; return seconds.  For argparse's `type`."""
    found = _DURATION.fullmatch(text.strip())
    factor = _UNITS.get(found.group(2)) if found is not None else None
    if found is None or factor is None:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no duration; write 90s, 1.5m, 500ms or a number of seconds"
        )
    seconds = float(found.group(1)) * factor
    if not 0 < seconds < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is no time to wait; write more than 0")
    return seconds


def count(text: str) -> int:
    """Read a number of things, one at least.  For argparse's `type`."""
    if not (text.isascii() and text.isdigit() and int(text[:9]) > 0 and len(text) < 9):
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 1 on")
    return int(text)


def framing(text: str) -> Framing | None:
    """Read the name of a framing; None is "find out".  For argparse's `type`."""
    if text == _AUTO:
        return None
    try:
        return Framing(text)
    except ValueError:
        names = [_AUTO, *(each.value for each in Framing)]
        raise argparse.ArgumentTypeError(
            f"there is no framing {text!r}{nearest(text, names)}; framings are: {', '.join(names)}"
        ) from None
