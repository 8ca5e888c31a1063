"""`tools/list` and `tools/call`, as a client sees them."""

from __future__ import annotations

from typing import Any

import pytest

from anywire import Server
from anywire.errors import AnywireError
from tests.interaction.talk import failure, over_each_wire, result, talk, text


def shop() -> Server:
    server = Server("shop")

    @server.tool
    async def price(item: str, count: int = 1) -> str:
        """Tell the price of an item."""
        return f"{count} × {item}"

    @server.tool
    def blocking(item: str) -> str:
        return f"blocking {item}"

    @server.tool(inline=True)
    def quick(item: str) -> str:
        return f"quick {item}"

    @server.tool
    async def fails(how: str) -> str:
        raise RuntimeError(how)

    return server


@over_each_wire
async def test_tools_are_listed_on_one_page(wire: str) -> None:
    """All of them in the order they were added, and no next one; params that say nothing are none."""
    async with talk(shop(), wire) as peer:
        odd: list[Any] = [{}, {"cursor": None}, [], None]
        for id, params in enumerate(odd):
            await peer.ask(id, "tools/list", params)
            listed = (await peer.receive())["result"]

            assert list(listed) == ["tools"]
            assert [tool["name"] for tool in listed["tools"]] == ["price", "blocking", "quick", "fails"]

        await peer.ask("last", "tools/list")
        assert (await peer.receive())["result"]["tools"][0] == {
            "name": "price",
            "description": "Tell the price of an item.",
            "inputSchema": {
                "type": "object",
                "properties": {"item": {"type": "string"}, "count": {"type": "integer", "default": 1}},
                "required": ["item"],
            },
        }


@over_each_wire
@pytest.mark.parametrize(
    ("tool", "words"), [("price", "1 × tea"), ("blocking", "blocking tea"), ("quick", "quick tea")]
)
async def test_a_call_gives_one_block_of_text(wire: str, tool: str, words: str) -> None:
    """In a task, in a thread, in place: the answer is the same."""
    async with talk(shop(), wire) as peer:
        await peer.call(1, tool, {"item": "tea"})

        await peer.expect(text(1, words))


@over_each_wire
@pytest.mark.parametrize(
    "params", [None, {}, [], {"name": ""}, {"name": None}, {"name": 5}, {"arguments": {}}]
)
async def test_a_call_without_a_name_has_invalid_params(wire: str, params: object) -> None:
    """That is the client's fault and no matter of a tool."""
    async with talk(shop(), wire) as peer:
        await peer.ask(1, "tools/call", params)

        reply = await peer.receive()
        assert reply["error"]["code"] == -32602
        assert reply["error"]["message"].startswith("Invalid params: ")


@over_each_wire
async def test_an_unknown_tool_is_a_result_that_names_the_others(wire: str) -> None:
    """A model can correct itself from it."""
    async with talk(shop(), wire) as peer:
        await peer.call(1, "prize", {})

        await peer.expect(
            failure(1, "Unknown tool 'prize'. Tools of this server: blocking, fails, price, quick")
        )


async def test_a_server_without_tools_says_so() -> None:
    """The list is empty, and so is the advice."""
    async with talk(Server("s")) as peer:
        await peer.ask(1, "tools/list")
        await peer.call(2, "any")

        await peer.expect(
            result(1, {"tools": []}), failure(2, "Unknown tool 'any'. Tools of this server: none")
        )


@over_each_wire
@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({}, "item"),
        ({"item": 5}, "item"),
        ({"item": "tea", "count": "two"}, "count"),
        ({"item": "tea", "count": 1.5}, "count"),
        ([], "array"),
        ("tea", "str"),
        (5, "int"),
        (None, "item"),
    ],
)
async def test_bad_arguments_are_a_result_that_names_the_field(
    wire: str, arguments: object, named: str
) -> None:
    """Missing, of a wrong type, or no object at all."""
    async with talk(shop(), wire) as peer:
        await peer.ask(1, "tools/call", {"name": "price", "arguments": arguments})

        reply = (await peer.receive())["result"]
        assert reply["isError"] is True
        words = reply["content"][0]["text"]
        assert words.startswith("Invalid arguments for tool 'price': ")
        assert named in words


@over_each_wire
async def test_unknown_arguments_are_dropped(wire: str) -> None:
    """A model that invents one is served all the same."""
    async with talk(shop(), wire) as peer:
        await peer.call(1, "price", {"item": "tea", "colour": "green", "nested": {"a": [1]}})

        await peer.expect(text(1, "1 × tea"))


@over_each_wire
async def test_a_tool_that_raises_is_a_result(wire: str) -> None:
    """With the tool's name and the text of the exception."""
    async with talk(shop(), wire) as peer:
        await peer.call(1, "fails", {"how": "out of tea"})
        await peer.call(2, "fails", {"how": ""})

        await peer.expect(
            failure(1, "Error in tool 'fails': out of tea"), failure(2, "Error in tool 'fails': RuntimeError")
        )


