"""Prompts and completions: listed, written by functions, completed while they are typed."""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Any, Literal

import pytest

from anywire import ImageContent, Server, TextContent
from anywire.errors import ConfigError
from anywire.protocol.types.completion import Completion
from anywire.protocol.types.content import AudioContent, EmbeddedResource, ResourceLink
from anywire.protocol.types.prompts import GetPromptResult, PromptMessage
from anywire.protocol.types.resources import TextResourceContents
from tests.interaction.talk import error, in_each_revision, over_each_wire, result, talk


class Tone(Enum):
    WARM = "warm"
    DRY = "dry"


def desk() -> Server:
    server = Server("desk")

    @server.prompt(title="Review")
    def review(
        code: Annotated[str, "What to look at"], lines: int = 10, style: Literal["long", "short"] = "short"
    ) -> str:
        """Ask for a review."""
        return f"Review {lines} lines, {style}: {code}"

    @server.prompt
    async def talk_about(topic: str, tone: Tone = Tone.DRY) -> list[Any]:
        return [
            f"Tell me of {topic}",
            PromptMessage("assistant", TextContent(f"In a {tone.value} way?")),
            ImageContent("aGk=", "image/png"),
            PromptMessage("user", EmbeddedResource(TextResourceContents("a://b", "held"))),
        ]

    @server.prompt
    def whole() -> GetPromptResult:
        return GetPromptResult([PromptMessage("user", TextContent("x"))], description="of its own")

    @server.prompt
    def sounds() -> list[Any]:
        return [AudioContent("aGk=", "audio/wav"), ResourceLink("a://b", "link", title="Link")]

    @server.prompt
    def broken() -> str:
        raise ValueError("out of ink")

    @server.completion("review", "code")
    async def codes(value: str, given: dict[str, str]) -> list[str]:
        return [f"{value}{each}" for each in sorted(given)] or [value * 2]

    @server.completion("file:///{path}", "path")
    def paths(value: str) -> Completion:
        return Completion([value + "/"], total=9, has_more=True)

    @server.resource("file:///{path}")
    def file(path: str) -> str:
        return path

    return server


def message(role: str, content: dict[str, Any]) -> dict[str, Any]:
    return {"role": role, "content": content}


@over_each_wire
@in_each_revision
async def test_prompts_are_listed_with_their_arguments(wire: str, revision: str) -> None:
    """As the signature and the docstring say."""
    async with talk(desk(), wire, revision) as peer:
        await peer.ask(1, "prompts/list")
        listed = (await peer.receive())["result"]["prompts"]

        assert listed[0] == {
            "name": "review",
            "title": "Review",
            "description": "Ask for a review.",
            "arguments": [
                {"name": "code", "description": "What to look at", "required": True},
                {"name": "lines", "required": False},
                {"name": "style", "required": False},
            ],
        }
        assert [each["name"] for each in listed[1:]] == ["talk_about", "whole", "sounds", "broken"]


@over_each_wire
async def test_a_text_is_one_message_of_the_users(wire: str) -> None:
    """Arguments travel as texts and become what the function wants."""
    async with talk(desk(), wire) as peer:
        await peer.ask(1, "prompts/get", {"name": "review", "arguments": {"code": "x = 1", "lines": "3"}})
        text = {"type": "text", "text": "Review 3 lines, short: x = 1"}
        await peer.expect(
            result(1, {"messages": [message("user", text)], "description": "Ask for a review."})
        )


@over_each_wire
async def test_a_list_is_several_messages(wire: str) -> None:
    """Texts, blocks, and messages made by hand."""
    async with talk(desk(), wire) as peer:
        await peer.ask(
            1, "prompts/get", {"name": "talk_about", "arguments": {"topic": "tea", "tone": "warm"}}
        )
        await peer.expect(
            result(
                1,
                {
                    "messages": [
                        message("user", {"type": "text", "text": "Tell me of tea"}),
                        message("assistant", {"type": "text", "text": "In a warm way?"}),
                        message("user", {"type": "image", "data": "aGk=", "mimeType": "image/png"}),
                        message("user", {"type": "resource", "resource": {"uri": "a://b", "text": "held"}}),
                    ]
                },
            )
        )
        await peer.ask(2, "prompts/get", {"name": "whole"})
        assert (await peer.receive())["result"]["description"] == "of its own"


async def test_blocks_fit_the_revision() -> None:
    """What an old client has no word for reaches it in words that it has."""
    async with talk(desk(), "memory", "2024-11-05") as peer:
        await peer.ask(1, "prompts/get", {"name": "sounds"})
        audio, link = (await peer.receive())["result"]["messages"]

        held = {"uri": "anywire:audio", "blob": "aGk=", "mimeType": "audio/wav"}
        assert audio["content"] == {"type": "resource", "resource": held}
        assert link["content"] == {"type": "text", "text": "Link: a://b"}


