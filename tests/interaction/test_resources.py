"""Resources: listed, read by their URI or by a template, watched for changes."""

from __future__ import annotations

import asyncio
import base64
from typing import Any

import msgspec
import pytest

from anywire import Server
from anywire.errors import ConfigError, Refusal, ResourceNotFound
from anywire.protocol.types.resources import BlobResourceContents, TextResourceContents
from anywire.wire.limits import DEFAULT_LIMITS
from tests.interaction.talk import (
    error,
    in_each_revision,
    notification,
    over_each_wire,
    result,
    talk,
)

PNG = b"\x89PNG\r\n\x1a\n"


class Settings(msgspec.Struct):
    depth: int


def library() -> Server:
    server = Server("library")

    @server.resource("config://settings", title="Settings")
    def settings() -> Settings:
        """What is set."""
        return Settings(3)

    @server.resource("note://today", mime_type="text/markdown")
    async def today() -> str:
        return "# Today"

    @server.resource("image://logo", size=8)
    def logo() -> bytes:
        return PNG

    @server.resource("both://parts")
    def parts() -> list[TextResourceContents | BlobResourceContents]:
        return [
            TextResourceContents("both://parts/1", "one"),
            BlobResourceContents.from_bytes("both://parts/2", b"two", "x/y"),
        ]

    @server.resource("user://{id}/{part}{?depth}", mime_type="text/plain")
    async def user(id: int, part: str, depth: int = 1) -> str | None:
        """Part of what is known of a user."""
        if id == 0:
            return None
        if id == 1:
            raise ResourceNotFound(f"user://{id}")
        if id == 2:
            raise Refusal(-31000, "no", {"why": "because"})
        if id == 3:
            raise ValueError("broken")
        return f"{part} of {id}, {depth} deep"

    return server


def contents(id: object, *each: dict[str, Any]) -> dict[str, Any]:
    return result(id, {"contents": list(each)})


@over_each_wire
@in_each_revision
async def test_resources_and_templates_are_listed_apart(wire: str, revision: str) -> None:
    """In the order they were added, with what is known of each."""
    async with talk(library(), wire, revision) as peer:
        await peer.ask(1, "resources/list")
        await peer.ask(2, "resources/templates/list")

        await peer.expect(
            result(
                1,
                {
                    "resources": [
                        {
                            "uri": "config://settings",
                            "name": "settings",
                            "title": "Settings",
                            "description": "What is set.",
                        },
                        {"uri": "note://today", "name": "today", "mimeType": "text/markdown"},
                        {"uri": "image://logo", "name": "logo", "size": 8},
                        {"uri": "both://parts", "name": "parts"},
                    ]
                },
            ),
            result(
                2,
                {
                    "resourceTemplates": [
                        {
                            "uriTemplate": "user://{id}/{part}{?depth}",
                            "name": "user",
                            "description": "Part of what is known of a user.",
                            "mimeType": "text/plain",
                        }
                    ]
                },
            ),
        )


@over_each_wire
async def test_a_resource_is_what_its_function_returns(wire: str) -> None:
    """Text, bytes, the JSON of anything else, or contents made by hand."""
    async with talk(library(), wire) as peer:
        for id, uri in enumerate(["config://settings", "note://today", "image://logo", "both://parts"]):
            await peer.ask(id, "resources/read", {"uri": uri})
            got = await peer.receive()
            expected: list[list[dict[str, Any]]] = [
                [{"uri": uri, "text": '{"depth":3}', "mimeType": "application/json"}],
                [{"uri": uri, "text": "# Today", "mimeType": "text/markdown"}],
                [{"uri": uri, "blob": base64.b64encode(PNG).decode(), "mimeType": "image/png"}],
                [
                    {"uri": "both://parts/1", "text": "one"},
                    {"uri": "both://parts/2", "blob": "dHdv", "mimeType": "x/y"},
                ],
            ]
            assert got == contents(id, *expected[id])


@over_each_wire
async def test_a_template_gives_its_variables_to_the_function(wire: str) -> None:
    """Percent-decoded, as the types it wants; what a query lacks takes its default."""
    async with talk(library(), wire) as peer:
        await peer.ask(1, "resources/read", {"uri": "user://7/a%20b"})
        await peer.expect(
            contents(1, {"uri": "user://7/a%20b", "text": "a b of 7, 1 deep", "mimeType": "text/plain"})
        )
        await peer.ask(2, "resources/read", {"uri": "user://7/name?depth=4"})
        assert (await peer.receive())["result"]["contents"][0]["text"] == "name of 7, 4 deep"


