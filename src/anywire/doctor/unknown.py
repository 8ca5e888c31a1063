"""How a server refuses what it does not know, judged on any wire."""

from __future__ import annotations

from anywire.doctor.asked import Asked
from anywire.doctor.reply import Reply
from anywire.doctor.shown import shown
from anywire.doctor.strict import strict_faults
from anywire.wire.message import ErrorResponse, JsonRpcErrorCode

__all__ = ("judge_unknown",)


def judge_unknown(exam: Asked, reply: Reply | None, answer: str = "nothing") -> None:
    """Judge the answer to the method `anywire/unknown`; `answer` says what came where that is no reply."""
    asked = "asked for the method 'anywire/unknown' it answered with"
    if reply is None:
        exam.find("unknown-method", f"{asked} {answer}")
    elif not isinstance(reply, ErrorResponse):
        exam.find("unknown-method", f"{asked} a result: {shown(reply.result)}")
    elif any(strict_faults(reply)):
        return  # an error that is none has no code, and is told as such
    elif reply.detail().code != JsonRpcErrorCode.MethodNotFound:
        detail = reply.detail()
        exam.find("unknown-method-code", f"{asked} the error {detail.code}: {detail.message}")
