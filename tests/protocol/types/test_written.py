"""What we write is what the official schemas want, with all members set and with none."""

from __future__ import annotations

import json
from collections.abc import Sequence
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

import msgspec
import pytest
from msgspec import Raw, UnsetType

from anywire.protocol.features import REVISIONS, Feature, has
from anywire.protocol.methods import METHODS
from anywire.protocol.types.cancellation import CancelledParams
from anywire.protocol.types.content import (
    AudioContent,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
)
from anywire.protocol.types.elicitation import ElicitFormParams, ElicitResult, ElicitUrlParams
from anywire.protocol.types.envelope import SUBSCRIPTION_ID_KEY, ResultMeta
from anywire.protocol.types.input_required import InputRequest
from anywire.protocol.types.listen import ListenResult
from anywire.protocol.types.metadata import RequestParams
from anywire.protocol.types.prompts import Prompt, PromptArgument, PromptMessage
from anywire.protocol.types.resources import BlobResourceContents, TextResourceContents
from anywire.protocol.types.tools import CallToolParams, CallToolResult, Tool
from anywire.wire.value import encode_value
from tests.protocol.schemas import PRESENT, complaints, definitions, needs_schemas
from tests.protocol.types.readers import DEFINITIONS, ITEMS, PARAMS, of

ENVELOPE = Raw(
    b'{"io.modelcontextprotocol/protocolVersion":"2026-07-28",'
    b'"io.modelcontextprotocol/clientCapabilities":{"sampling":{}},"progressToken":1}'
)
SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}}

# Members whose type does not tell what they hold.
MEMBERS: dict[str, object] = {
    "meta": {"example.com/a": 1},
    "input_schema": SCHEMA,
    "output_schema": SCHEMA,
    "requested_schema": SCHEMA,
    "structured_content": {"a": 1},
    "experimental": {"a": {}},
    "extensions": {"example.com/a": {}},
    "capabilities": Raw(b'{"experimental":{}}'),
    "arguments": {"a": "b"},
    "resource": TextResourceContents("file:///a", "a"),
    "content": TextContent("a"),
    "input_responses": {"a": Raw(b'{"action":"decline"}')},
    "result_type": "complete",
}
OF_TYPES: dict[tuple[type, str], object] = {
    (Prompt, "arguments"): [PromptArgument("a", "A", "b", required=False)],
    (ListenResult, "meta"): {SUBSCRIPTION_ID_KEY: 1},
    (CallToolResult, "content"): [TextContent("a"), ImageContent("", "image/png")],
    (ElicitResult, "content"): {"a": 1, "b": "c", "d": True},
    (InputRequest, "method"): "roots/list",
    (InputRequest, "params"): Raw(b"{}"),
    (Tool, "annotations"): {"readOnlyHint": True},
}

# Members that may be absent for us, since peers leave them out, and that we never leave out.
MUST = {
    (CallToolParams, "name"),
    (CancelledParams, "request_id"),
    (ListenResult, "meta"),
    (ResultMeta, "subscription_id"),
}


def made(type: type[Any], revision: str, full: bool) -> Any:
    """A value with all of its members, or with those only that it must have."""
    given: dict[str, Any] = {}
    for field in msgspec.structs.fields(type):
        if issubclass(type, RequestParams) and field.name == "meta":
            given["meta"] = ENVELOPE
        elif full or field.required or is_wanted(type, field.name, revision):
            given[field.name] = member(type, field, revision, full)
    return type(**given)


def is_wanted(type: type[Any], name: str, revision: str) -> bool:
    """Whether a revision must have a member that others leave out."""
    if name in ("result_type", "ttl_ms", "cache_scope", "capabilities", "instructions"):
        return has(Feature.RESULT_TYPE, revision)
    if name == "elicitation_id":
        return has(Feature.ELICITATION_IDS, revision)
    return (type, name) in MUST or name in ("client_info", "protocol_version", "client_capabilities")


