"""`examine_url`: all checks on one server over HTTP, in order, and the report."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from anywire.doctor import listing, stateless
from anywire.doctor.asked import Unfit
from anywire.doctor.http import habits, session
from anywire.doctor.http import stateless as http_stateless
from anywire.doctor.http.check import HTTP_CHECKS
from anywire.doctor.http.contact import first_contact
from anywire.doctor.http.examination import HttpExamination, HttpStep
from anywire.doctor.patience import Patience
from anywire.doctor.report import Report, report_of
from anywire.errors import AnywireError, ConfigError

__all__ = ("examine_url",)

# What there is without a handshake as well.
_IN_EITHER_ERA = (
    session.unknown_method,
    session.ids,
    listing.tools,
    listing.declared,
    habits.long_message,
    habits.accept,
    habits.coding,
    habits.guards,
)
#: What is examined first: it shows how the server wants to be spoken to.
CONTACT = HttpStep("reaching it", first_contact)
#: What is examined then, in this order: each step relies on those before.
HANDSHAKE_STEPS = (
    HttpStep("notifications", session.notifications),
    HttpStep("ping", session.ping),
    HttpStep("an unknown method", session.unknown_method),
    HttpStep("ids", session.ids),
    HttpStep("its tools", listing.tools),
    HttpStep("its other lists", listing.declared),
    HttpStep("a long message", habits.long_message),
    HttpStep("the types that a client accepts", habits.accept),
    HttpStep("the coding that a client accepts", habits.coding),
    HttpStep("the version in a header", habits.version_header),
    HttpStep("its stream", habits.stream),
    HttpStep("origin and host", habits.guards),
    HttpStep("an unknown session", session.unknown_session),
    HttpStep("an unknown revision", session.unknown_revision),
    HttpStep("the end of the session", session.end),
    HttpStep("a client of the newest revision", http_stateless.probe),
)
#: What is examined without a handshake where there can be one as well.
STATELESS_STEPS = (
    HttpStep("headers that say what the body says", http_stateless.mirrors),
    HttpStep("what it says of itself", stateless.discover),
    HttpStep("its results", stateless.results),
    HttpStep("what requests must say of themselves", stateless.envelope),
    HttpStep("an unknown version", stateless.version),
    HttpStep("the status of an unknown method", http_stateless.unknown_status),
    HttpStep("a stream of changes", http_stateless.listen),
)
#: What is examined where there is no handshake.
STATELESS_ONLY_STEPS = (
    *STATELESS_STEPS,
    *(step for step in HANDSHAKE_STEPS if step.run in _IN_EITHER_ERA),
)


async def examine_url(
    url: str,
    *,
    headers: Mapping[str, str] | None = None,
    patience: Patience = Patience(),  # noqa: B008 it is frozen
    on_step: Callable[[str], None] = lambda _: None,
) -> Report:
    """Make all checks on the server at an `http://` or `https://` URL.  No tool is called.

    `headers` go on every request.  `on_step` gets what is being looked at.  Never raises for what a
    server does; takes as long as the server makes it take, within `patience`.  Raises `ConfigError`
    for what is no URL.
    """
    exam = HttpExamination(url, headers or {}, patience)
    made: set[str] = set()
    reached = False
    try:
        for step in _steps(exam):
            on_step(step.title)
            try:
                made.update(await step.run(exam))
                reached = True
            except Unfit:
                break
            except ConfigError:
                raise
            except AnywireError as error:
                if await exam.is_gone():
                    exam.findings.pop("breaks-off", None)  # that was its end
                    exam.find("gone", f"{step.title}: {error}")
                    break
                exam.find("breaks-off", f"{step.title}: {error}")
    finally:
        await exam.close()
    if reached:
        made.update(("breaks-off", "gone"))
    return report_of(exam, HTTP_CHECKS, made, reached=reached)


def _steps(exam: HttpExamination) -> Iterator[HttpStep]:
    """Yield what is to be examined next, as far as it is known by then."""
    yield CONTACT
    if exam.era.stateless:
        yield from STATELESS_ONLY_STEPS
        return
    yield from HANDSHAKE_STEPS
    if exam.also_stateless:
        yield from STATELESS_STEPS
