"""Each feature of the protocol once: servers on the official SDKs, used by anywire's client, on both transports.

In the handshake era with all of them, and in the stateless one (2026-07-28) with those that know it.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

import msgspec
import pytest
from msgspec import UNSET

from anywire.client.event import ElicitationCompleted, ListChanged, ResourceUpdated
from anywire.protocol.types.content import (
    AudioContent,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    ToolResultContent,
    ToolUseContent,
)
from anywire.protocol.types.elicitation import ElicitUrlParams
from anywire.protocol.types.icons import Icon
from anywire.wire.codec import decode_value
from tests.interop.features import ICON, PIXEL, ROOTS, SDKS, SOUND, TRANSPORTS, Sdk, Transport, program
from tests.interop.listening import free_port, listening
from tests.interop.peers import SCRIPTS
from tests.interop.using import Era, Used, use

pytestmark = pytest.mark.interop

RUNS: list[tuple[Sdk, Transport, Era]] = [
    *((sdk, transport, "legacy") for transport in TRANSPORTS for sdk in SDKS),
    *((sdk, transport, "modern") for transport in TRANSPORTS for sdk in SDKS if sdk.endswith("2")),
]
DATA: dict[str, Any] = json.loads((SCRIPTS / "features.json").read_text(encoding="utf-8"))
ICONS = [msgspec.convert(ICON, Icon)]


@pytest.fixture(scope="module", params=RUNS, ids=["-".join(run) for run in RUNS])
def used(request: pytest.FixtureRequest) -> Used:
    """One conversation of anywire's client with a server on an SDK."""
    sdk, transport, era = request.param
    server = [*(str(part) for part in program(sdk, "sdk_server", request)), era]
    if transport == "stdio":
        return asyncio.run(use(sdk, server, era))
    port = free_port()
    with listening([*server, str(port)], port):
        # The servers on the Python SDKs redirect to the same with a slash at its end.
        return asyncio.run(use(sdk, f"http://127.0.0.1:{port}/mcp", era))


def as_json(value: Any) -> Any:
    """A typed value as it is on the wire."""
    return msgspec.json.decode(msgspec.json.encode(value))


def test_every_step_could_be_taken(used: Used) -> None:
    """No step fails and none waits in vain."""
    assert used.failed == {}


def test_the_server_introduces_itself(used: Used) -> None:
    """Name, website and icons arrive, and all that it can do."""
    revision, server = used["handshake"]

    assert revision == server.protocol_version == ("2026-07-28" if used.stateless else "2025-11-25")
    info = server.server_info
    assert (info.name, info.version, info.website_url) == ("sdk-features", "3.2.1", "https://example.com/")
    assert (info.icons, server.instructions) == (ICONS, "Try é🙂 everything.")
    able = decode_value(server.capabilities, dict[str, Any])
    assert able["resources"] == {"subscribe": True, "listChanged": True}
    assert able["tools"] == able["prompts"] == {"listChanged": True}
    assert able["logging"] == able["completions"] == {}


def test_tools_are_listed_over_all_pages_with_all_that_is_known(used: Used) -> None:
    """Fifteen tools come four a page; schemas, annotations, icons and `_meta` are as they were."""
    tools = used["tools"]

    assert list(tools) == [tool["name"] for tool in DATA["tools"]]
    assert as_json(tools["weather"]) == DATA["tools"][0]
    assert (tools["weather"].hints.title, tools["weather"].hints.read_only_hint) == ("The weather", True)


def test_structured_content_is_given(used: Used) -> None:
    """It fits the listed schema, which is checked."""
    weather = used["results"][0]

    assert weather.structured == {"city": "Orléans", "celsius": 21.5}
    assert (weather.text, weather.is_error) == ("21.5 degrees", False)


def test_every_kind_of_block_is_read(used: Used) -> None:
    """Text, an image, audio, a link to a resource and embedded resources, with their annotations."""
    blocks = used["results"][1].blocks

    kinds = [TextContent, ImageContent, AudioContent, ResourceLink, EmbeddedResource, EmbeddedResource]
    assert [type(block) for block in blocks] == kinds
    assert as_json(blocks) == DATA["results"]["blocks"]["content"]
    assert (blocks[1].data, blocks[2].data, blocks[3].icons) == (PIXEL, SOUND, ICONS)


def test_a_tool_that_failed_is_a_result_that_says_so(used: Used) -> None:
    """With its reason."""
    failed = used["results"][2]

    assert (failed.is_error, failed.text) == (True, "no luck é🙂")


def test_resources_and_templates_are_listed_and_read(used: Used) -> None:
    """Over two pages, with annotations, size, icons and `_meta`; text and bytes."""
    listed, templates, read = used["resources"]

    assert list(listed) == [resource["name"] for resource in DATA["resources"]]
    assert as_json(listed["today"]) == DATA["resources"][0]
    assert as_json(templates) == DATA["templates"]
    assert [as_json(contents) for contents in read] == [[each] for each in DATA["contents"].values()]


