"""What a client asks a server for: resources, prompts, completions, levels; the same over each wire."""

from __future__ import annotations

import asyncio
import logging
from typing import Any, Literal

import pytest

from anywire import Context, PeerError, PromptMessage, Server, TextContent, connect
from anywire.errors import RemoteProtocolError, SessionError
from anywire.protocol.types.completion import PromptReference, ResourceTemplateReference
from anywire.protocol.types.content import EmbeddedResource, ImageContent, UnknownContent
from anywire.testing import in_virtual_time
from anywire.transport.memory import memory_pair
from anywire.wire.limits import DEFAULT_LIMITS
from tests.interaction.clients import played, served
from tests.interaction.talk import error, in_each_revision, over_each_wire, result


def library(page_size: int | None = None) -> Server:
    server = Server("library", page_size=page_size)

    @server.resource("file:///rules.txt", mime_type="text/plain")
    async def rules() -> str:
        """Be quiet."""
        return "Silence, please."

    @server.resource("file:///seal.bin")
    async def seal() -> bytes:
        return b"\x00\xff"

    @server.resource("books://{shelf}/{title}")
    async def book(shelf: str, title: str) -> str:
        return f"{title} stands in {shelf}"

    @server.prompt
    async def review(title: str, tone: Literal["kind", "stern"] = "kind") -> list[PromptMessage]:
        """Ask for a review."""
        return [
            PromptMessage("user", TextContent(f"Review {title}.")),
            PromptMessage("assistant", TextContent(f"In a {tone} tone.")),
        ]

    @server.prompt
    async def summary(pages: int) -> str:
        return f"Sum {pages} pages up."

    @server.completion("books://{shelf}/{title}", "title")
    async def titles(value: str, arguments: dict[str, str]) -> list[str]:
        return [title for title in (f"{value}mma", f"{value}lse") if arguments.get("shelf") != "empty"]

    @server.tool
    async def chatter(ctx: Context) -> str:
        for level in ("debug", "info", "error"):
            await ctx.log(level, level)
        return "said"

    return server


@over_each_wire
async def test_resources_are_listed_and_read_over_each_wire(wire: str) -> None:
    """Text, bytes, and what a template makes."""
    async with served(library(), wire) as client:
        listed = await client.resources()
        templates = await client.resource_templates()
        rules = await client.read_resource("file:///rules.txt")
        seal = await client.read_resource("file:///seal.bin")
        book = await client.read_resource("books://north/Emma")
        with pytest.raises(PeerError, match="Resource not found") as missing:
            await client.read_resource("file:///none")

    assert [each.uri for each in listed] == ["file:///rules.txt", "file:///seal.bin"]
    assert (listed[0].description, listed[0].mime_type) == ("Be quiet.", "text/plain")
    assert [each.uri_template for each in templates] == ["books://{shelf}/{title}"]
    assert (rules.text, rules.data) == ("Silence, please.", b"Silence, please.")
    assert b'"contents"' in rules.raw
    assert (seal.text, seal.data) == ("", b"\x00\xff")
    assert book.text == "Emma stands in north"
    assert (missing.value.code, missing.value.data) == (-32002, b'{"uri":"file:///none"}')


@over_each_wire
async def test_prompts_are_listed_and_got_over_each_wire(wire: str) -> None:
    """Arguments travel as texts, whatever they are."""
    async with served(library(), wire) as client:
        listed = await client.prompts()
        review = await client.get_prompt("review", {"title": "Emma", "tone": "stern"})
        summary = await client.get_prompt("summary", {"pages": 3})
        with pytest.raises(PeerError, match="unknown prompt") as unknown:
            await client.get_prompt("blurb")

    assert [each.name for each in listed] == ["review", "summary"]
    assert review.description == "Ask for a review."
    assert [message.role for message in review.messages] == ["user", "assistant"]
    assert review.text == "Review Emma.\nIn a stern tone."
    assert b'"messages"' in review.raw
    assert summary.text == "Sum 3 pages up."
    assert unknown.value.code == -32602


@over_each_wire
async def test_arguments_are_completed_over_each_wire(wire: str) -> None:
    """By name, by template, by what was listed, and by reference."""
    async with served(library(), wire) as client:
        prompt, template = (await client.prompts())[0], (await client.resource_templates())[0]
        for of in ("review", prompt, PromptReference("review")):
            assert (await client.complete(of, "tone", "s")).completion.values == ["stern"]
        for of in (template, template.uri_template, ResourceTemplateReference(template.uri_template)):
            found = await client.complete(of, "title", "E", {"shelf": "north"})
            assert found.completion.values == ["Emma", "Else"]
        assert (await client.complete(template, "title", "E", {"shelf": "empty"})).completion.values == []
        with pytest.raises(PeerError, match="no prompt or resource template"):
            await client.complete("blurb", "x", "")


