"""Headers that say again what the body says, so that a proxy need not read bodies.

`Mcp-Method` is the method, `Mcp-Name` the tool, prompt or resource, `Mcp-Param-…` an argument whose
property in the tool's input schema is marked `x-mcp-header`.  A client writes them, a server refuses a
request whose headers and body differ.

Specification: MCP `basic/transports/streamable-http#mirrored-headers`, `server/tools#x-mcp-header`,
2026-07-28.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, cast

import msgspec
from msgspec import UNSET, Raw, UnsetType

from anywire.wire.codec import decode_value

__all__ = (
    "METHOD_HEADER",
    "NAME_HEADER",
    "PARAM_PREFIX",
    "Mirror",
    "MirrorFault",
    "decode_mirrored",
    "encode_mirrored",
    "mirror_difference",
    "mirrored_headers",
    "named_by",
    "read_mirrors",
    "stateless_headers",
)

VERSION_HEADER: Final = "MCP-Protocol-Version"
METHOD_HEADER: Final = "mcp-method"
NAME_HEADER: Final = "mcp-name"
PARAM_PREFIX: Final = "mcp-param-"

# The member of the params that `Mcp-Name` repeats.
_NAMED_BY: Final[Mapping[str, str]] = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+\Z")
_PLAIN: Final = re.compile(r"[\x21-\x7e]([\x20-\x7e\t]*[\x21-\x7e])?\Z")
_SENTINEL: Final = re.compile(r"=\?base64\?(.*)\?=\Z", re.DOTALL)
_LEGAL: Final = re.compile(r"[\x20-\x7e\t]*\Z")
_NUMBER: Final = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?\Z")
_MARK: Final = "x-mcp-header"
_KINDS: Final = frozenset({"string", "integer", "boolean"})
_SAFE_INTEGER: Final = 2**53 - 1


class MirrorFault(ValueError):
    """A mark in an input schema that cannot be; the text says which."""


class Mirror(msgspec.Struct, frozen=True):
    """An argument that a header repeats: the header's lower-case name, and the path to the argument."""

    header: str
    path: tuple[str, ...]


def encode_mirrored(text: str) -> str:
    """Write a text as the value of a header: as it is where that is safe, else wrapped in base64."""
    if text == "" or (_PLAIN.match(text) and not _SENTINEL.match(text)):
        return text
    return f"=?base64?{base64.b64encode(text.encode('utf-8', 'replace')).decode('ascii')}?="


def decode_mirrored(value: str) -> str | None:
    """Read the value of a header; None for one with illegal characters or a broken wrapping."""
    if not _LEGAL.match(value):
        return None
    wrapped = _SENTINEL.match(value)
    if wrapped is None:
        return value
    try:
        return base64.b64decode(wrapped.group(1), validate=True).decode("utf-8")
    except ValueError:
        return None


# Which arguments.


def read_mirrors(schema: Mapping[str, Any]) -> list[Mirror]:
    """Return the arguments that a tool's input schema marks.  Raises `MirrorFault` for a bad mark."""
    if not _holds_mark(schema):
        return []
    mirrors = list(_marked(schema, ()))
    reachable = sum(1 for _ in _all_marks(schema))
    if reachable != len(mirrors):
        raise MirrorFault(f"{_MARK} stands where no plain argument is")
    names = [mirror.header for mirror in mirrors]
    if len(names) != len(set(names)):
        raise MirrorFault(f"two arguments share one {_MARK}")
    return mirrors


def _holds_mark(value: object) -> bool:
    return next(_all_marks(value), None) is not None


def _all_marks(value: object) -> Iterator[object]:
    """Find the marks in a schema, wherever they stand; a property may be called like one."""
    if isinstance(value, list):
        for item in cast("list[object]", value):
            yield from _all_marks(item)
    elif isinstance(value, dict):
        members = cast("dict[str, object]", value)
        for name, member in members.items():
            if name == _MARK:
                yield member
            elif name == "properties" and isinstance(member, dict):
                for inner in cast("dict[str, object]", member).values():
                    yield from _all_marks(inner)
            elif name not in ("default", "const", "enum", "examples"):
                yield from _all_marks(member)


