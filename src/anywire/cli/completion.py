"""`anywire completion`: a script that completes the command in a shell."""

from __future__ import annotations

import argparse
from typing import get_args

from anywire.cli.parser import Commands, Parser, nearest
from anywire.errors import ConfigError

__all__ = ("add_parser", "run")

_SHELLS = ("bash", "zsh", "fish")
_FILES = {
    "cwd": "DIRECTORY",
    **dict.fromkeys(
        ("input", "root", "header_file", "config", "record", "recording", "first", "second"), "FILE"
    ),
}

_EPILOG = """examples:
  eval "$(anywire completion bash)"                    in ~/.bashrc
  anywire completion zsh > ~/.zfunc/_anywire           in a folder of $fpath
  anywire completion fish > ~/.config/fish/completions/anywire.fish
"""


def add_parser(commands: Commands) -> Parser:
    """Add the parser of `anywire completion`."""
    parser = commands.add_parser(
        "completion",
        prog="anywire completion",
        help="print a script that completes the command in a shell",
        usage="anywire completion (bash | zsh | fish)",
        description="Print a script that completes anywire's words in a shell. Takes the extra cli: "
        "pip install 'anywire[cli]'.",
        epilog=_EPILOG,
    )
    parser.add_argument("shell", type=_shell, metavar="SHELL", help="bash, zsh or fish")
    return parser


def run(options: argparse.Namespace) -> int:
    """Print the script; return the exit code."""
    from anywire.cli.main import whole_parser
    from anywire.cli.output import Output

    if options.command is not None:
        raise ConfigError("completion takes the name of a shell, not a command behind '--'")
    try:
        import shtab
    except ImportError:
        raise ConfigError(
            "completion needs the package shtab, which is not installed: pip install 'anywire[cli]'"
        ) from None
    parser, subparsers = whole_parser()
    choices = _choices()
    every = [one for each in subparsers for one in (each, *each.commands.values())]
    for each in every:
        for action in each.actions:
            action.choices = choices.get(action.dest)
            if action.dest in _FILES:
                # How shtab is told what kind of word belongs here.
                setattr(action, "complete", getattr(shtab, _FILES[action.dest]))  # noqa: B010 argparse declares no such attribute
    Output().text(shtab.complete(parser, options.shell))
    return 0


def _choices() -> dict[str, tuple[str, ...]]:
    """Return the words that an argument takes; the parser itself knows better sentences for others."""
    from anywire.bridge.endpoint import FACES
    from anywire.config.places import EDITORS
    from anywire.doctor.http.check import EVERY_CHECK
    from anywire.protocol.types.logging import LogLevel
    from anywire.wire.framing import Framing

    framings = tuple(framing.value for framing in Framing)
    return {
        "editors": EDITORS,
        "face": tuple(FACES),
        "framing": ("auto", *framings),
        "ignore": tuple(EVERY_CHECK),
        "log": get_args(LogLevel),
        "shell": _SHELLS,
        "target_framing": framings,
    }


def _shell(name: str) -> str:
    """Check the name of a shell.  For argparse's `type`."""
    if name not in _SHELLS:
        raise argparse.ArgumentTypeError(
            f"there is no completion for {name!r}{nearest(name, _SHELLS)}; shells are: {', '.join(_SHELLS)}"
        )
    return name
