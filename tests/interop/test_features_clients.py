"""Each feature of the protocol once: the official SDKs as clients of an anywire server, on both transports.

In the handshake era with all of them, and in the stateless one (2026-07-28) with those that know it.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.interop.features import (
    ICON,
    NOW,
    PIXEL,
    ROOTS,
    SDKS,
    SOUND,
    TRANSPORTS,
    Seen,
    named,
    use_features,
)

pytestmark = pytest.mark.interop

RUNS = [
    *((sdk, transport, "legacy") for transport in TRANSPORTS for sdk in SDKS),
    *((sdk, transport, "auto") for transport in TRANSPORTS for sdk in SDKS if sdk.endswith("2")),
]


@pytest.fixture(scope="module", params=RUNS, ids=["-".join(run) for run in RUNS])
def seen(request: pytest.FixtureRequest) -> Seen:
    """One conversation of an SDK's client with the features server."""
    sdk, transport, mode = request.param
    return use_features(sdk, transport, mode, request)


def structured(result: dict[str, Any]) -> Any:
    """The structured content of a result that is no error."""
    assert not result.get("isError"), result
    return result["structuredContent"]


def asked_of(gave: dict[str, Any]) -> dict[str, Any]:
    """The one question that came, but for what the protocol itself adds to it."""
    [asked] = gave["asked"]
    return {key: value for key, value in asked.items() if key != "_meta"}


def test_every_step_could_be_taken(seen: Seen) -> None:
    """No step fails and none waits in vain."""
    assert {step: each["failed"] for step, each in seen.steps.items() if "failed" in each} == {}


def test_the_server_introduces_itself(seen: Seen) -> None:
    """Name, title, description, website and icons arrive, and all that it can do."""
    shaken = seen["handshake"]

    agreed = "2026-07-28" if seen.stateless else "2025-11-25"
    # The TypeScript SDK 1.x does not tell on stdio what was agreed on.
    assert shaken.get("protocolVersion", agreed) == agreed
    assert shaken["serverInfo"] == {
        "name": "features",
        "version": "1.2.3",
        "title": "All features",
        "description": "Each feature once.",
        "websiteUrl": "https://example.com/",
        "icons": [ICON],
    }
    assert shaken["instructions"] == "Try é🙂 everything."
    assert {name: told for name, told in shaken["capabilities"].items() if told is not None} == {
        "tools": {"listChanged": True},
        "prompts": {"listChanged": True},
        "resources": {"subscribe": True, "listChanged": True},
        "completions": {},
        "logging": {},
    }


def test_tools_are_listed_over_several_pages(seen: Seen) -> None:
    """Sixteen tools come four a page; the TypeScript SDK 2.x puts the pages together by itself."""
    listed = seen["tools"]

    assert listed.get("pages", 4) == 4
    assert len(named(listed["items"])) == len(listed["items"]) == 16


def test_a_tool_is_listed_with_all_that_is_known_of_it(seen: Seen) -> None:
    """Title, description, annotations, icons and `_meta` arrive, and both schemas."""
    weather = named(seen["tools"]["items"])["weather"]

    assert (weather["title"], weather["description"]) == ("Weather", "Tell the weather.")
    annotations = {"title": "The weather", "readOnlyHint": True, "openWorldHint": False}
    assert weather["annotations"] == annotations
    assert (weather["icons"], weather["_meta"]) == ([ICON], {"example.com/kind": "demo"})
    assert weather["inputSchema"]["required"] == ["city"]
    assert weather["inputSchema"]["properties"]["days"]["description"] == "How far ahead."
    assert weather["outputSchema"]["required"] == ["city", "celsius"]
    assert weather["outputSchema"]["properties"]["sky"]["enum"] == ["clear", "cloudy"]


def test_structured_content_fits_its_schema_and_comes_as_text_too(seen: Seen) -> None:
    """The SDK checks it against the listed schema; a list is wrapped into an object."""
    assert structured(seen["weather"]) == {"city": "Orléans", "celsius": 21.5, "sky": "clear"}
    assert '"Orléans"' in seen["weather"]["content"][0]["text"]
    assert structured(seen["numbers"]) == {"result": [1, 2, 3]}


def test_every_kind_of_block_arrives(seen: Seen) -> None:
    """Text, an image, audio, a link to a resource and embedded resources, with their annotations."""
    text, image, audio, link, inside, bytes_inside = seen["blocks"]["content"]

    assert text["annotations"] == {"audience": ["user"], "priority": 0.5, "lastModified": NOW}
    assert (image["type"], image["data"], image["mimeType"]) == ("image", PIXEL, "image/png")
    assert image["annotations"] == {"audience": ["assistant"], "priority": 1}
    assert (audio["type"], audio["data"], audio["mimeType"]) == ("audio", SOUND, "audio/wav")
    assert (link["type"], link["uri"], link["title"], link["size"]) == (
        *("resource_link", "memo://today", "Today", 4),
    )
    assert link["icons"] == [ICON]
    assert inside["resource"] == {"uri": "memo://inside", "text": "inside", "mimeType": "text/plain"}
    assert bytes_inside["resource"] == {"uri": "memo://bytes", "blob": PIXEL, "mimeType": "image/png"}


