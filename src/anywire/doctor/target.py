"""`examine_target`: one server, wherever it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from anywire.doctor.http.examine import examine_url
from anywire.doctor.patience import Patience
from anywire.doctor.report import Report
from anywire.doctor.stdio.examine import examine
from anywire.transport.command import Command
from anywire.wire.framing import Framing

__all__ = ("examine_target",)


async def examine_target(
    target: Command | str,
    *,
    headers: Mapping[str, str] | None = None,
    framing: Framing | None = None,
    patience: Patience = Patience(),  # noqa: B008 it is frozen
    on_step: Callable[[str], None] = lambda _: None,
) -> Report:
    """Make all checks on a command, or on the server at an `http://` or `https://` URL.

    `headers` go on every request to a URL, `framing` is that of a command where it is known.  `on_step`
    gets what is being looked at.  No tool is called.  Never raises for what a server does; takes as long
    as the server makes it take, within `patience`.  Several may run at once.  Raises `ConfigError` for
    what is no URL.
    """
    if isinstance(target, str):
        return await examine_url(target, headers=headers, patience=patience, on_step=on_step)
    return await examine(target, framing=framing, patience=patience, on_step=on_step)
