"""An examination over HTTP: the server, what was found so far, and how a step asks."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Final

import msgspec

from anywire.doctor.check import Finding, finding_of
from anywire.doctor.era import Era
from anywire.doctor.http.check import HTTP_CHECKS
from anywire.doctor.http.subject import Answer, HttpSubject
from anywire.doctor.patience import Patience
from anywire.doctor.reply import Reply
from anywire.doctor.shown import shown
from anywire.errors import AnywireError, ConnectFailed
from anywire.protocol.http.client import merge_headers
from anywire.protocol.http.media import EVENT_STREAM, JSON
from anywire.protocol.http.mirrored import stateless_headers
from anywire.protocol.modern import LATEST_STATELESS_REVISION
from anywire.wire.message import Notification, Request

__all__ = ("CODING_SIGN", "HttpExamination", "HttpStep")


#: What stands in an error about the coding of a body.
CODING_SIGN: Final = "content-encoding"
_BOM: Final = b"\xef\xbb\xbf"
_GZIP: Final = b"\x1f\x8b"
#: An answer without a reply that is as long has come nonstop.
_MANY_BYTES: Final = 1024 * 1024
#: What gateways and caches add to an answer.
_GATEWAYS: Final = (
    "via",
    "apigw-requestid",
    "cf-ray",
    "x-amz-apigw-id",
    "x-amzn-requestid",
    "x-cache",
    "x-served-by",
    "x-vercel-id",
)


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
        #: How it is spoken to, and whether it can be spoken to without a handshake as well.
        self.era = Era()
        self.also_stateless = False
        #: What was found, by the id of the check.
        self.findings: dict[str, Finding] = {}
        #: What it says of itself, as plain JSON data.
        self.server: dict[str, object] = {}
        #: From the first request to the head of its answer.
        self.first_answer_seconds: float | None = None
        #: What became of the last request that has no reply.
        self.silence = ""

    def find(self, id: str, found: str) -> None:
        """Tell what is wrong; the first word on each check counts."""
        self.findings.setdefault(id, finding_of(HTTP_CHECKS[id], found))

    def speak(self, era: Era) -> None:
        """From now on speak to it in this way; without a handshake there is no session either."""
        self.era = era
        if era.stateless:
            self.subject.session_id = self.subject.revision = None

    def new_id(self) -> bytes:
        """Return an id that was not used before."""
        return self.subject.new_id()

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
        """Ask as its era has it; return what came back and the id of the request."""
        request = self.era.request(id or self.subject.new_id(), method, params)
        if self.era.stateless:
            answer = await self.put(request, headers=headers)
        else:
            answer = await self.subject.post(request, headers)
        self.judge_head(answer, method)
        return answer, request.id

    async def put(
        self,
        request: Request,
        revision: str = LATEST_STATELESS_REVISION,
        *,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Send a request of the stateless era with the headers that belong to it; `headers` replace some."""
        return await self.subject.post(request, self.mirrored(request, revision, headers))

    def mirrored(
        self,
        request: Request,
        revision: str = LATEST_STATELESS_REVISION,
        headers: Mapping[str, str] | None = None,
    ) -> dict[str, str]:
        """Return the headers that belong to a request of the stateless era; `headers` replace some."""
        said = stateless_headers(request.method, request.params, revision, {})
        return merge_headers(said, headers or {})

    async def talk(self, request: Request, revision: str = LATEST_STATELESS_REVISION) -> Reply | None:
        """Send a request of the stateless era, with all that it says of itself; None: it has no answer."""
        return (await self.put(request, revision)).reply(request.id)

    async def request(self, method: str, params: bytes | None = None) -> Reply | None:
        """Ask and look at the shape of the answer as well; None: it holds no reply."""
        answer, id = await self.ask(method, params)
        self.silence = f"was answered with {answer}"
        self.judge_shape(answer, id, method)
        return answer.reply(id)

    async def is_gone(self) -> bool:
        """Say whether nobody takes connections any more."""
        try:
            await self.subject.post(self.era.opening(self.new_id()))
        except ConnectFailed:
            return True
        except AnywireError:
            pass
        return False

    async def tell(self, method: str) -> Answer:
        """Send a notification in the session."""
        return await self.subject.post(Notification(method))

    def judge_head(self, answer: Answer, what: str) -> None:
        """Tell what keeps the events of a stream back on their way."""
        if answer.media != EVENT_STREAM:
            return
        coding, length = answer.headers.get("content-encoding"), answer.headers.get("content-length")
        if coding not in (None, "", "identity"):
            self.find("stream-compressed", f"the stream that answered {what} has Content-Encoding {coding}")
        elif length is not None and (gateway := _gateway(answer.headers)):
            found = f"the stream that answered {what} has Content-Length {length}, and {gateway}"
            self.find("stream-collected", found)

    def judge_shape(self, answer: Answer, id: bytes, what: str) -> None:
        """Tell what is wrong with the body of an answer that should hold a reply."""
        if 200 <= answer.status < 300 and not answer.is_usable:
            is_empty = not answer.start and not answer.media
            id_of_fault = "no-reply" if is_empty else "content-type"
            if answer.start.startswith(_GZIP) and answer.media in ("", JSON, EVENT_STREAM):
                id_of_fault = "coding-broken"
            self.find(id_of_fault, f"{what} was answered with {answer}")
        if answer.start.startswith(_BOM):
            self.find("bom-written", f"{what} was answered with {answer}")
        if answer.start.startswith(_GZIP):
            self.find("coding-broken", f"{what}: the body is compressed, and no Content-Encoding says so")
        elif answer.unfinished:
            self.find("event-unfinished", f"{what} was answered with {answer}, and no blank line behind it")
        elif answer.faults:
            fault = answer.faults[0]
            self.find("bad-message", f"{fault.reason}: {shown(fault.data)}")
        elif answer.broken:
            is_coding = CODING_SIGN in answer.broken.lower()
            self.find("coding-broken" if is_coding else "no-reply", answer.broken)
        elif answer.is_usable and answer.reply(id) is None:
            self._judge_missing(answer, id, what)

    def _judge_missing(self, answer: Answer, id: bytes, what: str) -> None:
        if other := _other_id(answer):
            self.find("ids-changed", f"{what} with the id {id.decode()} was answered with the id {other}")
        elif answer.size >= _MANY_BYTES:
            self.find("no-reply", f"{what} had no reply in the first {answer.size:,} bytes of its answer")
        else:
            end = "" if answer.ended else f" and no more within {self.patience.answer_seconds:g} s"
            self.find("no-reply", f"{what} was answered with {answer}{end}")


def _other_id(answer: Answer) -> str:
    """Return the id of what is a reply to something that was not asked, empty where there is none."""
    ids = (reply.id for reply in answer.replies if reply.id is not None)
    return next((id.decode("utf-8", "replace") for id in ids if id != b"null"), "")


def _gateway(headers: Mapping[str, str]) -> str:
    """Say by which header a gateway before the server tells of itself, empty: by none."""
    return next((f"{name}: {headers[name]}" for name in _GATEWAYS if name in headers), "")