@pytest.mark.parametrize(
    ("step", "words"),
    [("fail", "no luck é🙂"), ("bad_arguments", "$.reason"), ("unknown_tool", "no-such-tool")],
)
def test_a_call_that_fails_is_a_result_with_its_reason(seen: Seen, step: str, words: str) -> None:
    """A tool that raises, arguments that do not fit and an unknown tool."""
    assert seen[step]["isError"] is True
    assert words in seen[step]["content"][0]["text"]


def test_resources_and_templates_are_listed(seen: Seen) -> None:
    """Six resources come on two pages, with size, annotations, icons and `_meta`."""
    listed = seen["resources"]
    assert (listed.get("pages", 2), len(listed["items"])) == (2, 6)
    today = named(listed["items"])["today"]
    annotations = {"audience": ["user", "assistant"], "priority": 0.75, "lastModified": NOW}
    assert (today["annotations"], today["size"], today["icons"]) == (annotations, 7, [ICON])
    assert (today["title"], today["_meta"]) == ("Today", {"example.com/kind": "demo"})

    [template] = seen["templates"]["items"]
    assert template["uriTemplate"] == "memo://of/{person}/{day}"
    assert (template["title"], template["mimeType"], template["icons"]) == ("Memos", "text/plain", [ICON])


def test_resources_are_read(seen: Seen) -> None:
    """Text, bytes, and what a template describes."""
    assert [read["contents"] for read in seen["read"]] == [
        [{"uri": "memo://today", "mimeType": "text/markdown", "text": "# é🙂"}],
        [{"uri": "memo://pixel", "mimeType": "image/png", "blob": PIXEL}],
        [{"uri": "memo://of/ada/monday", "mimeType": "text/plain", "text": "ada on monday"}],
    ]


def test_a_missing_resource_is_an_error_that_names_it(seen: Seen) -> None:
    """The code is -32002, for which the TypeScript SDK 2.x gives out that of 2026-07-28, its own."""
    code = -32602 if seen.stateless or seen.sdk == "typescript-2" else -32002

    assert seen["read_missing"] == {"code": code, "data": {"uri": "memo://missing"}}


def test_updates_come_while_there_is_a_subscription(seen: Seen) -> None:
    """Only of the resource that it is of, and no more after its end."""
    update = ["notifications/resources/updated", {"uri": "memo://today"}]

    assert seen["subscribe"] == {"told": [update], "after": []}


def test_a_prompt_is_listed_and_got(seen: Seen) -> None:
    """Arguments are described; messages hold text, an image and a resource."""
    [greet] = seen["prompts"]["items"]
    assert (greet["title"], greet["icons"]) == ("Greeting", [ICON])
    assert [(each["name"], each["required"]) for each in greet["arguments"]] == [
        ("name", True),
        ("tone", False),
    ]

    messages = seen["prompt"]["messages"]
    assert seen["prompt"]["description"] == "Greet somebody."
    assert [message["role"] for message in messages] == ["user", "assistant", "user", "user"]
    assert messages[0]["content"]["text"] == "Greet Ada in a cool way é🙂"
    assert messages[2]["content"]["data"] == PIXEL
    assert messages[3]["content"]["resource"]["text"] == "# é🙂"


def test_arguments_are_completed(seen: Seen) -> None:
    """Of a prompt, with what is known already, by type, and of a template with more than fit."""
    completions = {name: each["completion"] for name, each in seen["completion"].items()}

    assert completions["name"]["values"] == ["Ada", "Alan"]
    assert completions["known"]["values"] == ["Ada (cool)", "Alan (cool)"]
    assert completions["tone"] == {"values": ["warm"], "total": 1, "hasMore": False}
    assert (len(completions["day"]["values"]), completions["day"]["total"]) == (100, 150)
    assert completions["day"]["hasMore"] is True


def test_log_messages_come_of_the_level_that_was_asked_for(seen: Seen) -> None:
    """First warnings and worse, then all."""
    every = [
        {"level": level, "logger": "features", "data": {"text": f"{level} é🙂"}}
        for level in ("debug", "warning", "error")
    ]
    assert seen["log"] == {"warning": every[1:], "debug": every}


def test_lists_that_change_at_run_time_are_told_of(seen: Seen) -> None:
    """Tools, resources and prompts, when one comes and when it goes."""
    changed = [f"notifications/{each}/list_changed" for each in ("prompts", "resources", "tools")]

    assert seen["grow"] == {"grown": [changed, True], "shrunk": [changed, False]}


