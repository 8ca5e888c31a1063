"""Which revision has what: a table, so that no code compares versions.

Specification: MCP, the changelog of each revision.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final

__all__ = ("FEATURES", "REVISIONS", "Feature", "has")

#: All revisions of the protocol, oldest first.
REVISIONS: Final = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28")

_A, _B, _C, _D, _E = REVISIONS


class Feature(Enum):
    """What some revisions have and others have not."""

    # How messages travel.
    #: A conversation opens with `initialize`, and either side may send requests.
    HANDSHAKE = "handshake"
    #: Either side may ask the other for a sign of life.
    PING = "ping"
    #: A message may be an array of messages.
    BATCHES = "batches"
    #: An error whose request could not be read has the id null; elsewhere it has none.
    NULL_ERROR_ID = "null error id"
    #: Over HTTP, a conversation may have a session.
    HTTP_SESSIONS = "http sessions"
    #: Over HTTP, a lost stream can be taken up again.
    HTTP_RESUMPTION = "http resumption"
    #: Over HTTP, a stream begins with an event that has an id and no data.
    HTTP_PRIMING = "http priming"
    #: Over HTTP, each request names the revision in a header.
    HTTP_VERSION_HEADER = "http version header"
    #: Over HTTP, headers repeat the method, the name and marked arguments.
    HTTP_MIRRORED_HEADERS = "http mirrored headers"

    # What a request and a result say of themselves.
    #: Each request says in `_meta` which revision it speaks and what its client can do.
    REQUEST_ENVELOPE = "request envelope"
    #: Each result says in `resultType` what it is.
    RESULT_TYPE = "result type"
    #: A result may ask for input, which comes with the request sent again.
    INPUT_REQUIRED = "input required"
    #: Results say how long they stay fresh.
    CACHING = "caching"
    #: `server/discover` tells what a server can do.
    DISCOVERY = "discovery"
    #: Changes are told on a request that stays open; elsewhere without having been asked for.
    LISTENING = "listening"
    #: A log level holds for one request; elsewhere it is set for all.
    LOG_LEVEL_PER_REQUEST = "log level per request"
    #: Requests may become tasks.
    TASKS = "tasks"
    #: Capabilities name extensions.
    EXTENSIONS = "extensions"
    #: A missing resource has an error code of its own.
    RESOURCE_NOT_FOUND_CODE = "resource not found code"

    # What can be said.
    #: Content may be audio.
    AUDIO = "audio"
    #: Content may be a link to a resource.
    RESOURCE_LINKS = "resource links"
    #: Content, and what is listed, may have a `_meta`.
    META_ON_ITEMS = "meta on items"
    #: Annotations tell when something changed.
    LAST_MODIFIED = "last modified"
    #: Progress may come with a message.
    PROGRESS_MESSAGES = "progress messages"
    #: What has a name may have a title as well.
    TITLES = "titles"
    #: What is listed may have icons, and programs a description.
    ICONS = "icons"
    #: Tools have annotations.
    TOOL_ANNOTATIONS = "tool annotations"
    #: Tools have output schemas and results structured content, an object.
    STRUCTURED_OUTPUT = "structured output"
    #: Structured content may be any JSON.
    STRUCTURED_OUTPUT_OF_ANY_TYPE = "structured output of any type"
    #: Arguments that do not fit are the result of a tool that failed; elsewhere an error may be meant.
    ARGUMENT_ERRORS_AS_RESULTS = "argument errors as results"
    #: A server that completes says so in its capabilities.
    COMPLETIONS_CAPABILITY = "completions capability"
    #: A completion is told the arguments that are there already.
    COMPLETION_CONTEXT = "completion context"
    #: A client's model may use tools, and a message to it may have several blocks.
    SAMPLING_TOOLS = "sampling with tools"
    #: A client's user may be asked to fill in a form.
    ELICITATION = "elicitation"
    #: A client's user may be sent to an address.
    URL_ELICITATION = "url elicitation"
    #: Such a visit has an id, by which its end is told; an error may ask for it.
    ELICITATION_IDS = "elicitation ids"


#: The revisions that have each feature.
FEATURES: Final[Mapping[Feature, frozenset[str]]] = {
    Feature.HANDSHAKE: frozenset({_A, _B, _C, _D}),
    Feature.PING: frozenset({_A, _B, _C, _D}),
    Feature.BATCHES: frozenset({_B}),
    Feature.NULL_ERROR_ID: frozenset({_A, _B, _C}),
    Feature.HTTP_SESSIONS: frozenset({_B, _C, _D}),
    Feature.HTTP_RESUMPTION: frozenset({_B, _C, _D}),
    Feature.HTTP_PRIMING: frozenset({_D}),
    Feature.HTTP_VERSION_HEADER: frozenset({_C, _D, _E}),
    Feature.HTTP_MIRRORED_HEADERS: frozenset({_E}),
    Feature.REQUEST_ENVELOPE: frozenset({_E}),
    Feature.RESULT_TYPE: frozenset({_E}),
    Feature.INPUT_REQUIRED: frozenset({_E}),
    Feature.CACHING: frozenset({_E}),
    Feature.DISCOVERY: frozenset({_E}),
    Feature.LISTENING: frozenset({_E}),
    Feature.LOG_LEVEL_PER_REQUEST: frozenset({_E}),
    Feature.TASKS: frozenset({_D}),
    Feature.EXTENSIONS: frozenset({_E}),
    Feature.RESOURCE_NOT_FOUND_CODE: frozenset({_A, _B, _C, _D}),
    Feature.AUDIO: frozenset({_B, _C, _D, _E}),
    Feature.RESOURCE_LINKS: frozenset({_C, _D, _E}),
    Feature.META_ON_ITEMS: frozenset({_C, _D, _E}),
    Feature.LAST_MODIFIED: frozenset({_C, _D, _E}),
    Feature.PROGRESS_MESSAGES: frozenset({_B, _C, _D, _E}),
    Feature.TITLES: frozenset({_C, _D, _E}),
    Feature.ICONS: frozenset({_D, _E}),
    Feature.TOOL_ANNOTATIONS: frozenset({_B, _C, _D, _E}),
    Feature.STRUCTURED_OUTPUT: frozenset({_C, _D, _E}),
    Feature.STRUCTURED_OUTPUT_OF_ANY_TYPE: frozenset({_E}),
    Feature.ARGUMENT_ERRORS_AS_RESULTS: frozenset({_D, _E}),
    Feature.COMPLETIONS_CAPABILITY: frozenset({_B, _C, _D, _E}),
    Feature.COMPLETION_CONTEXT: frozenset({_C, _D, _E}),
    Feature.SAMPLING_TOOLS: frozenset({_D, _E}),
    Feature.ELICITATION: frozenset({_C, _D, _E}),
    Feature.URL_ELICITATION: frozenset({_D, _E}),
    Feature.ELICITATION_IDS: frozenset({_D}),
}


def has(feature: Feature, revision: str | None) -> bool:
    """Say whether a revision has a feature; None, none agreed on yet, and unknown ones have nothing."""
    return revision in FEATURES[feature]
