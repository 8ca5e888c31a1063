"""What either side can do, and what is said at the start of a conversation or with each request."""

from __future__ import annotations

import pytest
from msgspec import UNSET, Raw

from anywire.protocol.types.discover import DiscoverResult
from anywire.protocol.types.envelope import (
    CLIENT_CAPABILITIES_KEY,
    CLIENT_INFO_KEY,
    LOG_LEVEL_KEY,
    PROTOCOL_VERSION_KEY,
    RequestMeta,
    ResultMeta,
    result_type,
)
from anywire.protocol.types.error_data import McpErrorCode, MissingCapabilityData, UnsupportedVersionData
from anywire.protocol.types.initialize import (
    ClientCapabilities,
    ElicitationCapability,
    Implementation,
    PromptsCapability,
    ResourcesCapability,
    RootsCapability,
    SamplingCapability,
    ServerCapabilities,
    ToolsCapability,
)
from anywire.protocol.types.input_required import InputRequest, InputRequired
from anywire.protocol.types.reading import read
from anywire.wire.value import encode_value

# Capabilities.


def test_what_is_absent_cannot_be_done() -> None:
    assert read(b"{}", ServerCapabilities) == ServerCapabilities()
    assert read(b"{}", ClientCapabilities) == ClientCapabilities()
    assert encode_value(ServerCapabilities()) == encode_value(ClientCapabilities()) == b"{}"
    assert not ServerCapabilities().tools


def test_what_is_there_can_be_done_even_if_nothing_more_is_said() -> None:
    capabilities = read(b'{"tools":{},"resources":{"subscribe":true}}', ServerCapabilities)

    assert capabilities == ServerCapabilities(
        tools=ToolsCapability(), resources=ResourcesCapability(subscribe=True)
    )
    assert encode_value(capabilities) == b'{"tools":{},"resources":{"subscribe":true}}'


def test_a_bad_member_of_a_server_costs_only_itself() -> None:
    raw = (
        b'{"tools":{"listChanged":"yes"},"prompts":{"listChanged":true},"logging":null,"resources":7,'
        b'"completions":{},"extensions":[],"experimental":{"a":1},"future":{}}'
    )
    capabilities = read(raw, ServerCapabilities)

    assert capabilities == ServerCapabilities(
        tools=ToolsCapability(), prompts=PromptsCapability(True), completions={}, experimental={"a": 1}
    )
    assert capabilities.raw == raw


def test_a_bad_member_of_a_client_costs_only_itself() -> None:
    raw = b'{"roots":{"listChanged":1},"sampling":{"tools":{},"context":true},"elicitation":"yes","tasks":{"a":1}}'

    assert read(raw, ClientCapabilities) == ClientCapabilities(
        roots=RootsCapability(), sampling=SamplingCapability(tools={}), tasks={"a": 1}
    )


@pytest.mark.parametrize(
    ("raw", "forms", "urls"),
    [
        (b"{}", True, False),
        (b'{"form":{}}', True, False),
        (b'{"form":{},"url":{}}', True, True),
        (b'{"url":{}}', False, True),
    ],
)
def test_forms_are_taken_unless_only_addresses_are_named(raw: bytes, forms: bool, urls: bool) -> None:
    elicitation = read(raw, ElicitationCapability)

    assert (elicitation.takes_forms, elicitation.takes_urls) == (forms, urls)


# Without a handshake.


def test_a_request_says_who_asks_and_how() -> None:
    raw = (
        b'{"%b":"2026-07-28","%b":{"elicitation":{}},"%b":{"name":"host","version":"1"},"%b":"info",'
        b'"progressToken":7,"traceparent":"00-1","example.com/own":1}'
    ) % tuple(
        key.encode()
        for key in (PROTOCOL_VERSION_KEY, CLIENT_CAPABILITIES_KEY, CLIENT_INFO_KEY, LOG_LEVEL_KEY)
    )
    meta = read(raw, RequestMeta)

    assert meta == RequestMeta(
        "2026-07-28",
        ClientCapabilities(elicitation=ElicitationCapability()),
        Implementation("host", "1"),
        "info",
        7,
        "00-1",
    )
    assert meta.raw == raw