def _marked(schema: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[Mirror]:
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        return
    for name, property in cast("dict[str, Any]", properties).items():
        if not isinstance(property, dict):
            continue
        members = cast("dict[str, Any]", property)
        if _MARK in members:
            _refuse_bad_mark(members, name)
            yield Mirror(PARAM_PREFIX + members[_MARK].lower(), (*path, name))
        yield from _marked(members, (*path, name))


def _refuse_bad_mark(property: Mapping[str, Any], name: str) -> None:
    mark = property[_MARK]
    if not isinstance(mark, str) or not _TOKEN.match(mark):
        raise MirrorFault(f"{_MARK} of {name!r} is no name of a header: {mark!r}")
    if property.get("type") not in _KINDS:
        raise MirrorFault(f"{_MARK} of {name!r}: only strings, integers and booleans can be mirrored")


# What the headers say.


class _Params(msgspec.Struct):
    name: object = None
    uri: object = None
    arguments: Raw | UnsetType = UNSET


_params = msgspec.json.Decoder(_Params)


def mirrored_headers(
    method: str, params: bytes | None, mirrors: Sequence[Mirror] = ()
) -> list[tuple[str, str]]:
    """Return the headers that go with a request of that method and raw params."""
    headers = [(METHOD_HEADER, method)]
    name = named_by(method, params)
    if name is not None:
        headers.append((NAME_HEADER, encode_mirrored(name)))
    for mirror, value in _arguments(params, mirrors):
        text = _spell(value)
        if text is not None:
            headers.append((mirror.header, encode_mirrored(text)))
    return headers


def stateless_headers(
    method: str, params: bytes | None, revision: str, mirrors: Mapping[str, Sequence[Mirror]]
) -> dict[str, str]:
    """Return all that goes with a request of the stateless era; `mirrors` are those of each tool by name."""
    name = named_by(method, params) if method == "tools/call" else None
    known = mirrors.get(name, ()) if name is not None else ()
    headers = {VERSION_HEADER: revision}
    headers.update((_spelling(header), value) for header, value in mirrored_headers(method, params, known))
    return headers


def _spelling(header: str) -> str:
    return "-".join(part.capitalize() for part in header.split("-"))


def mirror_difference(
    headers: Mapping[str, str], method: str, params: bytes | None, mirrors: Sequence[Mirror] = ()
) -> str:
    """Say how the headers of a request differ from its body; empty: they do not.

    `headers` has lower-case names.
    """
    told = headers.get(METHOD_HEADER)
    if told is None or told.strip() != method:
        return f"Mcp-Method is {told!r} and the method {method!r}"
    if method in _NAMED_BY:
        name = named_by(method, params)
        difference = _difference("Mcp-Name", headers.get(NAME_HEADER), name)
        if difference and not (name is None and NAME_HEADER not in headers):
            return difference
    for mirror, value in _arguments(params, mirrors):
        if value is None and mirror.header not in headers:
            continue
        difference = _difference(mirror.header, headers.get(mirror.header), value)
        if difference:
            return difference
    return ""


def _difference(header: str, told: str | None, value: object) -> str:
    if told is None:
        return f"{header} is missing"
    decoded = decode_mirrored(told.strip(" \t"))
    if decoded is None:
        return f"{header} cannot be read: {told!r:.100}"
    if isinstance(value, int) and not isinstance(value, bool) and _is_number(decoded, value):
        return ""
    text = _spell(value)
    return "" if decoded == text else f"{header} is {decoded!r:.100} and the body has {text!r:.100}"


def _is_number(text: str, value: int) -> bool:
    return _NUMBER.match(text) is not None and float(text) == value


def _spell(value: object) -> str | None:
    """Return an argument as a header has it; None for one that no header has."""
    match value:
        case bool():
            return "true" if value else "false"
        case int() if abs(value) <= _SAFE_INTEGER:
            return str(value)
        case str():
            return value
        case _:
            return None


def named_by(method: str, params: bytes | None) -> str | None:
    """Return what `Mcp-Name` repeats of a request; None where there is no such thing."""
    member = _NAMED_BY.get(method)
    if member is None:
        return None
    value: object = getattr(_read(params), member)
    return value if isinstance(value, str) else None


def _arguments(params: bytes | None, mirrors: Sequence[Mirror]) -> Iterator[tuple[Mirror, object]]:
    if not mirrors:
        return
    raw = _read(params).arguments
    try:
        arguments: object = {} if isinstance(raw, UnsetType) else decode_value(raw, object)
    except msgspec.MsgspecError:
        return
    for mirror in mirrors:
        value = arguments
        for step in mirror.path:
            value = cast("dict[str, object]", value).get(step) if isinstance(value, dict) else None
        yield mirror, value


def _read(params: bytes | None) -> _Params:
    try:
        return decode_value(params or b"{}", _Params, _params)
    except msgspec.MsgspecError:
        return _Params()