@pytest.mark.parametrize(
    ("uri", "code", "message", "data"),
    [
        ("none://here", -32002, "Resource not found: none://here", {"uri": "none://here"}),
        ("user://0/x", -32002, "Resource not found: user://0/x", {"uri": "user://0/x"}),
        ("user://1/x", -32002, "Resource not found: user://1", {"uri": "user://1"}),
        ("user://2/x", -31000, "no", {"why": "because"}),
        ("user://3/x", -32603, "Error in resource 'user://3/x': broken", None),
    ],
)
async def test_a_resource_that_cannot_be_read_is_an_error(
    uri: str, code: int, message: str, data: object
) -> None:
    """Of the program's choice, or with its words."""
    async with talk(library()) as peer:
        await peer.ask(1, "resources/read", {"uri": uri})
        await peer.expect(error(1, code, message, data))


@pytest.mark.parametrize("params", [None, {}, {"uri": 5}, [], {"uri": "user://seven/x"}])
async def test_params_that_cannot_be_read_are_invalid(params: object) -> None:
    """And nothing is called for them."""
    async with talk(library()) as peer:
        await peer.ask(1, "resources/read", params)
        assert (await peer.receive())["error"]["code"] == -32602


@over_each_wire
async def test_who_subscribed_hears_of_a_change(wire: str) -> None:
    """And nobody else; until the subscription is ended."""
    server = library()
    async with talk(server, wire, "2025-11-25") as peer, talk(server, wire, "2025-11-25") as other:
        await peer.ask(1, "resources/subscribe", {"uri": "note://today"})
        await peer.expect(result(1, {}))
        server.resource_updated("note://today")
        server.resource_updated("config://settings")
        await peer.expect(notification("notifications/resources/updated", {"uri": "note://today"}))

        await peer.ask(2, "resources/unsubscribe", {"uri": "note://today"})
        await peer.expect(result(2, {}))
        server.resource_updated("note://today")
        await peer.ask(3, "ping")
        await peer.expect(result(3, {}))
        await other.expect_silence()


async def test_a_change_can_be_told_from_any_thread() -> None:
    """A program that watches files has threads of its own."""
    server = library()
    async with talk(server, "memory", "2025-11-25") as peer:
        await peer.ask(1, "resources/subscribe", {"uri": "user://7/name"})
        await peer.expect(result(1, {}))
        await asyncio.to_thread(server.resource_updated, "user://7/name")
        await peer.expect(notification("notifications/resources/updated", {"uri": "user://7/name"}))


async def test_what_is_not_there_cannot_be_subscribed_to() -> None:
    """And subscriptions are bounded."""
    async with talk(library(), limits=DEFAULT_LIMITS.replace(subscriptions=2)) as peer:
        await peer.ask(1, "resources/subscribe", {"uri": "none://here"})
        await peer.expect(error(1, -32002, "Resource not found: none://here", {"uri": "none://here"}))
    server = Server("s", limits=DEFAULT_LIMITS.replace(subscriptions=2))
    server.resource("x://{n}")(lambda_of := _named)
    assert lambda_of is _named
    async with talk(server) as peer:
        for n in (1, 2, 1):
            await peer.ask(n * 10, "resources/subscribe", {"uri": f"x://{n}"})
            await peer.expect(result(n * 10, {}))
        await peer.ask(3, "resources/subscribe", {"uri": "x://3"})
        assert "more than 2 subscriptions" in (await peer.receive())["error"]["message"]


def _named(n: str) -> str:
    return n


@pytest.mark.parametrize(
    ("uri", "message"),
    [
        ("x://{other}", "which the function does not take"),
        ("x://", "does not have n, which the function takes"),
        ("x://{?n}", "a query may lack n, so the function needs a default"),
        ("x://{n", "has a brace"),
        ("x://{n*}", "cannot be matched"),
    ],
)
def test_a_template_and_its_function_must_agree(uri: str, message: str) -> None:
    """Told when the program starts, not when somebody reads."""
    with pytest.raises(ConfigError, match=message):
        Server("s").resource(uri)(_named)


def test_a_uri_is_offered_once() -> None:
    """As a resource, and as a template."""
    server = library()
    with pytest.raises(ConfigError, match="there is a resource 'note://today' already"):
        server.resource("note://today", name="again")(lambda: "")
    with pytest.raises(ConfigError, match="there is no resource 'none://here'"):
        server.remove_resource("none://here")
    with pytest.raises(TypeError, match="unknown option: mime"):
        server.resource("a://b", mime="x")(_named)  # pyright: ignore[reportCallIssue] on purpose
