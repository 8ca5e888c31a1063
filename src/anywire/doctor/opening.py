"""How a server answers for the first time, judged on any wire."""

from __future__ import annotations

from typing import Final, cast

import msgspec

from anywire.doctor.asked import Asked, Unfit
from anywire.doctor.reply import Reply
from anywire.doctor.shown import shown
from anywire.protocol.revisions import MCP_LATEST_PROTOCOL_VERSION, MCP_PROTOCOL_VERSIONS
from anywire.wire.message import ErrorResponse
from anywire.wire.value import decode_value, encode_value

__all__ = ("judge_initialize", "judge_slowness", "tell_newest_refused", "told")


#: What a capability is called; each is an object.
_CAPABILITIES: Final = frozenset(
    {"completions", "experimental", "extensions", "logging", "prompts", "resources", "tasks", "tools"}
)


class _Who(msgspec.Struct):
    name: str
    version: str


def judge_slowness(exam: Asked, seconds: float) -> None:
    """Judge how long the first answer took, and keep it."""
    exam.first_answer_seconds = seconds
    if seconds > exam.patience.very_slow_seconds:
        exam.find("very-slow-start", f"its first answer came after {seconds:.1f} s")
    elif seconds > exam.patience.slow_seconds:
        exam.find("slow-start", f"its first answer came after {seconds:.1f} s")


def tell_newest_refused(exam: Asked, found: str, revision: str) -> None:
    """Tell that the newest revision was refused, and this older one agreed to."""
    exam.find(
        "newest-refused",
        f"asked for {MCP_LATEST_PROTOCOL_VERSION} it answered with {found}; it agrees to {revision}",
    )


def told(reply: ErrorResponse) -> str:
    """Say what a refusal says."""
    detail = reply.detail()
    return f"the error {detail.code}: {detail.message}"


def judge_initialize(exam: Asked, reply: Reply) -> None:
    """Judge the answer to initialize, and keep what the server says of itself.  Raises `Unfit`."""
    if isinstance(reply, ErrorResponse):
        exam.find("initialize-refused", f"it answered with {told(reply)}")
        raise Unfit
    try:
        result = decode_value(reply.result, dict[str, object])
    except msgspec.MsgspecError:
        result = {}
    exam.server = result
    missing = _missing(result)
    if missing:
        exam.find("initialize-result", f"{'; '.join(missing)}: {shown(reply.result)}")
    revision = result.get("protocolVersion")
    if isinstance(revision, str) and revision not in MCP_PROTOCOL_VERSIONS:
        asked, known = MCP_LATEST_PROTOCOL_VERSION, ", ".join(MCP_PROTOCOL_VERSIONS)
        exam.find("initialize-revision", f"asked for {asked} it answered {revision!r}; there are {known}")


def _missing(result: dict[str, object]) -> list[str]:
    """Say which members the result of initialize must have and has not, or not in the type they have."""
    wrong: list[str] = []
    if not isinstance(result.get("protocolVersion"), str):
        wrong.append(_lacks(result, "protocolVersion", "a string"))
    capabilities = result.get("capabilities")
    if isinstance(capabilities, dict):
        for name, value in cast("dict[str, object]", capabilities).items():
            if name in _CAPABILITIES and not isinstance(value, dict):
                wrong.append(f"the capability {name!r} is {value!r:.60} and no object")
    else:
        wrong.append(_lacks(result, "capabilities", "an object"))
    try:
        decode_value(encode_value(result.get("serverInfo")), _Who)
    except msgspec.MsgspecError:
        wrong.append("it lacks serverInfo with name and version")
    return wrong


def _lacks(result: dict[str, object], name: str, kind: str) -> str:
    return f"{name} is {result[name]!r:.60} and not {kind}" if name in result else f"it lacks {name}"
