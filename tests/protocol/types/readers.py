"""Which of our types holds which definition of the official schemas."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec import Raw

from anywire.protocol.types import completion, content, elicitation, error_data, prompts, sampling, tasks
from anywire.protocol.types.annotations import Annotations
from anywire.protocol.types.caching import CacheableResult
from anywire.protocol.types.cancellation import CancelledParams
from anywire.protocol.types.discover import DiscoverResult
from anywire.protocol.types.envelope import NotificationMeta, RequestMeta, ResultMeta
from anywire.protocol.types.icons import Icon
from anywire.protocol.types.initialize import (
    ClientCapabilities,
    Implementation,
    InitializeParams,
    InitializeResult,
    ServerCapabilities,
)
from anywire.protocol.types.input_required import InputRequest, InputRequired, RetriableParams
from anywire.protocol.types.listen import (
    ListenAcknowledgedParams,
    ListenParams,
    ListenResult,
    SubscriptionFilter,
)
from anywire.protocol.types.logging import LogMessageParams, SetLevelParams
from anywire.protocol.types.metadata import NotificationParams, RequestParams, Result
from anywire.protocol.types.pagination import PaginatedParams
from anywire.protocol.types.progress import ProgressParams
from anywire.protocol.types.reading import read
from anywire.protocol.types.resources import (
    BlobResourceContents,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ReadResourceParams,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    ResourceUpdatedParams,
    SubscribeParams,
    TextResourceContents,
    read_contents,
)
from anywire.protocol.types.roots import ListRootsResult, Root
from anywire.protocol.types.tools import (
    CallToolParams,
    CallToolResult,
    ListToolsResult,
    Tool,
    ToolAnnotations,
    ToolExecution,
)
from anywire.wire.value import decode_value, encode_value

Reader = Callable[[bytes], object]


@dataclass(frozen=True)
class of:  # noqa: N801 reads as a word
    """The reader of a type: as a peer's, though what is in order needs no forgiveness."""

    type: type[msgspec.Struct]

    def __call__(self, raw: bytes) -> object:
        """Read it both ways."""
        value = read(raw, self.type)
        assert value == decode_value(raw, self.type)
        return value


#: The params of each method and notification.
PARAMS: Mapping[str, Reader] = {
    "initialize": of(InitializeParams),
    "ping": of(RequestParams),
    "server/discover": of(RequestParams),
    "tools/list": of(PaginatedParams),
    "tools/call": of(CallToolParams),
    "prompts/list": of(PaginatedParams),
    "prompts/get": of(prompts.GetPromptParams),
    "resources/list": of(PaginatedParams),
    "resources/templates/list": of(PaginatedParams),
    "resources/read": of(ReadResourceParams),
    "resources/subscribe": of(SubscribeParams),
    "resources/unsubscribe": of(SubscribeParams),
    "completion/complete": of(completion.CompleteParams),
    "logging/setLevel": of(SetLevelParams),
    "subscriptions/listen": of(ListenParams),
    "tasks/get": of(tasks.TaskParams),
    "tasks/result": of(tasks.TaskParams),
    "tasks/list": of(PaginatedParams),
    "tasks/cancel": of(tasks.TaskParams),
    "sampling/createMessage": of(sampling.CreateMessageParams),
    "elicitation/create": elicitation.read_elicit_params,
    "roots/list": of(RequestParams),
    "notifications/initialized": of(NotificationParams),
    "notifications/roots/list_changed": of(NotificationParams),
    "notifications/cancelled": of(CancelledParams),
    "notifications/progress": of(ProgressParams),
    "notifications/tasks/status": of(tasks.Task),
    "notifications/message": of(LogMessageParams),
    "notifications/tools/list_changed": of(NotificationParams),
    "notifications/prompts/list_changed": of(NotificationParams),
    "notifications/resources/list_changed": of(NotificationParams),
    "notifications/resources/updated": of(ResourceUpdatedParams),
    "notifications/elicitation/complete": of(elicitation.ElicitationCompleteParams),
    "notifications/subscriptions/acknowledged": of(ListenAcknowledgedParams),
}