@pytest.mark.parametrize(
    ("params", "code", "words"),
    [
        (None, -32602, "name"),
        ({"name": "nope"}, -32602, "unknown prompt 'nope'; prompts of this server: broken"),
        ({"name": "review"}, -32602, "code"),
        ({"name": "review", "arguments": {"code": "x", "lines": "many"}}, -32602, "lines"),
        ({"name": "talk_about", "arguments": {"topic": "x", "tone": "loud"}}, -32602, "loud"),
        ({"name": "broken"}, -32603, "Error in prompt 'broken': out of ink"),
    ],
)
async def test_a_prompt_that_cannot_be_had_is_an_error(params: object, code: int, words: str) -> None:
    """It says which prompt, and which argument."""
    async with talk(desk()) as peer:
        await peer.ask(1, "prompts/get", params)
        got = (await peer.receive())["error"]

        assert got["code"] == code
        assert words in got["message"]


# Completion.


@over_each_wire
@pytest.mark.parametrize(
    ("params", "completion"),
    [
        (
            {"ref": {"type": "ref/prompt", "name": "review"}, "argument": {"name": "code", "value": "a"}},
            {"values": ["aa"], "total": 1, "hasMore": False},
        ),
        (
            {
                "ref": {"type": "ref/prompt", "name": "review"},
                "argument": {"name": "code", "value": "a"},
                "context": {"arguments": {"style": "long", "lines": "1"}},
            },
            {"values": ["alines", "astyle"], "total": 2, "hasMore": False},
        ),
        (
            {
                "ref": {"type": "ref/resource", "uri": "file:///{path}"},
                "argument": {"name": "path", "value": "u"},
            },
            {"values": ["u/"], "total": 9, "hasMore": True},
        ),
        (
            {"ref": {"type": "ref/prompt", "name": "review"}, "argument": {"name": "style", "value": "s"}},
            {"values": ["short"], "total": 1, "hasMore": False},
        ),
        (
            {"ref": {"type": "ref/prompt", "name": "talk_about"}, "argument": {"name": "tone", "value": ""}},
            {"values": ["dry", "warm"], "total": 2, "hasMore": False},
        ),
        (
            {"ref": {"type": "ref/prompt", "name": "review"}, "argument": {"name": "lines", "value": "1"}},
            {"values": [], "total": 0, "hasMore": False},
        ),
    ],
)
async def test_an_argument_is_completed(wire: str, params: object, completion: object) -> None:
    """By its function, which may ask what else is given; else by the choices that its type allows."""
    async with talk(desk(), wire) as peer:
        await peer.ask(1, "completion/complete", params)
        await peer.expect(result(1, {"completion": completion}))


async def test_a_hundred_values_are_told_at_most() -> None:
    """With how many there are."""
    server = desk()
    server.completion("whole", "x")(_many)
    async with talk(server) as peer:
        ref = {"type": "ref/prompt", "name": "whole"}
        await peer.ask(1, "completion/complete", {"ref": ref, "argument": {"name": "x", "value": "v"}})
        got = (await peer.receive())["result"]["completion"]

        assert (len(got["values"]), got["total"], got["hasMore"]) == (100, 250, True)


def _many(value: str) -> list[str]:
    return [f"{value}{number}" for number in range(250)]


@pytest.mark.parametrize(
    "params",
    [
        None,
        {"ref": {"type": "ref/prompt", "name": "nope"}, "argument": {"name": "a", "value": ""}},
        {"ref": {"type": "ref/other", "name": "nope"}, "argument": {"name": "a", "value": ""}},
        {"ref": {"type": "ref/prompt", "name": "review"}},
    ],
)
async def test_what_is_not_there_cannot_be_completed(params: object) -> None:
    """Invalid params, as for any reference to nothing."""
    async with talk(desk()) as peer:
        await peer.ask(1, "completion/complete", params)
        assert (await peer.receive())["error"]["code"] == -32602


def test_a_completion_takes_one_or_two_parameters() -> None:
    """And completes what is not completed yet."""
    server = desk()
    with pytest.raises(ConfigError, match="takes what is typed"):
        server.completion("review", "style")(lambda: ["x"])
    with pytest.raises(ConfigError, match="a completion of 'code' of 'review' already"):
        server.completion("review", "code")(_many)


async def test_a_server_without_prompts_has_none() -> None:
    """It says so, and answers who asks all the same."""
    async with talk(Server("s")) as peer:
        capabilities = (await peer.initialize())["capabilities"]
        assert capabilities == {"tools": {"listChanged": True}, "logging": {}}
        for id, (method, member) in enumerate([("prompts/list", "prompts"), ("resources/list", "resources")]):
            await peer.ask(id, method)
            await peer.expect(result(id, {member: []}))
        await peer.ask(9, "prompts/get", {"name": "x"})
        reason = "Invalid params: unknown prompt 'x'; prompts of this server: none"
        await peer.expect(error(9, -32602, reason))
