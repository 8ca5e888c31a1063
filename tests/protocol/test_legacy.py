"""The handshake, from either side."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anywire.protocol.legacy import ClientConversation, ServerConversation, ServerIdentity
from anywire.protocol.revisions import MCP_LATEST_PROTOCOL_VERSION, MCP_PROTOCOL_VERSIONS
from anywire.protocol.types.icons import Icon
from anywire.protocol.types.initialize import Implementation, ServerCapabilities, ToolsCapability
from anywire.wire.message import NULL_ID
from tests.wire.strategies import json_texts, mutations, odd_string_pieces, thorough

IDENTITY = ServerIdentity(Implementation("calc", "1.0"), ServerCapabilities(tools=ToolsCapability()))
PARAMS = b'{"protocolVersion":"2025-06-18","capabilities":{"roots": {}},"clientInfo":{"name":"host","version":"2"}}'


def answer(params: bytes | None, identity: ServerIdentity = IDENTITY) -> dict[str, Any]:
    """What a server answers to these params."""
    return json.loads(ServerConversation().initialize(params, identity))


# The server.


@pytest.mark.parametrize("version", MCP_PROTOCOL_VERSIONS)
def test_a_server_echoes_each_revision_it_speaks(version: str) -> None:
    assert answer(b'{"protocolVersion":"%b"}' % version.encode())["protocolVersion"] == version


def test_a_server_answers_its_latest_to_any_other() -> None:
    assert answer(b'{"protocolVersion":"1999-01-01"}')["protocolVersion"] == MCP_LATEST_PROTOCOL_VERSION


def test_a_server_says_who_it_is_and_what_it_can_do() -> None:
    assert answer(PARAMS) == {
        "protocolVersion": "2025-06-18",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "calc", "version": "1.0"},
    }


def test_features_that_a_server_lacks_are_not_mentioned() -> None:
    assert (
        answer(PARAMS, ServerIdentity(Implementation("x", "1"), ServerCapabilities()))["capabilities"] == {}
    )


def test_a_title_is_told_if_there_is_one() -> None:
    identity = ServerIdentity(Implementation("x", "1", "The X"), ServerCapabilities(logging={}))

    assert answer(PARAMS, identity)["serverInfo"] == {"name": "x", "version": "1", "title": "The X"}
    assert answer(PARAMS, identity)["capabilities"] == {"logging": {}}


@pytest.mark.parametrize(("instructions", "told"), [(None, False), ("", False), ("Add numbers.", True)])
def test_instructions_are_told_only_if_set(instructions: str | None, told: bool) -> None:
    result = answer(PARAMS, msgspec.structs.replace(IDENTITY, instructions=instructions))

    assert ("instructions" in result) == told


def test_a_server_keeps_what_the_client_says_of_itself() -> None:
    conversation = ServerConversation()
    conversation.initialize(PARAMS, IDENTITY)

    assert conversation.revision == "2025-06-18"
    assert conversation.client_info == Implementation("host", "2")
    assert conversation.client_capabilities.raw == b'{"roots": {}}'


@pytest.mark.parametrize(
    "params",
    [
        None,
        b"null",
        b"[]",
        b'"x"',
        b"7",
        b"{}",
        b'{"protocolVersion":null}',
        b'{"protocolVersion":7,"capabilities":[],"clientInfo":"x"}',
        b'{"clientInfo":null}',
        b'{"clientInfo":{"name":"\\ud800"}}',
        pytest.param(b'{"protocolVersion":' + b"9" * 5000 + b"}", id="5000-digits"),
        pytest.param(b'{"capabilities":' + b"[" * 100_000 + b"]" * 100_000 + b"}", id="deep"),
    ],
)
def test_bad_params_do_not_matter(params: bytes | None) -> None:
    assert answer(params)["protocolVersion"] == MCP_LATEST_PROTOCOL_VERSION


@pytest.mark.parametrize(
    "info",
    [
        b"null",
        b'"host"',
        b'{"name":7}',
        b"[]",
        b'{"name":' + b"9" * 40 + b"}",
    ],
)
def test_a_member_that_is_unusable_costs_no_other(info: bytes) -> None:
    conversation = ServerConversation()
    params = b'{"protocolVersion":"2024-11-05","capabilities":{"roots":{}},"clientInfo":%b}' % info

    result = json.loads(conversation.initialize(params, IDENTITY))

    assert result["protocolVersion"] == "2024-11-05"
    assert conversation.client_capabilities.raw == b'{"roots":{}}'
    assert conversation.client_info == Implementation()


def test_a_client_is_known_by_what_it_says_in_order() -> None:
    conversation = ServerConversation()

    conversation.initialize(b'{"clientInfo":{"name":"host","version":2,"icons":[{},{"src":"a"}]}}', IDENTITY)

    assert conversation.client_info == Implementation("host", icons=[Icon("a")])


def test_a_version_that_is_unusable_costs_no_other_member() -> None:
    conversation = ServerConversation()
    conversation.initialize(
        b'{"protocolVersion":' + b"9" * 5000 + b',"clientInfo":{"name":"host"}}', IDENTITY
    )

    assert conversation.client_info == Implementation("host")


def test_a_handshake_may_be_repeated() -> None:
    conversation = ServerConversation()
    conversation.initialize(PARAMS, IDENTITY)
    conversation.initialize(b'{"protocolVersion":"2025-03-26"}', IDENTITY)

    assert conversation.revision == "2025-03-26"
    assert conversation.client_info == Implementation()
    assert conversation.client_capabilities.raw == b"{}"


@given(
    st.one_of(
        st.binary(max_size=40), json_texts(odd_string_pieces).map(str.encode), mutations(st.just(PARAMS))
    )
)
@thorough(300)
def test_no_params_raise(params: bytes) -> None:
    assert answer(params)["protocolVersion"] in MCP_PROTOCOL_VERSIONS


# Both.


def test_before_the_handshake_nothing_is_agreed_on() -> None:
    for conversation in (ServerConversation(), ClientConversation(Implementation("x", "1"))):
        assert conversation.revision is None
        assert not conversation.batches
        assert conversation.null_id == NULL_ID


@pytest.mark.parametrize("version", MCP_PROTOCOL_VERSIONS)
def test_the_revision_decides_about_batches_and_about_ids_that_could_not_be_read(version: str) -> None:
    conversation = ServerConversation()
    conversation.initialize(b'{"protocolVersion":"%b"}' % version.encode(), IDENTITY)

    assert conversation.batches == (version == "2025-03-26")
    assert conversation.null_id == (None if version == "2025-11-25" else NULL_ID)


# The client.


def test_a_client_asks_for_the_latest_and_says_who_it_is() -> None:
    client = ClientConversation(Implementation("host", "2"), b'{"roots":{}}')

    assert json.loads(client.initialize_params()) == {
        "protocolVersion": MCP_LATEST_PROTOCOL_VERSION,
        "capabilities": {"roots": {}},
        "clientInfo": {"name": "host", "version": "2"},
    }
    assert json.loads(client.initialize_params("2024-11-05"))["protocolVersion"] == "2024-11-05"


@pytest.mark.parametrize("version", MCP_PROTOCOL_VERSIONS)
def test_both_sides_agree(version: str) -> None:
    client, server = ClientConversation(Implementation("host", "2"), b'{"roots":{}}'), ServerConversation()

    client.initialized(server.initialize(client.initialize_params(version), IDENTITY))

    assert client.revision == server.revision == version
    assert server.client_info == Implementation("host", "2")
    assert server.client_capabilities.raw == b'{"roots":{}}'
    assert client.server is not None
    assert client.server.server_info == IDENTITY.info
    assert bytes(client.server.capabilities) == b'{"tools":{}}'


def test_a_revision_that_the_client_does_not_speak_ends_it() -> None:
    client = ClientConversation(Implementation("host", "2"))
    result = b'{"protocolVersion":"1999-01-01","capabilities":{},"serverInfo":{"name":"x","version":"1"}}'

    with pytest.raises(ValueError, match="1999-01-01"):
        client.initialized(result)
    assert (client.revision, client.server) == (None, None)


@pytest.mark.parametrize("result", [b"null", b"[]", b"{}", b'{"protocolVersion":7}', b"nope"])
def test_a_result_that_cannot_be_read_is_refused(result: bytes) -> None:
    client = ClientConversation(Implementation("host", "2"))

    with pytest.raises(msgspec.MsgspecError):
        client.initialized(result)
    assert client.revision is None
