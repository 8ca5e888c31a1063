"""The table of features says what the official schemas show."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from anywire.protocol.features import FEATURES, REVISIONS, Feature, has
from anywire.protocol.revisions import BATCH_REVISION, MCP_PROTOCOL_VERSIONS
from tests.protocol.schemas import definitions, methods, needs_schemas

Definitions = dict[str, dict[str, Any]]


def defines(name: str) -> Callable[[Definitions], bool]:
    """Whether a schema has a definition."""
    return lambda found: name in found


def member(*path: str) -> Callable[[Definitions], bool]:
    """Whether a definition has a member, members of members included."""

    def look(found: Definitions) -> bool:
        here: dict[str, Any] = {"properties": found}
        for step in path:
            if step not in here.get("properties", {}):
                return False
            here = here["properties"][step]
            if "$ref" in here:
                here = found[here["$ref"].rpartition("/")[2]]
        return True

    return look


def method(name: str) -> Callable[[Definitions], bool]:
    """Whether a schema has a message of that method."""
    return lambda found: any(
        each.get("properties", {}).get("method", {}).get("const") == name for each in found.values()
    )


def any_json(found: Definitions) -> bool:
    """Whether structured content has a schema that lets everything pass."""
    return (
        found["CallToolResult"]["properties"].get("structuredContent", {"type": "object"}).get("type") is None
    )


def null_error_id(found: Definitions) -> bool:
    """Whether an error must have an id."""
    return "id" in found.get("JSONRPCError", found.get("JSONRPCErrorResponse", {}))["required"]


SHOWN: dict[Feature, Callable[[Definitions], bool]] = {
    Feature.HANDSHAKE: method("initialize"),
    Feature.PING: method("ping"),
    Feature.BATCHES: defines("JSONRPCBatchRequest"),
    Feature.NULL_ERROR_ID: null_error_id,
    Feature.REQUEST_ENVELOPE: defines("RequestMetaObject"),
    Feature.RESULT_TYPE: member("CallToolResult", "resultType"),
    Feature.INPUT_REQUIRED: defines("InputRequiredResult"),
    Feature.CACHING: member("ListToolsResult", "ttlMs"),
    Feature.DISCOVERY: method("server/discover"),
    Feature.LISTENING: method("subscriptions/listen"),
    Feature.LOG_LEVEL_PER_REQUEST: member("RequestMetaObject", "io.modelcontextprotocol/logLevel"),
    Feature.TASKS: method("tasks/get"),
    Feature.EXTENSIONS: member("ServerCapabilities", "extensions"),
    Feature.AUDIO: defines("AudioContent"),
    Feature.RESOURCE_LINKS: defines("ResourceLink"),
    Feature.META_ON_ITEMS: member("Tool", "_meta"),
    Feature.LAST_MODIFIED: member("Annotations", "lastModified"),
    Feature.TITLES: member("Tool", "title"),
    Feature.ICONS: member("Tool", "icons"),
    Feature.TOOL_ANNOTATIONS: member("Tool", "annotations"),
    Feature.STRUCTURED_OUTPUT: member("CallToolResult", "structuredContent"),
    Feature.STRUCTURED_OUTPUT_OF_ANY_TYPE: any_json,
    Feature.COMPLETIONS_CAPABILITY: member("ServerCapabilities", "completions"),
    Feature.SAMPLING_TOOLS: member("ClientCapabilities", "sampling", "tools"),
    Feature.ELICITATION: method("elicitation/create"),
    Feature.URL_ELICITATION: member("ClientCapabilities", "elicitation", "url"),
    Feature.ELICITATION_IDS: method("notifications/elicitation/complete"),
}

#: What the text says and no schema shows.
TOLD = {
    Feature.HTTP_SESSIONS: MCP_PROTOCOL_VERSIONS[:3],
    Feature.HTTP_RESUMPTION: MCP_PROTOCOL_VERSIONS[:3],
    Feature.HTTP_PRIMING: ("2025-11-25",),
    Feature.HTTP_VERSION_HEADER: ("2025-06-18", "2025-11-25", "2026-07-28"),
    Feature.HTTP_MIRRORED_HEADERS: ("2026-07-28",),
    Feature.RESOURCE_NOT_FOUND_CODE: MCP_PROTOCOL_VERSIONS,
    Feature.ARGUMENT_ERRORS_AS_RESULTS: ("2025-11-25", "2026-07-28"),
    # Shown inside of definitions that not all revisions have.
    Feature.PROGRESS_MESSAGES: REVISIONS[1:],
    Feature.COMPLETION_CONTEXT: REVISIONS[2:],
}


@needs_schemas
@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize("feature", SHOWN, ids=lambda feature: feature.value)
def test_a_revision_has_what_its_schema_shows(feature: Feature, revision: str) -> None:
    assert has(feature, revision) == SHOWN[feature](definitions(revision))


@needs_schemas
@pytest.mark.parametrize("revision", REVISIONS)
def test_params_have_what_their_schema_shows(revision: str) -> None:
    found = definitions(revision)

    def params(definition: str) -> dict[str, Any]:
        inline = found[definition]["properties"]["params"]
        return (found[inline["$ref"].rpartition("/")[2]] if "$ref" in inline else inline)["properties"]

    assert has(Feature.PROGRESS_MESSAGES, revision) == ("message" in params("ProgressNotification"))
    assert has(Feature.COMPLETION_CONTEXT, revision) == ("context" in params("CompleteRequest"))


@pytest.mark.parametrize("feature", TOLD, ids=lambda feature: feature.value)
def test_a_revision_has_what_its_text_tells(feature: Feature) -> None:
    assert FEATURES[feature] == set(TOLD[feature])


def test_every_feature_is_checked_one_way_or_the_other() -> None:
    assert set(SHOWN) | set(TOLD) == set(Feature) == set(FEATURES)
    assert set(SHOWN) & set(TOLD) == set()


@pytest.mark.parametrize("feature", Feature, ids=lambda feature: feature.value)
def test_a_revision_that_is_not_known_or_not_agreed_on_has_nothing(feature: Feature) -> None:
    assert not has(feature, "1999-01-01")
    assert not has(feature, "")
    assert not has(feature, None)


def test_the_revisions_stand_oldest_first_and_include_those_with_a_handshake() -> None:
    assert list(REVISIONS) == sorted(REVISIONS)
    assert FEATURES[Feature.HANDSHAKE] == set(MCP_PROTOCOL_VERSIONS)
    assert FEATURES[Feature.BATCHES] == {BATCH_REVISION}


@needs_schemas
def test_a_server_asks_only_where_there_is_a_handshake() -> None:
    asks = {revision for revision in REVISIONS if methods(revision, "ServerRequest")}

    assert asks == FEATURES[Feature.HANDSHAKE]