def test_a_request_of_which_only_the_log_level_is_odd_is_still_told_apart() -> None:
    meta = read(
        b'{"%b":"2026-07-28","%b":"loud"}' % (PROTOCOL_VERSION_KEY.encode(), LOG_LEVEL_KEY.encode()),
        RequestMeta,
    )

    assert meta == RequestMeta("2026-07-28")


@pytest.mark.parametrize(
    ("raw", "told"),
    [
        (b'{"resultType":"complete"}', "complete"),
        (b"{}", "complete"),
        (b'{"resultType":"input_required","x":1}', "input_required"),
        (b'{"resultType":"task"}', "task"),
        (b'{"resultType":7}', None),
        (b"[]", None),
        (b"{", None),
    ],
)
def test_a_result_says_what_it_is(raw: bytes, told: str | None) -> None:
    assert result_type(raw) == told


KEY = b'"io.modelcontextprotocol/serverInfo"'


@pytest.mark.parametrize(
    ("more", "info"),
    [
        (b"", None),
        (b',"_meta":{%b:{"name":"s","version":"1"}}' % KEY, Implementation("s", "1")),
        (b',"serverInfo":{"name":"s","version":"1"}', Implementation("s", "1")),
        (b',"_meta":{%b:{"name":"s"}},"serverInfo":{"name":"t"}' % KEY, Implementation("s")),
        (b',"_meta":{%b:7}' % KEY, None),
        (b',"serverInfo":"s"', None),
    ],
)
def test_a_discovered_server_says_who_it_is_in_one_place_or_the_other(
    more: bytes, info: Implementation | None
) -> None:
    result = read(b'{"supportedVersions":["2026-07-28"],"capabilities":{"x": 1.0}%b}' % more, DiscoverResult)

    assert result.server_info == info
    assert bytes(result.capabilities) == b'{"x": 1.0}'


@pytest.mark.parametrize(
    ("member", "fresh"), [(b'"ttlMs":5', 5), (b'"ttlMs":-5', 0), (b'"ttlMs":"5"', 0), (b'"x":1', 0)]
)
def test_a_result_is_fresh_for_as_long_as_it_says(member: bytes, fresh: int) -> None:
    assert read(b'{"supportedVersions":[],%b}' % member, DiscoverResult).fresh_ms == fresh


def test_a_result_that_requires_input_keeps_its_requests_and_its_state() -> None:
    raw = b'{"resultType":"input_required","inputRequests":{"a":{"method":"roots/list"},"b":{"method":"x","params":{"n": 1.0}}},"requestState":""}'
    result = read(raw, InputRequired)

    assert result.input_requests == {
        "a": InputRequest("roots/list"),
        "b": InputRequest("x", Raw(b'{"n": 1.0}')),
    }
    assert result.request_state == ""
    assert encode_value(result) == raw
    assert (
        encode_value(InputRequired(request_state="s"))
        == b'{"resultType":"input_required","requestState":"s"}'
    )


def test_the_end_of_a_subscription_names_it() -> None:
    assert read(b'{"io.modelcontextprotocol/subscriptionId":"7"}', ResultMeta).subscription_id == "7"
    assert read(b'{"io.modelcontextprotocol/subscriptionId":null}', ResultMeta).subscription_id is UNSET


# Errors.


def test_the_data_of_an_error_is_read() -> None:
    supported = read(b'{"supported":["a"],"requested":"b","x":1}', UnsupportedVersionData)
    missing = read(b'{"requiredCapabilities":{"elicitation":{"url":{}}}}', MissingCapabilityData)

    assert (supported.supported, supported.requested) == (["a"], "b")
    assert read(missing.required_capabilities, ClientCapabilities).elicitation == ElicitationCapability(
        url={}
    )


def test_error_codes_are_numbers() -> None:
    assert encode_value(McpErrorCode.HeaderMismatch) == b"-32020"
    assert McpErrorCode(-32022) is McpErrorCode.UnsupportedProtocolVersion
