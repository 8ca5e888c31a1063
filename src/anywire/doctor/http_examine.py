"""`examine_url`: all checks on one server over HTTP, in order, and the report."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from anywire.doctor import http_habits, http_session, listing
from anywire.doctor.examination import Unfit
from anywire.doctor.examine import Report, report_of
from anywire.doctor.http_check import HTTP_CHECKS
from anywire.doctor.http_contact import first_contact
from anywire.doctor.http_examination import HttpExamination, HttpStep
from anywire.doctor.patience import Patience
from anywire.errors import AnywireError, ConfigError

__all__ = ("HTTP_STEPS", "examine_url")

#: What is examined, in this order: each step relies on those before.
HTTP_STEPS = (
    HttpStep("reaching it", first_contact),
    HttpStep("notifications", http_session.notifications),
    HttpStep("ping", http_session.ping),
    HttpStep("an unknown method", http_session.unknown_method),
    HttpStep("ids", http_session.ids),
    HttpStep("its tools", listing.tools),
    HttpStep("the types that a client accepts", http_habits.accept),
    HttpStep("the version in a header", http_habits.version_header),
    HttpStep("its stream", http_habits.stream),
    HttpStep("origin and host", http_habits.guards),
    HttpStep("an unknown session", http_session.unknown_session),
    HttpStep("an unknown revision", http_session.unknown_revision),
    HttpStep("the end of the session", http_session.end),
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
        for step in HTTP_STEPS:
            on_step(step.title)
            try:
                made.update(await step.run(exam))
                reached = True
            except Unfit:
                break
            except ConfigError:
                raise
            except AnywireError as error:
                exam.find("breaks-off", f"{step.title}: {error}")
    finally:
        await exam.close()
    if reached:
        made.add("breaks-off")
    return report_of(exam, HTTP_CHECKS, made, reached=reached)