def test_the_server_asks_for_roots(seen: Seen) -> None:
    """Those of now, also after they have changed."""
    assert seen["roots"] == [{"result": ROOTS}, {"result": ROOTS[1:]}]


def test_the_server_asks_the_model(seen: Seen) -> None:
    """Messages, prompt, preferences and limits arrive, and what the model said comes back."""
    assert asked_of(seen["sample"]) == {
        "messages": [
            {"role": "user", "content": {"type": "text", "text": "What is this é🙂?"}},
            {"role": "user", "content": {"type": "image", "data": PIXEL, "mimeType": "image/png"}},
        ],
        "maxTokens": 99,
        "systemPrompt": "Be brief.",
        "temperature": 0.25,
        "stopSequences": ["\n\n"],
        "modelPreferences": {"hints": [{"name": "small"}], "costPriority": 1, "speedPriority": 0.5},
        "metadata": {"trace": "7"},
    }
    assert structured(seen["sample"]["answer"]) == {
        "role": "assistant",
        "content": {"type": "text", "text": "A pixel é🙂"},
        "model": "m",
        "stopReason": "endTurn",
    }


def test_the_model_may_use_tools(seen: Seen) -> None:
    """The tools arrive, and the call that the model wants comes back beside its text."""
    asked = asked_of(seen["sample_with_tools"])
    assert [tool["name"] for tool in asked["tools"]] == ["weather"]
    assert asked["toolChoice"] == {"mode": "required"}

    said = structured(seen["sample_with_tools"]["answer"])
    assert said["stopReason"] == "toolUse"
    assert said["content"] == [
        {"type": "text", "text": "Let me look."},
        {"type": "tool_use", "id": "u1", "name": "weather", "input": {"city": "Orléans"}},
    ]


def test_the_user_fills_in_a_form(seen: Seen) -> None:
    """Types, choices and defaults arrive, and what was filled in comes back, or that nothing was."""
    asked = asked_of(seen["form"])
    assert asked["message"] == "Your order é🙂?"
    members = asked["requestedSchema"]["properties"]
    assert asked["requestedSchema"]["required"] == ["name"]
    assert sorted(members["size"]["enum"]) == ["large", "small"]
    defaults = {name: member["default"] for name, member in members.items() if "default" in member}
    assert defaults == {"size": "large", "count": 2, "price": 9.5, "gift": True}
    assert members["extras"]["items"]["enum"] == ["cheese", "ham"]

    filled_in = {
        "name": "Ada",
        "size": "small",
        "count": 3,
        "price": 1.5,
        "gift": False,
        "extras": ["cheese"],
    }
    assert structured(seen["form"]["answer"]) == {"action": "accept", "content": filled_in}
    assert structured(seen["form_declined"]["answer"]) == {"action": "decline", "content": None}


def test_the_user_is_sent_to_an_address(seen: Seen) -> None:
    """The address arrives, the user agrees, and the end of the visit is told, where visits have ids."""
    id = {} if seen.stateless else {"elicitationId": "visit-7"}
    page = {"mode": "url", "message": "Please log in", "url": "https://example.com/login?id=7"}

    assert asked_of(seen["visit"]) == {**page, **id}
    assert structured(seen["visit"]["answer"]) == {"action": "accept"}
    told = [] if seen.stateless else [["notifications/elicitation/complete", id]]
    assert seen["visit"]["told"] == told


def test_progress_arrives_with_total_and_message(seen: Seen) -> None:
    """Each step; the TypeScript SDKs drop what comes in one chunk with the reply, which ends the handler."""
    steps = [[step, 3, f"step {step} é🙂"] for step in (1, 2, 3)]

    assert seen["progress"]["answer"]["content"][0]["text"] == "counted to 3"
    if seen.sdk.startswith("typescript") and seen.transport == "stdio":
        assert seen["progress"]["seen"] == steps[: len(seen["progress"]["seen"])]
    else:
        assert seen["progress"]["seen"] == steps


def test_a_call_that_is_given_up_is_cancelled(seen: Seen) -> None:
    """The handler hears of it once its progress has reached the client, and the next call works."""
    [reason] = structured(seen["cancel"])["result"]

    if seen.stateless and seen.transport == "http":
        assert reason, "the end of the request is its cancellation, and cannot say why"
    else:
        # Python 2.x says why by itself.
        assert reason == ("caller cancelled" if seen.sdk == "python-2" else "changed my mind")


def test_either_side_answers_a_ping(seen: Seen) -> None:
    """The client's and the server's, in the era that has pings."""
    assert not seen["ping"]
    if not seen.stateless:
        assert seen["ping_back"]["content"][0]["text"] == "alive: True"
