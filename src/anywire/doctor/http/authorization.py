"""Who may ask a server: what it says to a client that it does not let in.

Specification: MCP `basic/authorization`; RFC 9728 (protected resource metadata).
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import urlsplit

import msgspec

from anywire.doctor.http.examination import HttpExamination
from anywire.doctor.http.subject import Answer
from anywire.doctor.shown import shown
from anywire.errors import AnywireError
from anywire.protocol.http.client import is_same_origin
from anywire.transport.redact import without_secrets
from anywire.wire.value import decode_value

__all__ = ("judge_authorization",)

_POINTER: Final = re.compile(r'resource_metadata\s*=\s*"?([^",\s]+)', re.IGNORECASE)
_WELL_KNOWN: Final = "/.well-known/oauth-protected-resource"


class _Metadata(msgspec.Struct):
    resource: str
    authorization_servers: list[str]


async def judge_authorization(exam: HttpExamination, answer: Answer, found: str) -> None:
    """Tell that it wants authorization, and what a client cannot find out about it."""
    challenge = answer.headers.get("www-authenticate")
    told = f"; WWW-Authenticate: {challenge}" if challenge else ""
    if any(name.lower() == "authorization" for name in exam.subject.headers):
        told += "; the Authorization that was given is not taken"
    exam.find("authorization", found + told)
    if answer.status != 401:
        return
    pointer = _POINTER.search(challenge or "")
    if pointer is not None:
        # Where it leads to another origin, that is none of those who were to be examined.
        if is_same_origin(exam.subject.url, pointer.group(1)):
            wrong = await _wrong_metadata(exam, pointer.group(1), must=True)
            if wrong:
                exam.find("metadata", wrong)
        return
    await _judge_well_known(exam, has_challenge=challenge is not None)


async def _judge_well_known(exam: HttpExamination, *, has_challenge: bool) -> None:
    parts = urlsplit(exam.subject.url)
    there = False
    for path in dict.fromkeys((f"{_WELL_KNOWN}{parts.path.rstrip('/')}", _WELL_KNOWN)):
        url = parts._replace(path=path, query="", fragment="").geturl()
        wrong = await _wrong_metadata(exam, url, must=False)
        if wrong is None:
            continue
        there = True
        if wrong:
            exam.find("metadata", wrong)
        break
    if not there and not has_challenge:
        exam.find("challenge", f"401 came without WWW-Authenticate, and nothing is at {_WELL_KNOWN}")


async def _wrong_metadata(exam: HttpExamination, url: str, *, must: bool) -> str | None:
    """Say what is wrong with the metadata at an address, empty: nothing.

    None: there is none, and there need not be.
    """
    where = f"a GET of {without_secrets(url)}"
    try:
        answer = await exam.subject.fetch(url)
    except AnywireError as error:
        return f"{where}: {error}" if must else None
    if answer.status != 200:
        return f"{where} was answered with {answer}" if must else None
    try:
        metadata = decode_value(answer.start, _Metadata)
    except msgspec.MsgspecError as error:
        return f"{where} was answered with {shown(answer.start)}: {error}"
    if not metadata.authorization_servers:
        return f"{where} names no authorization server"
    if not _covers(metadata.resource, exam.subject.url):
        return f"{where} is about another resource: {metadata.resource}"
    return ""


def _covers(resource: str, url: str) -> bool:
    """Say whether a resource is the address, or something above it."""
    if not is_same_origin(resource, url):
        return False
    above, path = urlsplit(resource).path.rstrip("/"), urlsplit(url).path.rstrip("/")
    return path == above or path.startswith(f"{above}/")
