"""The secrets that the options of the command, or a file of servers, name: what no log may show."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
from typing import TYPE_CHECKING

from anywire.errors import ConfigError
from anywire.transport.redact import secrets_in_url, secrets_in_words, speaks_of_a_secret

if TYPE_CHECKING:
    from anywire.config.entry import ServerEntry

__all__ = ("secrets_of", "secrets_of_entry")


def secrets_of(options: argparse.Namespace) -> set[str]:
    """Return the values whose names speak of a secret, and the token: of headers, variables and arguments.

    What a URL has of a user and a query is among them.  Options that are not there, or no good, name none.
    """
    secrets = {os.environ.get(getattr(options, "token_env", None) or "", "")}
    for word in getattr(options, "env", ()):
        name, equals, value = word.partition("=")
        if speaks_of_a_secret(name):
            secrets.add(value if equals else os.environ.get(name, ""))
    secrets |= secrets_in_words(options.command or ())
    target: object = getattr(options, "target", None)
    if isinstance(target, str):
        secrets |= secrets_in_url(target)
    of_server: dict[str, str] = getattr(options, "headers_of_server", {})
    secrets.update(value for name, value in of_server.items() if speaks_of_a_secret(name))
    if not options.command and hasattr(options, "header_file"):
        from anywire.cli.headers import headers_of

        with contextlib.suppress(ConfigError):
            headers = headers_of(options)
            secrets.update(value for name, value in headers.items() if speaks_of_a_secret(name))
    # In a line of JSON they are spelled as JSON has them.
    return (secrets | {json.dumps(value, ensure_ascii=False)[1:-1] for value in secrets}) - {""}


def secrets_of_entry(entry: ServerEntry) -> set[str]:
    """Return the same of one server of a file."""
    named = (*entry.env.items(), *entry.headers)
    secrets = {value for name, value in named if speaks_of_a_secret(name)}
    return (secrets | secrets_in_words(entry.command) | secrets_in_url(entry.url or "")) - {""}
