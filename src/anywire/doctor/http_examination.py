"""An examination over HTTP: the server, what was found so far, and how a step asks."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

import msgspec

from anywire.doctor.check import Finding
from anywire.doctor.examination import shown
from anywire.doctor.http_check import HTTP_CHECKS
from anywire.doctor.http_subject import Answer, HttpSubject
from anywire.doctor.patience import Patience
from anywire.doctor.subject import Reply
from anywire.wire.message import Notification, Request

__all__ = ("HttpExamination", "HttpStep")


class HttpStep(msgspec.Struct, frozen=True):
    """One part of an examination; `run` returns the ids of the checks that it could make.

    It may raise `Unfit`, and what `Exchange.open` raises.
    """

    title: str
    run: Callable[[HttpExamination], Awaitable[tuple[str, ...]]]


class HttpExamination:
    """What is known of a server so far.  `close()` must be awaited on every path."""

    def __init__(self, url: str, headers: Mapping[str, str], patience: Patience) -> None:
        self.patience = patience
        #: The server.
        self.subject = HttpSubject(url, headers, patience)
        #: What was found, by the id of the check.
        self.findings: dict[str, Finding] = {}
        #: What it says of itself, as plain JSON data.
        self.server: dict[str, object] = {}
        #: From the first request to the head of its answer.
        self.first_answer_seconds: float | None = None

    def find(self, id: str, found: str) -> None:
        """Tell what is wrong; the first word on each check counts."""
        self.findings.setdefault(id, Finding(HTTP_CHECKS[id], found))

    async def close(self) -> None:
        """Close all connections."""
        await self.subject.close()

    async def ask(
        self,
        method: str,
        params: bytes | None = None,
        *,
        id: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> tuple[Answer, bytes]:
        """Ask in the session; return what came back and the id of the request."""
        id = id or self.subject.new_id()
        answer = await self.subject.post(Request(id, method, params), headers)
        return answer, id

    async def request(self, method: str, params: bytes | None = None) -> Reply | None:
        """Ask in the session and look at the shape of the answer as well; None: it holds no reply."""
        answer, id = await self.ask(method, params)
        self.judge_shape(answer, id, method)
        return answer.reply(id)

    async def tell(self, method: str) -> Answer:
        """Send a notification in the session."""
        return await self.subject.post(Notification(method))

    def judge_shape(self, answer: Answer, id: bytes, what: str) -> None:
        """Tell what is wrong with the body of an answer that should hold a reply."""
        if 200 <= answer.status < 300 and not answer.is_usable:
            self.find("content-type", f"{what} was answered with {answer}")
        if answer.faults:
            fault = answer.faults[0]
            self.find("bad-message", f"{fault.reason}: {shown(fault.data)}")
        elif answer.is_usable and answer.reply(id) is None:
            end = "" if answer.ended else f" and no more within {self.patience.answer_seconds:g} s"
            self.find("no-reply", f"{what} was answered with {answer}{end}")
