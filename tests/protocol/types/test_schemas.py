"""Whatever the official schemas allow is read into a type and written again, member for member."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from anywire.protocol.features import REVISIONS
from tests.protocol.samples import samples
from tests.protocol.schemas import PRESENT, all_definitions, complaints, definitions, examples, needs_schemas
from tests.protocol.types.readers import DEFINITIONS, ERROR_DATA, PARAMS, Reader, again

# What our types do not hold: JSON-RPC, unions of others, plain values, and schemas inside of schemas.
ELSEWHERE = {
    *(
        "JSONRPCBatchRequest",
        "JSONRPCBatchResponse",
        "JSONRPCError",
        "JSONRPCErrorResponse",
        "JSONRPCMessage",
    ),
    *("JSONRPCNotification", "JSONRPCRequest", "JSONRPCResponse", "JSONRPCResultResponse", "RequestId"),
    *("ClientNotification", "ClientRequest", "ClientResult", "ServerNotification", "ServerRequest"),
    *(
        "ServerResult",
        "Request",
        "Notification",
        "PaginatedRequest",
        "PaginatedResult",
        "Result",
        "ResultType",
    ),
    *("Error", "InternalError", "InvalidParamsError", "InvalidRequestError", "MethodNotFoundError"),
    *("ParseError", "HeaderMismatchError", "JSONArray", "JSONObject", "JSONValue", "MetaObject", "Cursor"),
    *("LoggingLevel", "ProgressToken", "Role", "TaskStatus", "Annotated", "BaseMetadata", "Icons"),
    *("ResourceContents", "InputRequests", "InputResponse", "InputResponses", "TaskAugmentedRequestParams"),
    *(
        "GetTaskPayloadResult",
        "BooleanSchema",
        "EnumSchema",
        "LegacyTitledEnumSchema",
        "MultiSelectEnumSchema",
    ),
    *("NumberSchema", "PrimitiveSchemaDefinition", "SingleSelectEnumSchema", "StringSchema"),
    *("TitledMultiSelectEnumSchema", "TitledSingleSelectEnumSchema", "UntitledMultiSelectEnumSchema"),
    *("UntitledSingleSelectEnumSchema",),
}


def canonical(value: object) -> str:
    """A value written so that equal ones are equal and `1`, `1.0` and `true` are not."""
    return json.dumps(value, sort_keys=True)


def method_of(definition: dict[str, Any]) -> str | None:
    """The method of a message's definition."""
    return definition.get("properties", {}).get("method", {}).get("const")


def comes_back(value: Any, reader: Reader) -> None:
    """A value is the same after it was read and written."""
    raw = json.dumps(value).encode()
    assert canonical(json.loads(again(raw, reader))) == canonical(value)


def message_comes_back(value: dict[str, Any]) -> None:
    """The params of a message are the same after they were read and written."""
    if "params" in value:
        comes_back(value["params"], PARAMS[value["method"]])


@needs_schemas
@pytest.mark.parametrize(("revision", "name"), all_definitions())
def test_instances_of_each_definition_come_back(revision: str, name: str) -> None:
    """With all members and with none, and with each alternative."""
    definition = definitions(revision)[name]
    instances = samples(revision, name)
    assert [complaint for value in instances for complaint in complaints(revision, name, value)] == []
    for value in instances:
        if name in DEFINITIONS:
            comes_back(value, DEFINITIONS[name])
        elif name in ERROR_DATA:
            comes_back(value["error"]["data"], ERROR_DATA[name])
        elif method_of(definition) is not None:
            message_comes_back(value)
        elif name.endswith("ResultResponse") and name.removesuffix("Response") in DEFINITIONS:
            continue
        else:
            assert name in ELSEWHERE


@needs_schemas
def test_there_is_a_type_for_nothing_but_what_is_defined() -> None:
    defined = {name for _, name in all_definitions()}

    assert {name for name in (*DEFINITIONS, *ERROR_DATA, *ELSEWHERE) if name not in defined} == set()


@needs_schemas
@pytest.mark.parametrize("path", examples(), ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_published_examples_come_back(path: Path) -> None:
    """Each is the same JSON after it was read and written."""
    name = path.parent.name
    value = json.loads(path.read_text(encoding="utf-8"))
    if name in DEFINITIONS:
        comes_back(value, DEFINITIONS[name])
    elif name in ERROR_DATA:
        comes_back(value["error"]["data"], ERROR_DATA[name])
    elif name == "InputRequests":
        for request in value.values():
            comes_back(request, DEFINITIONS["InputRequest"])
            message_comes_back(request)
    elif name == "InputResponses":
        comes_back(value["github_login"], DEFINITIONS["ElicitResult"])
        comes_back(value["capital_of_france"], DEFINITIONS["CreateMessageResult"])
    elif "method" in value:
        message_comes_back(value)
    elif name.endswith("ResultResponse"):
        comes_back(value["result"], DEFINITIONS[name.removesuffix("Response")])
    else:
        assert name in ELSEWHERE


@needs_schemas
def test_the_examples_are_there() -> None:
    assert PRESENT
    assert len(examples()) > 100
    assert all(path.parents[2].name in REVISIONS for path in examples())