#: Every other definition that one of our types holds.
DEFINITIONS: Mapping[str, Reader] = {
    "Annotations": of(Annotations),
    "AudioContent": of(content.AudioContent),
    "BlobResourceContents": of(BlobResourceContents),
    "CacheableResult": of(CacheableResult),
    "CallToolRequestParams": PARAMS["tools/call"],
    "CallToolResult": of(CallToolResult),
    "CancelTaskResult": of(tasks.Task),
    "CancelledNotificationParams": PARAMS["notifications/cancelled"],
    "ClientCapabilities": of(ClientCapabilities),
    "CompleteRequestParams": PARAMS["completion/complete"],
    "CompleteResult": of(completion.CompleteResult),
    "ContentBlock": content.read_content,
    "CreateMessageRequestParams": PARAMS["sampling/createMessage"],
    "CreateMessageResult": of(sampling.CreateMessageResult),
    "CreateTaskResult": of(tasks.CreateTaskResult),
    "DiscoverResult": of(DiscoverResult),
    "ElicitRequestFormParams": of(elicitation.ElicitFormParams),
    "ElicitRequestParams": PARAMS["elicitation/create"],
    "ElicitRequestURLParams": of(elicitation.ElicitUrlParams),
    "ElicitResult": of(elicitation.ElicitResult),
    "EmbeddedResource": of(content.EmbeddedResource),
    "EmptyResult": of(Result),
    "GetPromptRequestParams": PARAMS["prompts/get"],
    "GetPromptResult": of(prompts.GetPromptResult),
    "GetTaskResult": of(tasks.Task),
    "Icon": of(Icon),
    "ImageContent": of(content.ImageContent),
    "Implementation": of(Implementation),
    "InitializeRequestParams": PARAMS["initialize"],
    "InitializeResult": of(InitializeResult),
    "InputRequest": of(InputRequest),
    "InputRequiredResult": of(InputRequired),
    "InputResponseRequestParams": of(RetriableParams),
    "ListPromptsResult": of(prompts.ListPromptsResult),
    "ListResourceTemplatesResult": of(ListResourceTemplatesResult),
    "ListResourcesResult": of(ListResourcesResult),
    "ListRootsResult": of(ListRootsResult),
    "ListTasksResult": of(tasks.ListTasksResult),
    "ListToolsResult": of(ListToolsResult),
    "LoggingMessageNotificationParams": PARAMS["notifications/message"],
    "ModelHint": of(sampling.ModelHint),
    "ModelPreferences": of(sampling.ModelPreferences),
    "NotificationMetaObject": of(NotificationMeta),
    "NotificationParams": of(NotificationParams),
    "PaginatedRequestParams": of(PaginatedParams),
    "ProgressNotificationParams": PARAMS["notifications/progress"],
    "Prompt": of(prompts.Prompt),
    "PromptArgument": of(prompts.PromptArgument),
    "PromptMessage": of(prompts.PromptMessage),
    "PromptReference": of(completion.PromptReference),
    "ReadResourceRequestParams": PARAMS["resources/read"],
    "ReadResourceResult": of(ReadResourceResult),
    "RelatedTaskMetadata": of(tasks.RelatedTask),
    "RequestMetaObject": of(RequestMeta),
    "RequestParams": of(RequestParams),
    "Resource": of(Resource),
    "ResourceLink": of(content.ResourceLink),
    "ResourceReference": of(completion.ResourceTemplateReference),
    "ResourceRequestParams": of(SubscribeParams),
    "ResourceTemplate": of(ResourceTemplate),
    "ResourceTemplateReference": of(completion.ResourceTemplateReference),
    "ResourceUpdatedNotificationParams": PARAMS["notifications/resources/updated"],
    "ResultMetaObject": of(ResultMeta),
    "Root": of(Root),
    "SamplingMessage": of(sampling.SamplingMessage),
    "SamplingMessageContentBlock": content.read_content,
    "ServerCapabilities": of(ServerCapabilities),
    "SetLevelRequestParams": PARAMS["logging/setLevel"],
    "SubscribeRequestParams": PARAMS["resources/subscribe"],
    "SubscriptionFilter": of(SubscriptionFilter),
    "SubscriptionsAcknowledgedNotificationParams": PARAMS["notifications/subscriptions/acknowledged"],
    "SubscriptionsListenRequestParams": PARAMS["subscriptions/listen"],
    "SubscriptionsListenResult": of(ListenResult),
    "SubscriptionsListenResultMetaObject": of(ResultMeta),
    "Task": of(tasks.Task),
    "TaskMetadata": of(tasks.TaskMetadata),
    "TaskStatusNotificationParams": of(tasks.Task),
    "TextContent": of(content.TextContent),
    "TextResourceContents": of(TextResourceContents),
    "Tool": of(Tool),
    "ToolAnnotations": of(ToolAnnotations),
    "ToolChoice": of(sampling.ToolChoice),
    "ToolExecution": of(ToolExecution),
    "ToolResultContent": of(content.ToolResultContent),
    "ToolUseContent": of(content.ToolUseContent),
    "UnsubscribeRequestParams": PARAMS["resources/unsubscribe"],
}

#: The data of errors that have a definition.
ERROR_DATA: Mapping[str, Reader] = {
    "MissingRequiredClientCapabilityError": of(error_data.MissingCapabilityData),
    "UnsupportedProtocolVersionError": of(error_data.UnsupportedVersionData),
    "URLElicitationRequiredError": of(error_data.UrlElicitationData),
}

#: What a list holds that is raw JSON until it is asked for.
ITEMS: Mapping[tuple[type, str], Reader] = {
    (ListToolsResult, "tools"): of(Tool),
    (prompts.ListPromptsResult, "prompts"): of(prompts.Prompt),
    (prompts.GetPromptResult, "messages"): of(prompts.PromptMessage),
    (ListResourcesResult, "resources"): of(Resource),
    (ListResourceTemplatesResult, "resource_templates"): of(ResourceTemplate),
    (ReadResourceResult, "contents"): read_contents,
    (ListRootsResult, "roots"): of(Root),
    (sampling.CreateMessageParams, "messages"): of(sampling.SamplingMessage),
    (sampling.CreateMessageParams, "tools"): of(Tool),
    (tasks.ListTasksResult, "tasks"): of(tasks.Task),
    (error_data.UrlElicitationData, "elicitations"): of(elicitation.ElicitUrlParams),
}


def with_items(value: Any) -> Any:
    """A value whose lists hold typed items instead of raw ones."""
    for (type_, name), reader in ITEMS.items():
        if isinstance(value, type_) and getattr(value, name) is not msgspec.UNSET:
            items = [reader(bytes(item)) if isinstance(item, Raw) else item for item in getattr(value, name)]
            value = msgspec.structs.replace(value, **{name: items})
    return value


def again(raw: bytes, reader: Reader) -> bytes:
    """Read JSON into a type, and write it."""
    value = with_items(reader(raw))
    assert "UnknownContent" not in repr(value), "known content is known"
    return encode_value(value)


__all__ = ("DEFINITIONS", "ERROR_DATA", "ITEMS", "PARAMS", "Reader", "again", "of", "with_items")
