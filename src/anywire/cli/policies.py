"""What of a server is offered: patterns from the command line and from a file of servers."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from anywire.bridge.policy.policy import Policy

__all__ = ("add_policy_options", "policy_of")


def add_policy_options(parser: argparse.ArgumentParser) -> None:
    """Add what says which things of a server are there for its clients."""
    parser.add_argument(
        "--allow",
        action="append",
        default=[],
        metavar="PATTERN",
        help="offer these only, such as --allow 'get_*' or prompt:NAME or resource:URI",
    )
    parser.add_argument(
        "--deny",
        action="append",
        default=[],
        metavar="PATTERN",
        help="offer none of these, whatever is allowed, such as --deny 'delete_*'",
    )


def policy_of(
    options: argparse.Namespace,
    server: str | None = None,
    allow: Iterable[str] = (),
    deny: Iterable[str] = (),
) -> Policy | None:
    """Return the rules that the options name, and those of one server of a file; None where there are none.

    `server` is what the file calls it.  Raises `ConfigError`.
    """
    allowed, denied = [*options.allow, *allow], [*options.deny, *deny]
    if not allowed and not denied:
        return None
    from anywire.bridge.policy.policy import Policy

    return Policy(allowed, denied, server)