class Unprintable(Exception):
    def __str__(self) -> str:
        raise ValueError("no text")


def raising() -> list[tuple[BaseException, str]]:
    one = ExceptionGroup("many", [ExceptionGroup("inner", [KeyError("k")])])
    return [
        (KeyError("k"), "'k'"),
        (AnywireError("wire"), "wire"),
        (Unprintable(), "Unprintable"),
        (one, "'k'"),
        (ExceptionGroup("two", [ValueError("a"), ValueError("b")]), "two (2 sub-exceptions)"),
        (RuntimeError("half \ud800"), "half \ufffd"),
        (TimeoutError(), "TimeoutError"),
    ]


@pytest.mark.parametrize("number", range(len(raising())))
@pytest.mark.parametrize("how", ["task", "thread", "inline"])
async def test_any_exception_is_that_call_alone(number: int, how: str) -> None:
    """Groups of one, exceptions that cannot be printed, half characters: all become a text."""
    server = Server("s")
    raised, words = raising()[number]

    def fails() -> None:
        raise raised

    async def fails_in_task() -> None:
        raise raised

    server.tool(name="fails", inline=how == "inline")(fails_in_task if how == "task" else fails)

    async with talk(server) as peer:
        await peer.call(1, "fails")
        await peer.ask(2, "ping")

        replies = {reply["id"]: reply for reply in await peer.receive_many(2)}
        assert replies == {1: failure(1, f"Error in tool 'fails': {words}"), 2: result(2, {})}


@pytest.mark.parametrize("how", ["task", "thread", "inline"])
async def test_a_tool_that_runs_out_of_an_iterator_is_answered(how: str) -> None:
    """No future of asyncio takes a `StopIteration`, so it must not reach one."""
    server = Server("s")

    def runs_out() -> None:
        next(iter([]))

    async def runs_out_in_task() -> None:
        next(iter([]))

    server.tool(name="runs_out", inline=how == "inline")(runs_out_in_task if how == "task" else runs_out)
    async with talk(server) as peer:
        await peer.call(1, "runs_out")

        reply = (await peer.receive())["result"]
        assert reply["isError"] is True
        assert "StopIteration" in reply["content"][0]["text"]


@pytest.mark.parametrize("how", ["task", "thread", "inline"])
async def test_a_result_that_has_no_json_is_that_call_alone(how: str) -> None:
    """An object that nobody can write down."""
    server = Server("s")

    def make() -> Any:
        return object()

    async def make_in_task() -> Any:
        return object()

    server.tool(
        make_in_task if how == "task" else make,
    )
    if how == "inline":
        server.remove_tool(next(iter(server.tools)))
        server.tool(inline=True)(make)
    async with talk(server) as peer:
        await peer.call(1, next(iter(server.tools)))

        reply = (await peer.receive())["result"]
        assert reply["isError"] is True
        assert "object" in reply["content"][0]["text"]


@over_each_wire
async def test_names_and_arguments_of_any_alphabet_pass(wire: str) -> None:
    """Text goes in and comes out as it is; half a character becomes U+FFFD."""
    server = Server("s")

    @server.tool(name="написать/письмо")
    async def write(слово: str) -> str:  # noqa: PLC2401 it is what is tested
        return слово

    async with talk(server, wire) as peer:
        await peer.call(1, "написать/письмо", {"слово": "Zoë \u2028 漢字 😀"})
        await peer.expect(text(1, "Zoë \u2028 漢字 😀"))
        await peer.send(
            '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":'
            '{"name":"написать/письмо","arguments":{"слово":"half \\ud83d"}}}'
        )
        await peer.expect(text(2, "half \ufffd"))


async def test_a_tool_can_be_added_while_the_server_serves() -> None:
    """The next list has it."""
    server = Server("s")
    async with talk(server) as peer:
        await peer.ask(1, "tools/list")
        await peer.expect(result(1, {"tools": []}))

        @server.tool
        async def late() -> None: ...

        await peer.ask(2, "tools/list")
        assert [tool["name"] for tool in (await peer.receive())["result"]["tools"]] == ["late"]
        await peer.call(3, "late")
        await peer.expect(result(3, {"content": []}))


@over_each_wire
async def test_a_wrong_log_level_has_invalid_params(wire: str) -> None:
    """The levels are those of the specification."""
    async with talk(Server("s"), wire) as peer:
        for id, params in enumerate(({"level": "loud"}, {}, None, {"level": 3})):
            await peer.ask(id, "logging/setLevel", params)
            assert (await peer.receive())["error"]["code"] == -32602
        await peer.ask(9, "logging/setLevel", {"level": "debug"})
        await peer.expect(result(9, {}))
