"""How it leaves, and what it wrote besides messages meanwhile."""

from __future__ import annotations

import re

from anywire.doctor.asked import Broken
from anywire.doctor.shown import shown
from anywire.doctor.stdio.departure import Leaving
from anywire.doctor.stdio.examination import Examination
from anywire.doctor.stdio.subject import is_not_utf_8
from anywire.wire.message import Fault, FaultKind

__all__ = ("judge_noise", "judge_output", "leave")

# A pipe that nobody reads is full after so much.
_PIPE_BYTES = 64 * 1024
_NO_ID = re.compile(rb'"id"\s*:\s*null')


async def leave(exam: Examination) -> tuple[str, ...]:
    """End its input in the middle of a good conversation: does it go, with everything it started?"""
    subject = await exam.conversation()
    patience = exam.patience
    if await subject.exits_within(patience.overdue_seconds):  # nothing was asked
        raise Broken
    departure = await subject.leave(patience.leave_seconds, patience.stragglers_seconds)
    seconds = f"{patience.leave_seconds:g} s"
    if departure.leaving in (Leaving.TERM, Leaving.KILL):
        exam.find("ignores-eof", f"{seconds} after the end of its input it was still there")
    if departure.leaving is Leaving.KILL:
        exam.find("ignores-term", f"{seconds} after SIGTERM it was still there")
    if departure.leaving is Leaving.EOF and departure.returncode not in (0, None):
        exam.find("exit-code", subject.exit())
    if departure.left_behind:
        exam.find("left-behind", f"after it had gone there was still: {', '.join(departure.left_behind)}")
    return ("ignores-eof", "ignores-term", "exit-code", "left-behind")


def judge_noise(exam: Examination) -> tuple[str, ...]:
    """Judge what all starts together wrote on stdout that was not meant as a message."""
    spoiled = [fault for fault in exam.faults if is_not_utf_8(fault)]
    if spoiled:
        exam.find("not-utf-8", f"{spoiled[0].reason}: {shown(spoiled[0].data)}")
    noise = [fault for fault in exam.faults if not _is_message(fault) and not is_not_utf_8(fault)]
    if noise:
        count = exam.fault_count - (len(exam.faults) - len(noise))
        times = "once" if count == 1 else f"{count:,} times"
        starts = f" in {exam.starts} starts" if exam.starts > 1 and count > 1 else ""
        exam.find("noise", f"{times}{starts}, first {shown(noise[0].data)}")
    return ("noise", "not-utf-8")


def judge_output(exam: Examination) -> tuple[str, ...]:
    """Judge what was meant as a message and is none, and how much came on stderr."""
    wrong = [fault for fault in exam.faults if _is_message(fault)]
    if exam.server:  # requests have answers with ids, so what has none answers something else
        unasked = [fault for fault in wrong if fault.is_reply and _NO_ID.search(fault.data)]
        wrong = [fault for fault in wrong if fault not in unasked]
        if unasked:
            exam.find("answers-notifications", f"it wrote {shown(unasked[0].data)}")
    if wrong:
        exam.find("bad-message", f"{wrong[0].reason}: {shown(wrong[0].data)}")
    if exam.echo:
        exam.find("echo", f"it wrote {shown(exam.echo)}")
    elif exam.doubled:
        exam.find("answers-twice", f"a second time it wrote {shown(exam.doubled)}")
    if exam.stderr_bytes > _PIPE_BYTES:
        exam.find("stderr-flood", f"{exam.stderr_bytes:,} bytes after one start")
    return ("bad-message", "stderr-flood", "answers-twice")


def _is_message(fault: Fault) -> bool:
    return fault.kind is FaultKind.INVALID_REQUEST and fault.data[:1] in (b"{", b"[")
