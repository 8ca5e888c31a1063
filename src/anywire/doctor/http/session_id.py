"""Whether a session is known that a server has issued itself, and the version that it agreed on."""

from __future__ import annotations

import asyncio
from typing import Final

from anywire.doctor.asked import Unfit
from anywire.doctor.http.examination import HttpExamination
from anywire.doctor.http.subject import Answer
from anywire.protocol.revisions import MCP_PROTOCOL_VERSIONS
from anywire.wire.message import Request

__all__ = ("SESSION_CHECKS", "judge_session", "speaks_of_a_session")

SESSION_CHECKS: Final = (
    "session-sometimes",
    "session-forgotten",
    "session-missing",
    "version-refused",
)

#: So many requests at once, each on a connection of its own: several workers are met that way.
_AT_ONCE: Final = 6
#: How a session is refused, or a version.
_REFUSED: Final = (400, 404)


async def judge_session(exam: HttpExamination) -> None:
    """Ask in its session several times at once; tell why that is refused.  Raises `Unfit` if it is."""
    answers = await asyncio.gather(*(_ping(exam) for _ in range(_AT_ONCE)))
    refusals = [answer for answer in answers if answer.status in _REFUSED]
    if not refusals:
        return
    found = f"ping in its session was answered with {refusals[0]}"
    if len(refusals) < len(answers):
        of_all = f"{len(refusals)} of {len(answers)} times at once"
        exam.find("session-sometimes", f"{found}, {of_all}")
    elif (taken := await _version_taken(exam)) is not None:
        refused = f"{found} with MCP-Protocol-Version: {exam.subject.revision}"
        exam.find("version-refused", f"{refused}; {taken} it is taken")
    elif exam.subject.session_id is not None and not await _takes(exam, "tools/list"):
        exam.find("session-forgotten", f"{found}; it had issued {exam.subject.session_id!r} just before")
    elif exam.subject.session_id is None and speaks_of_a_session(refusals[0]):
        exam.find("session-missing", f"no session was issued, and ping was answered with {refusals[0]}")
    else:
        return
    raise Unfit


def speaks_of_a_session(answer: Answer) -> bool:
    """Say whether a refusal is about a session."""
    return b"session" in answer.start.lower()


async def _ping(exam: HttpExamination) -> Answer:
    return await exam.subject.post(Request(exam.new_id(), "ping"))


async def _takes(exam: HttpExamination, method: str) -> bool:
    answer = await exam.subject.post(Request(exam.new_id(), method))
    return answer.status not in _REFUSED


async def _version_taken(exam: HttpExamination) -> str | None:
    """Say with which version in the header it takes requests, if only not with its own; None: with none."""
    own = exam.subject.revision
    if own is None:
        return None
    others = (revision for revision in MCP_PROTOCOL_VERSIONS if revision != own)
    try:
        for revision in (None, *others):
            exam.subject.revision = revision
            if await _takes(exam, "ping"):
                return "without it" if revision is None else f"with {revision}"
    finally:
        exam.subject.revision = own
    return None