def member(type: type[Any], field: msgspec.structs.FieldInfo, revision: str, full: bool) -> Any:
    """The value of a member."""
    if (type, field.name) in ITEMS:
        reader = ITEMS[type, field.name]
        return [made(reader.type, revision, full) if isinstance(reader, of) else MEMBERS["resource"]]
    if (type, field.name) in OF_TYPES:
        return OF_TYPES[type, field.name]
    kinds = [kind for kind in union(field.type) if kind is not UnsetType]
    if field.name in MEMBERS:
        value = MEMBERS[field.name]
        if get_origin(kinds[0]) is Sequence:
            return [value]
        return Raw(encode_value(value)) if kinds[0] is Raw and field.name == "arguments" else value
    return plain(kinds[0], revision, full)


def union(hint: Any) -> tuple[Any, ...]:
    """What a member may be."""
    return get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)


def plain(kind: Any, revision: str, full: bool) -> Any:
    """A value of a type."""
    if get_origin(kind) is Literal:
        return get_args(kind)[-1]
    if get_origin(kind) is list:
        return [plain(get_args(kind)[0], revision, full)]
    if get_origin(kind) is dict:
        item = get_args(kind)[1]
        return {"a": made(item, revision, full)} if isinstance(item, type(Tool)) else {}
    if kind is object:
        return revision
    if isinstance(kind, type(Tool)):
        return made(kind, revision, full)
    values: dict[Any, object] = {str: "file:///a", int: 1, float: 0.5, bool: True, Any: {}}
    return values[kind]


def written(value: object) -> Any:
    """A value as it is on the wire."""
    return json.loads(encode_value(value))


def structs() -> list[tuple[str, str]]:
    """The definitions that are held by one struct, by revision."""
    if not PRESENT:
        return []
    held = [name for name, reader in DEFINITIONS.items() if isinstance(reader, of)]
    return [(revision, name) for revision in REVISIONS for name in held if name in definitions(revision)]


@needs_schemas
@pytest.mark.parametrize("full", [True, False], ids=["all members", "no member"])
@pytest.mark.parametrize(("revision", "name"), structs())
def test_what_we_write_is_valid(revision: str, name: str, full: bool) -> None:
    reader = DEFINITIONS[name]
    assert isinstance(reader, of)

    assert complaints(revision, name, written(made(reader.type, revision, full))) == []


@needs_schemas
@pytest.mark.parametrize("full", [True, False], ids=["all members", "no member"])
@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize("method", METHODS)
def test_the_params_we_write_are_valid(method: str, revision: str, full: bool) -> None:
    if revision not in METHODS[method].revisions:
        return
    reader = PARAMS[method]
    kinds = [reader.type] if isinstance(reader, of) else [ElicitFormParams]
    if not isinstance(reader, of) and has(Feature.URL_ELICITATION, revision):
        kinds = [ElicitFormParams, ElicitUrlParams]
    definition = next(
        name
        for name, each in definitions(revision).items()
        if each.get("properties", {}).get("method", {}).get("const") == method
    )

    for kind in kinds:
        message = {"jsonrpc": "2.0", "method": method, "params": written(made(kind, revision, full))}
        message |= {} if METHODS[method].notification else {"id": 1}
        assert complaints(revision, definition, message) == []


@needs_schemas
@pytest.mark.parametrize("revision", REVISIONS)
def test_every_block_of_a_revision_is_valid_in_it(revision: str) -> None:
    blocks: list[ContentBlock] = [
        TextContent("a"),
        ImageContent.from_bytes(b"a"),
        EmbeddedResource(TextResourceContents("file:///a", "a")),
        EmbeddedResource(BlobResourceContents.from_bytes("file:///a", b"a")),
    ]
    if has(Feature.AUDIO, revision):
        blocks.append(AudioContent.from_bytes(b"a"))
    if has(Feature.RESOURCE_LINKS, revision):
        blocks.append(ResourceLink("file:///a", "a", meta={"a": 1}))
    kind = "complete" if has(Feature.RESULT_TYPE, revision) else msgspec.UNSET

    assert complaints(revision, "CallToolResult", written(CallToolResult(blocks, result_type=kind))) == []
    for block in blocks:
        assert complaints(revision, "PromptMessage", written(PromptMessage("user", block))) == []
