"""`examine`: all checks on one server, in order, and the report."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import msgspec

from anywire.doctor import listing, stateless
from anywire.doctor.asked import Broken, Unfit
from anywire.doctor.patience import Patience
from anywire.doctor.report import Report, report_of
from anywire.doctor.stdio import contact, conversation, leaving, rough
from anywire.doctor.stdio.check import STDIO_CHECKS
from anywire.doctor.stdio.examination import Examination, Step
from anywire.errors import SpawnFailed
from anywire.transport.process import Command
from anywire.wire.framing import Framing

__all__ = ("examine",)

_UNBUFFERED = "PYTHONUNBUFFERED"
# What makes sense only where hands are shaken.
_HANDSHAKES = (conversation.ping, rough.unknown_revision, rough.probe)

#: What is examined first: it shows how the server wants to be spoken to.
CONTACT = Step("starting it", contact.first_contact)
#: What is examined then, in this order: each step relies on those before, and the server is started
#: no more often than it must be.
HANDSHAKE_STEPS = (
    Step("ping", conversation.ping),
    Step("notifications", conversation.notifications),
    Step("an unknown method", conversation.unknown_method),
    Step("ids", conversation.ids),
    Step("its tools", listing.tools),
    Step("its other lists", listing.declared),
    Step("several requests at once", conversation.at_once),
    Step("a long message", conversation.long_message),
    Step("the end of its input", leaving.leave),
    Step("an unknown revision", rough.unknown_revision),
    Step("a second start", conversation.again),
    Step("a malformed line", rough.malformed),
    Step("lines as Windows writes them", rough.odd_lines),
    Step("a client of a newer revision", rough.probe),
)
#: What is examined without a handshake where there can be one as well.
STATELESS_STEPS = (
    Step("the stateless era", rough.stateless),
    Step("its results", stateless.results),
    Step("what requests must say of themselves", stateless.envelope),
    Step("an unknown version", stateless.version),
)
#: What is examined where there is no handshake.
STATELESS_ONLY_STEPS = (
    Step("its results", stateless.discover),
    *(step for step in HANDSHAKE_STEPS if step.run not in _HANDSHAKES),
    *STATELESS_STEPS[1:],
)


async def examine(
    command: Command,
    *,
    framing: Framing | None = None,
    patience: Patience = Patience(),  # noqa: B008 it is frozen
    on_step: Callable[[str], None] = lambda _: None,
) -> Report:
    """Start the command, several times if need be, make all checks and end it with all it started.

    `framing` is found out unless it is given.  `on_step` gets what is being looked at.  Never raises
    for what a server does; takes as long as the server makes it take, within `patience`.
    """
    exam = Examination(_as_other_clients(command), framing, patience)
    made: set[str] = set()
    reached = False
    try:
        for step in _steps(exam):
            on_step(step.title)
            try:
                made.update(await step.run(exam))
                reached = True
            except Broken:
                continue
            except (Unfit, SpawnFailed):
                break
    finally:
        await exam.drop()
    if reached:
        made.update(("exits-later", "closes-stdout"))
        made.update(leaving.judge_noise(exam))
    if exam.starts:
        made.update(leaving.judge_output(exam))
    return report_of(exam, STDIO_CHECKS, made, reached=reached, framing=exam.framing)


def _steps(exam: Examination) -> Iterator[Step]:
    """Yield what is to be examined next, as far as it is known by then."""
    yield CONTACT
    if exam.era.stateless:
        yield from STATELESS_ONLY_STEPS
        return
    yield from HANDSHAKE_STEPS
    if exam.also_stateless:
        yield from STATELESS_STEPS


def _as_other_clients(command: Command) -> Command:
    """Start the command as clients do that do not turn Python's buffering off."""
    if command.inherit_env and _UNBUFFERED in os.environ:
        return command
    return msgspec.structs.replace(command, env={_UNBUFFERED: "", **command.env})