def test_a_missing_resource_is_an_error_that_names_it(used: Used) -> None:
    """The TypeScript SDK 2.x sends -32602 also where the revision wants -32002."""
    error = used["missing"]

    code = -32602 if used.stateless or used.sdk == "typescript-2" else -32002
    assert error.code == code
    assert json.loads(error.data) == {"uri": "memo://missing"}


def test_updates_come_while_there_is_a_subscription(used: Used) -> None:
    """Only of the resource that it is of, and no more after its end."""
    first, after = used["subscription"]

    assert [event.uri for event in first] == ["memo://today"]
    assert not any(isinstance(event, ResourceUpdated) for event in after)


def test_lists_that_change_at_run_time_are_told_of(used: Used) -> None:
    """All three, and the list of tools is another then."""
    grown, changed, shrunk = used["growth"]

    assert ("grown" in grown, "grown" in shrunk) == (True, False)
    assert changed == {"tools", "resources", "prompts"}


def test_a_prompt_is_listed_and_got(used: Used) -> None:
    """Arguments are described; messages hold text, an image and a resource."""
    listed, prompt = used["prompts"]

    assert as_json(listed) == DATA["prompts"]
    assert prompt.description == "Greet somebody."
    assert as_json(prompt.messages) == DATA["prompt"]["messages"]


def test_arguments_are_completed(used: Used) -> None:
    """The server hears which argument, what is typed, and what is known already."""
    completions = used["completions"]

    assert [each.values for each in completions] == [["A name"], ["A name cool"], ["mon day"]]
    assert {(each.total, each.has_more) for each in completions} == {(7, True)}


def test_log_messages_come_of_the_level_that_was_asked_for(used: Used) -> None:
    """First warnings and worse, then all."""
    every = [
        {"level": level, "logger": "features", "data": {"text": f"{level} é🙂"}}
        for level in ("debug", "warning", "error")
    ]
    assert used["logs"] == [every[1:], every]


def test_roots_are_told(used: Used) -> None:
    """Those of now, also after they have changed."""
    assert used["folders"] == [ROOTS, ROOTS[1:]]


def test_the_model_is_asked(used: Used) -> None:
    """Messages, prompt, preferences and limits arrive, and what the model said goes back."""
    asked, answer = used["sample"]

    assert as_json(asked) == DATA["questions"]["sample"]["params"]
    assert (asked.messages[1].content.data, asked.model_preferences.cost_priority) == (PIXEL, 1)
    content = {"type": "text", "text": "A pixel é🙂"}
    assert answer == {"role": "assistant", "content": content, "model": "m", "stopReason": "endTurn"}


def test_the_model_may_use_tools(used: Used) -> None:
    """Tools, an earlier call and its result arrive, and the call that the model wants goes back."""
    asked, answer = used["sample_with_tools"]

    assert as_json(asked) == DATA["questions"]["sample_with_tools"]["params"]
    assert isinstance(asked.messages[1].content[0], ToolUseContent)
    assert isinstance(asked.messages[2].content[0], ToolResultContent)
    assert answer["stopReason"] == "toolUse"
    assert answer["content"] == [
        {"type": "text", "text": "Let me look."},
        {"type": "tool_use", "id": "u1", "name": "weather", "input": {"city": "Orléans"}},
    ]


def test_the_user_fills_in_a_form(used: Used) -> None:
    """Every kind of member arrives; what was left out has the form's defaults."""
    asked, answer = used["form"]

    assert asked.message == "Your order é🙂?"
    assert asked.requested_schema == DATA["questions"]["form"]["params"]["requestedSchema"]
    assert answer["action"] == "accept"
    assert answer["content"] == {
        "name": "Ada",
        "count": 3,
        "email": "ada@example.com",
        "size": "large",
        "colour": "#0f0",
        "extras": ["ham"],
        "price": 9.5,
        "gift": True,
    }


def test_the_user_is_sent_to_an_address(used: Used) -> None:
    """The address arrives, the user agrees, and the end of the visit is told."""
    asked, answer, done = used["visit"]

    assert isinstance(asked, ElicitUrlParams)
    assert asked.url == "https://example.com/login?id=7"
    assert answer == {"action": "accept"}
    if used.stateless:
        assert (asked.elicitation_id, done) == (UNSET, None)
    else:
        assert isinstance(done, ElicitationCompleted)
        assert asked.elicitation_id == done.elicitation_id == "visit-7"


def test_progress_arrives_with_total_and_message(used: Used) -> None:
    """Each step, before the result."""
    seen, text = used["progress"]

    assert seen == [(step, 3, f"step {step} é🙂") for step in (1, 2, 3)]
    assert text == "counted to 3"


def test_a_call_that_is_given_up_is_cancelled(used: Used) -> None:
    """The server's handler hears of it, and the next call works."""
    assert used["cancel"] == "1"


def test_either_side_answers_a_ping(used: Used) -> None:
    """The server's answer is waited for, ours is empty."""
    assert used["pings"] == (None if used.stateless else {})


def test_after_the_end_of_a_subscription_lists_are_still_told_of(used: Used) -> None:
    """A listener without resources hears of what changes in general."""
    assert any(isinstance(event, ListChanged) for event in used["subscription"][1])