@in_each_revision
async def test_completions_tell_known_arguments_where_the_revision_has_room_for_them(revision: str) -> None:
    """Before 2025-06-18 there is none."""
    async with played(revision=revision) as (client, peer):
        completing = asyncio.ensure_future(client.complete("p", "a", "v", {"b": "c"}))
        request = await peer.receive()
        context = {"context": {"arguments": {"b": "c"}}} if revision >= "2025-06-18" else {}
        params = request["params"]
        del params["_meta"]
        assert params == {
            "ref": {"type": "ref/prompt", "name": "p"},
            "argument": {"name": "a", "value": "v"},
            **context,
        }
        await peer.send(result(request["id"], {"completion": {"values": ["vw"], "hasMore": True}}))
        done = await completing
        assert (done.completion.values, done.completion.has_more) == (["vw"], True)


@over_each_wire
async def test_the_log_level_is_set_over_each_wire(wire: str) -> None:
    """Only what is severe enough is sent then."""
    logged: list[Any] = []

    def note(params: dict[str, Any]) -> None:
        logged.append(params["data"])

    async with served(library(), wire, on_log=note) as client:
        await client.call_tool("chatter")
        await client.set_log_level("error")
        await client.call_tool("chatter")
        await client.set_log_level("debug")
        await client.call_tool("chatter")
        with pytest.raises(PeerError, match="Invalid params"):
            await client.set_log_level("loud")  # pyright: ignore[reportArgumentType]

    assert logged == ["info", "error", "error", "debug", "info", "error"]


@over_each_wire
@pytest.mark.parametrize("page_size", [1, 2, 3])
async def test_all_pages_of_all_lists_are_followed(wire: str, page_size: int) -> None:
    """However they are cut."""
    async with served(library(page_size), wire) as client:
        assert len(await client.tools()) == 1
        assert len(await client.resources()) == 2
        assert len(await client.resource_templates()) == 1
        assert len(await client.prompts()) == 2


LISTS: dict[str, tuple[str, str, dict[str, Any], dict[str, Any]]] = {
    "tools": ("tools/list", "tools", {"name": "good", "inputSchema": {}}, {"name": "bad"}),
    "resources": ("resources/list", "resources", {"uri": "a:b", "name": "good"}, {"name": "bad"}),
    "resource_templates": (
        "resources/templates/list",
        "resourceTemplates",
        {"uriTemplate": "a:{b}", "name": "good"},
        {"uriTemplate": 5, "name": "bad"},
    ),
    "prompts": ("prompts/list", "prompts", {"name": "good"}, {"name": None}),
}


@pytest.mark.parametrize("kind", LISTS)
async def test_a_bad_item_costs_itself_and_a_warning(kind: str, caplog: pytest.LogCaptureFixture) -> None:
    """With the name of the server, and the item."""
    method, member, good, bad = LISTS[kind]
    caplog.set_level(logging.WARNING, "anywire.client")
    async with played() as (client, peer):
        listing = asyncio.ensure_future(getattr(client, kind)())
        request = await peer.receive()
        assert request["method"] == method
        await peer.send(result(request["id"], {member: [good, bad, good]}))
        assert [item.name for item in await listing] == ["good", "good"]

    (record,) = caplog.records
    assert f"a {member.removesuffix('s').replace('T', ' t')} that cannot be used" in record.getMessage()


@pytest.mark.parametrize("kind", LISTS)
async def test_a_page_that_comes_again_ends_the_list(kind: str) -> None:
    """A server that gives the same cursor for ever is asked no more."""
    _, member, good, _ = LISTS[kind]
    async with played() as (client, peer):
        listing = asyncio.ensure_future(getattr(client, kind)())
        for cursor in (None, "", "b"):
            request = await peer.receive()
            assert request["params"].get("cursor") == cursor
            next_cursor = {None: "", "": "b", "b": ""}[cursor]
            await peer.send(result(request["id"], {member: [good], "nextCursor": next_cursor}))
        assert len(await listing) == 3


@pytest.mark.parametrize("kind", LISTS)
@in_virtual_time
async def test_every_list_has_its_timeout(kind: str) -> None:
    """In seconds for each page."""
    async with played() as (client, _):
        with pytest.raises(TimeoutError, match="within 2 s"):
            await getattr(client, kind)(timeout=2)


