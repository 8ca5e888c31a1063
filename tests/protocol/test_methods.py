"""The table of methods says what the official schemas say."""

from __future__ import annotations

import pytest

from anywire.protocol.features import REVISIONS
from anywire.protocol.methods import METHODS, Direction, find_method, needed_capability
from tests.protocol.schemas import definitions, methods, needs_schemas
from tests.protocol.types.readers import PARAMS

each_revision = pytest.mark.parametrize("revision", REVISIONS)


@needs_schemas
@each_revision
@pytest.mark.parametrize(
    ("side", "notification"), [("Server", False), ("Server", True), ("Client", False), ("Client", True)]
)
def test_each_side_sends_what_the_schema_lets_it_send(revision: str, side: str, notification: bool) -> None:
    kind = "Notification" if notification else "Request"
    ways = {"Server": "to_client", "Client": "to_server"}

    told = {
        method.name
        for method in METHODS.values()
        if method.notification == notification and revision in getattr(method, ways[side])
    }

    assert told == methods(revision, side + kind)


@needs_schemas
@each_revision
def test_what_is_embedded_is_what_a_result_may_ask_for(revision: str) -> None:
    told = {method.name for method in METHODS.values() if revision in method.embedded}

    assert told == methods(revision, "InputRequest")


@needs_schemas
@each_revision
def test_each_capability_is_one_of_that_revision(revision: str) -> None:
    for method in METHODS.values():
        for of_server, name in ((True, "ServerCapabilities"), (False, "ClientCapabilities")):
            path = needed_capability(method.name, revision, of_server=of_server)
            properties = definitions(revision)[name]["properties"]
            for step in path.split(".") if path else ():
                assert step in properties, f"{method.name} needs {path}"
                properties = properties[step].get("properties", {})


@needs_schemas
def test_every_method_there_is_has_its_line() -> None:
    defined = {
        definition["properties"]["method"]["const"]
        for revision in REVISIONS
        for definition in definitions(revision).values()
        if "const" in definition.get("properties", {}).get("method", {})
    }

    assert set(METHODS) == defined


def test_the_params_of_every_method_have_a_type() -> None:
    assert set(PARAMS) == set(METHODS)


def test_a_notification_is_named_as_one() -> None:
    assert all(method.notification == method.name.startswith("notifications/") for method in METHODS.values())
    assert all(name == method.name for name, method in METHODS.items())


@each_revision
def test_a_tool_is_called_in_every_revision(revision: str) -> None:
    method = find_method("tools/call", revision)

    assert method is not None
    assert method.direction(revision) is Direction.TO_SERVER
    assert needed_capability("tools/call", revision, of_server=True) == "tools"
    assert not method.reads


@pytest.mark.parametrize(
    ("name", "revision", "direction"),
    [
        ("ping", "2025-11-25", Direction.BOTH),
        ("ping", "2026-07-28", None),
        ("notifications/progress", "2025-11-25", Direction.BOTH),
        ("notifications/progress", "2026-07-28", Direction.TO_CLIENT),
        ("elicitation/create", "2025-03-26", None),
        ("elicitation/create", "2025-06-18", Direction.TO_CLIENT),
        ("elicitation/create", "2026-07-28", None),
        ("tools/call", "1999-01-01", None),
    ],
)
def test_a_method_goes_its_way(name: str, revision: str, direction: Direction | None) -> None:
    assert METHODS[name].direction(revision) is direction


def test_what_is_embedded_is_found_though_it_is_no_message() -> None:
    assert find_method("elicitation/create", "2026-07-28") is METHODS["elicitation/create"]
    assert find_method("elicitation/create", "2025-03-26") is None
    assert find_method("tools/walk", "2025-03-26") is None


def test_a_capability_is_needed_only_where_there_is_a_word_for_it() -> None:
    assert needed_capability("completion/complete", "2024-11-05", of_server=True) is None
    assert needed_capability("completion/complete", "2025-03-26", of_server=True) == "completions"
    assert needed_capability("sampling/createMessage", "2025-11-25", of_server=False) == "sampling"
    assert needed_capability("sampling/createMessage", "2025-11-25", of_server=True) is None
    assert needed_capability("tools/walk", "2025-11-25", of_server=True) is None


def test_no_notification_is_said_to_read() -> None:
    assert [method.name for method in METHODS.values() if method.notification and method.reads] == []