async def test_what_a_server_did_not_declare_is_asked_for_all_the_same() -> None:
    """Its error is passed on."""
    async with played() as (client, peer):
        listing = asyncio.ensure_future(client.prompts())
        request = await peer.receive()
        await peer.send(error(request["id"], -32601, "Method not found"))
        with pytest.raises(PeerError, match="Method not found"):
            await listing


@pytest.mark.parametrize(
    ("call", "answer"),
    [
        ("read_resource", {"contents": 5}),
        ("read_resource", {"contents": [{"uri": "a:b"}]}),
        ("get_prompt", {"messages": [{"role": "nobody", "content": {"type": "text", "text": ""}}]}),
        ("get_prompt", {}),
    ],
)
async def test_an_answer_that_cannot_be_read_is_an_error(call: str, answer: object) -> None:
    """No part of an answer is left out silently."""
    async with played() as (client, peer):
        calling = asyncio.ensure_future(getattr(client, call)("x"))
        request = await peer.receive()
        await peer.send(result(request["id"], answer))
        with pytest.raises(RemoteProtocolError, match="cannot be read"):
            await calling


async def test_the_blocks_of_a_result_are_typed_and_unknown_ones_kept() -> None:
    """Each as what it is."""
    blocks = [
        {"type": "text", "text": "a"},
        {"type": "image", "data": "eA==", "mimeType": "image/png"},
        {"type": "resource", "resource": {"uri": "a:b", "text": "t"}},
        {"type": "hologram", "depth": 3},
    ]
    async with played() as (client, peer):
        calling = asyncio.ensure_future(client.call_tool("x"))
        request = await peer.receive()
        await peer.send(result(request["id"], {"content": blocks}))
        text, image, resource, unknown = (await calling).blocks

    assert isinstance(text, TextContent)
    assert isinstance(image, ImageContent)
    assert isinstance(resource, EmbeddedResource)
    assert isinstance(unknown, UnknownContent)
    assert (unknown.type, unknown.raw) == ("hologram", b'{"type":"hologram","depth":3}')


# Structured results.

WEATHER = {"type": "object", "properties": {"degrees": {"type": "number"}}, "required": ["degrees"]}


async def _structured(structured: object, schema: object = WEATHER, **more: object) -> Any:
    """List one tool with that output schema and call it."""
    async with played() as (client, peer):
        listing = asyncio.ensure_future(client.tools())
        request = await peer.receive()
        tool: dict[str, Any] = {"name": "weather", "inputSchema": {}, "outputSchema": schema}
        await peer.send(result(request["id"], {"tools": [tool]}))
        await listing
        if more.pop("changed", False):
            await peer.notify("notifications/tools/list_changed")
        calling = asyncio.ensure_future(client.call_tool("weather"))
        request = await peer.receive()
        await peer.send(result(request["id"], {"content": [], "structuredContent": structured, **more}))
        return (await calling).structured


async def test_a_structured_result_unlike_its_schema_is_an_error_that_names_the_place() -> None:
    """If the tool was listed before."""
    assert await _structured({"degrees": 21.5}) == {"degrees": 21.5}
    with pytest.raises(RemoteProtocolError, match=r"tool 'weather' is not as its schema says.*\$\.degrees"):
        await _structured({"degrees": "warm"})


async def test_a_failed_result_and_an_outdated_schema_are_no_errors() -> None:
    """Nor is a schema that is none."""
    assert await _structured({"why": "no"}, isError=True) == {"why": "no"}
    assert await _structured({"celsius": 3}, changed=True) == {"celsius": 3}
    assert await _structured({"celsius": 3}, schema={"type": "odd"}) == {"celsius": 3}


async def test_nothing_is_asked_before_the_client_is_open() -> None:
    """One sentence."""
    client = connect(memory_pair(DEFAULT_LIMITS)[0])
    for call in (
        client.resources(),
        client.subscribe("a:b"),
        client.unsubscribe("a:b"),
        client.set_log_level("info"),
    ):
        with pytest.raises(SessionError, match="has not been opened"):
            await call


@over_each_wire
async def test_progress_of_reading_is_told(wire: str) -> None:
    """As that of a tool."""
    server, told = Server("s"), list[float]()

    def note(progress: float, total: float | None, message: str | None) -> None:
        told.append(progress)

    @server.resource("slow://one")
    async def slow(ctx: Context) -> str:
        await ctx.progress(1, 2)
        return "done"

    @server.prompt
    async def slower(ctx: Context) -> str:
        await ctx.progress(5)
        return "done"

    async with served(server, wire) as client:
        await client.read_resource("slow://one", on_progress=note)
        await client.get_prompt("slower", on_progress=note)

    assert told == [1.0, 5.0]
