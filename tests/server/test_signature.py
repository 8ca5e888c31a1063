"""From a function to the schema of its arguments, and from raw arguments to its call."""

from __future__ import annotations

import dataclasses
import datetime
import functools
import inspect
import json
from collections.abc import Callable, Sequence
from decimal import Decimal
from enum import Enum, IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, Optional, TypedDict
from uuid import UUID

import msgspec
import pytest

from anywire import Context, Server
from anywire.errors import ConfigError
from anywire.server.catalogue import Offer
from anywire.server.signature import read_signature
from anywire.wire.codec import decode_value

if TYPE_CHECKING:
    from decimal import Context as OnlyForCheckers

NOT_GIVEN: Any = object()


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Level(IntEnum):
    LOW = 1
    HIGH = 2


class Point(msgspec.Struct):
    x: int
    y: Annotated[int, msgspec.Meta(ge=0)] = 0


class Line(msgspec.Struct):
    start: Point
    ends: list[Point] = msgspec.field(default_factory=list[Point])


@dataclasses.dataclass
class Box:
    corner: Point
    name: str = "box"


class Pair(NamedTuple):
    left: int
    right: int


class Options(TypedDict, total=False):
    deep: bool


class Custom:
    """A class of which JSON knows nothing."""


def schema(function: Callable[..., Any]) -> dict[str, Any]:
    """The schema of a function's arguments, as it goes over the wire."""
    return json.loads(msgspec.json.encode(read_signature(function, Context).schema))


def properties(function: Callable[..., Any]) -> dict[str, Any]:
    return schema(function)["properties"]


def called(function: Callable[..., Any], arguments: dict[str, Any] | str = "{}", context: Any = None) -> Any:
    """What the function gives for these JSON arguments."""
    signature = read_signature(function, Context)
    raw = arguments if isinstance(arguments, str) else json.dumps(arguments)
    decoded = decode_value(raw.encode(), object, signature.decoder)
    return signature.caller(function)(decoded, lambda: context)


def test_a_function_without_parameters_takes_an_object() -> None:
    """An empty one."""

    def nothing() -> str:
        return "done"

    assert schema(nothing) == {"type": "object", "properties": {}, "required": []}
    assert called(nothing) == "done"


def test_simple_types_have_their_json_types() -> None:
    """And all of them are required."""

    def simple(a: int, b: float, c: str, d: bool, e: None, f: Any, g: object, h) -> None: ...  # pyright: ignore[reportUnknownParameterType, reportMissingParameterType]

    assert schema(simple) == {  # pyright: ignore[reportUnknownArgumentType]
        "type": "object",
        "properties": {
            "a": {"type": "integer"},
            "b": {"type": "number"},
            "c": {"type": "string"},
            "d": {"type": "boolean"},
            "e": {"type": "null"},
            "f": {},
            "g": {},
            "h": {},
        },
        "required": ["a", "b", "c", "d", "e", "f", "g", "h"],
    }


def test_defaults_make_parameters_optional_and_are_told() -> None:
    """Of any type that JSON has."""

    def defaults(
        a: int = 1,
        b: str | None = None,
        c: Sequence[int] = (1, 2),
        d: Colour = Colour.RED,
        e: list[str] = ["x"],  # noqa: B006 that it is safe is under test
        f: Point = Point(1),  # noqa: B008
        g: dict[str, int] = {},  # noqa: B006
        h: int = NOT_GIVEN,
    ) -> list[Any]:
        return [a, b, c, d, e, f, g, h]

    found = schema(defaults)
    assert found["required"] == []
    assert {name: each.get("default", "none") for name, each in found["properties"].items()} == {
        "a": 1,
        "b": None,
        "c": [1, 2],
        "d": "red",
        "e": ["x"],
        "f": {"x": 1, "y": 0},
        "g": {},
        "h": "none",
    }
    assert called(defaults) == [1, None, (1, 2), Colour.RED, ["x"], Point(1), {}, NOT_GIVEN]
    assert called(defaults)[-1] is NOT_GIVEN


def test_a_mutable_default_is_each_calls_own() -> None:
    """Down to what is inside it; not even the function's own default is touched."""

    def collect(
        item: int,
        into: list[list[int]] = [[]],  # noqa: B006 that it is safe is under test
        where: Box = Box(Point(0)),  # noqa: B008
    ) -> tuple[list[list[int]], int]:
        into[0].append(item)
        where.corner.x += item
        return into, where.corner.x

    assert called(collect, {"item": 1}) == ([[1]], 1)
    assert called(collect, {"item": 2}) == ([[2]], 2)
    assert inspect.signature(collect).parameters["into"].default == [[]]


def test_optional_and_union_types_allow_each_of_them() -> None:
    """In both spellings."""

    def optional(a: int | None, b: Optional[str] = None, c: int | str | list[int] = 0) -> list[Any]:  # noqa: UP045
        return [a, b, c]

    assert properties(optional)["a"] == {"anyOf": [{"type": "integer"}, {"type": "null"}]}
    assert properties(optional)["b"] == {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None}
    assert called(optional, {"a": None, "c": [1]}) == [None, None, [1]]


def test_literals_and_enums_are_lists_of_values() -> None:
    """Strings and integers; the handler gets the member."""

    def choose(a: Literal["x", "y", 3], b: Colour, c: Level = Level.LOW) -> list[Any]:
        return [a, b, c]

    found = schema(choose)
    assert sorted(found["properties"]["a"]["enum"], key=str) == [3, "x", "y"]
    assert found["properties"]["b"] == {"$ref": "#/$defs/Colour"}
    assert found["$defs"]["Colour"]["enum"] == ["blue", "red"]
    assert found["$defs"]["Level"]["enum"] == [1, 2]
    assert called(choose, {"a": 3, "b": "blue", "c": 2}) == [3, Colour.BLUE, Level.HIGH]
    with pytest.raises(msgspec.ValidationError, match=r"\$\.b"):
        called(choose, {"a": 3, "b": "green"})


def test_structs_and_dataclasses_nest() -> None:
    """Their schemas stand beside, and the handler gets the objects."""

    def draw(line: Line, box: Box, boxes: dict[str, Box], pair: Pair, options: Options) -> list[Any]:
        return [line, box, boxes, pair, options]

    found = schema(draw)
    assert set(found["$defs"]) == {"Line", "Box", "Point", "Pair", "Options"} & set(found["$defs"])
    assert {"Line", "Box", "Point"} <= set(found["$defs"])
    assert found["$defs"]["Line"]["properties"]["start"] == {"$ref": "#/$defs/Point"}
    assert found["$defs"]["Point"]["properties"]["y"] == {"type": "integer", "minimum": 0, "default": 0}
    arguments = {
        "line": {"start": {"x": 1}, "ends": [{"x": 2, "y": 3}]},
        "box": {"corner": {"x": 4}},
        "boxes": {"a": {"corner": {"x": 5}, "name": "b"}},
        "pair": [6, 7],
        "options": {"deep": True},
    }
    assert called(draw, arguments) == [
        Line(Point(1), [Point(2, 3)]),
        Box(Point(4)),
        {"a": Box(Point(5), "b")},
        Pair(6, 7),
        {"deep": True},
    ]
    with pytest.raises(msgspec.ValidationError, match=r"\$\.line\.ends\[0\]\.y"):
        called(draw, arguments | {"line": {"start": {"x": 1}, "ends": [{"x": 2, "y": -3}]}})


def test_object_is_any_value_also_inside_others() -> None:
    """As `Any` is."""

    def any_of(a: dict[str, object], b: list[Any]) -> list[Any]:
        return [a, b]

    kinds = ["null", "boolean", "number", "string", "array", "object"]
    assert properties(any_of) == {
        "a": {"type": "object", "additionalProperties": {"type": kinds}},
        "b": {"type": "array"},
    }
    assert called(any_of, {"a": {"x": [1, None]}, "b": [{}]}) == [{"x": [1, None]}, [{}]]


class Tree(msgspec.Struct):
    name: str
    children: list[Tree] = msgspec.field(default_factory=list["Tree"])


def test_a_type_may_contain_itself() -> None:
    """A tree of any depth."""

    def count(tree: Tree) -> int:
        def nodes(each: Tree) -> int:
            return 1 + sum(map(nodes, each.children))

        return nodes(tree)

    assert schema(count)["$defs"]["Tree"]["properties"]["children"]["items"] == {"$ref": "#/$defs/Tree"}
    assert called(count, {"tree": {"name": "a", "children": [{"name": "b"}, {"name": "c"}]}}) == 3


def test_types_that_json_has_as_strings_come_as_themselves() -> None:
    """Dates, identifiers, decimals, bytes."""

    def typed(a: datetime.date, b: UUID, c: Decimal, d: bytes) -> list[Any]:
        return [a, b, c, d]

    day, uuid = datetime.date(2025, 11, 25), UUID(int=1)
    arguments = {"a": "2025-11-25", "b": str(uuid), "c": "1.5", "d": "YWI="}
    assert called(typed, arguments) == [day, uuid, Decimal("1.5"), b"ab"]
    assert {each["type"] for each in properties(typed).values()} == {"string"}


def test_constraints_and_descriptions_are_annotations() -> None:
    """A bare string describes; it goes before the docstring's words, and a `Meta`'s too."""

    def described(
        a: Annotated[int, msgspec.Meta(ge=1, le=5), "from one to five"],
        b: Annotated[str, "in short"] = "",
        c: Annotated[str, msgspec.Meta(description="by its meta", pattern="^x")] = "x",
        d: str = "",
        e: Annotated[Annotated[int, msgspec.Meta(gt=0)] | None, "maybe"] = None,
        f: Annotated[str, 5, msgspec.Meta(max_length=3)] = "",
    ) -> None:
        """Describe.

        Args:
            a: not these words
            b: nor these
            c: nor these
            d: these words
            nobody: nor these
        """

    found = properties(described)
    assert found["a"] == {"type": "integer", "minimum": 1, "maximum": 5, "description": "from one to five"}
    assert found["b"]["description"] == "in short"
    assert found["c"] == {"type": "string", "pattern": "^x", "description": "by its meta", "default": "x"}
    assert found["d"]["description"] == "these words"
    assert found["e"]["description"] == "maybe"
    assert found["f"] == {"type": "string", "maxLength": 3, "default": ""}
    assert read_signature(described, Context).description == "Describe."
    with pytest.raises(msgspec.ValidationError, match=r">= 1.*\$\.a"):
        called(described, {"a": 0})


def test_the_way_of_calling_is_kept() -> None:
    """Positional only, keyword only, and both."""

    def ways(a: int, /, b: int, *, c: int, d: int = 4) -> list[int]:
        return [a, b, c, d]

    assert called(ways, {"c": 3, "b": 2, "a": 1}) == [1, 2, 3, 4]
    assert schema(ways)["required"] == ["a", "b", "c"]


def with_context() -> dict[str, Callable[..., list[Any]]]:
    def first(ctx: Context, a: int, b: int = 2) -> list[Any]:
        return [ctx, a, b]

    def middle(a: int, request: Context, b: int = 2) -> list[Any]:
        return [request, a, b]

    def last(a: int, b: int = 2, context: Context = NOT_GIVEN) -> list[Any]:
        return [context, a, b]

    def keyword(a: int, *, here: Context, b: int = 2) -> list[Any]:
        return [here, a, b]

    def optional(a: int, b: int = 2, ctx: Context | None = None) -> list[Any]:
        return [ctx, a, b]

    def annotated(a: int, ctx: Annotated[Context, "mine"], b: int = 2) -> list[Any]:
        return [ctx, a, b]

    functions = (first, middle, last, keyword, optional, annotated)
    return {function.__name__: function for function in functions}


@pytest.mark.parametrize("where", with_context())
def test_the_context_may_stand_anywhere(where: str) -> None:
    """Under any name; it is no argument of the client's."""
    function = with_context()[where]

    assert called(function, {"a": 1, "b": 2}, "the context") == ["the context", 1, 2]
    assert list(properties(function)) == ["a", "b"]


def test_the_context_may_be_all_there_is() -> None:
    """The client then gives nothing."""

    def only(ctx: Context) -> Any:
        return ctx

    assert called(only, {}, "the context") == "the context"
    assert properties(only) == {}


def test_annotations_for_checkers_only_may_be_those_of_the_result() -> None:
    """Nobody needs them at run time."""

    def checked(a: int) -> OnlyForCheckers:
        return NOT_GIVEN

    assert properties(checked) == {"a": {"type": "integer"}}


def test_methods_partials_and_objects_are_functions_too() -> None:
    """What is bound is not asked for."""

    class Tool:
        def method(self, a: int) -> int:
            """Of the method."""
            return a

        def __call__(self, a: int) -> int:
            """Of the call."""
            return a

    def two(a: int, b: int) -> int:
        """Of the function."""
        return a + b

    for function, description in (
        (Tool().method, "Of the method."),
        (Tool(), "Of the call."),
        (functools.partial(two, b=1), "Of the function."),
        (functools.partial(two, 1), "Of the function."),
    ):
        signature = read_signature(function, Context)
        assert signature.description == description
    assert called(Tool().method, {"a": 5}) == 5
    assert called(Tool(), {"a": 5}) == 5
    assert called(functools.partial(two, 1), {"b": 2}) == 3


def test_a_wrapped_function_is_asked_for_what_it_was() -> None:
    """With `functools.wraps`, as decorators do it."""

    def two(a: int, ctx: Context, b: str = "b") -> str:
        return f"{a}{b}{ctx}"

    @functools.wraps(two)
    def wrapper(*args: Any, **kwargs: Any) -> str:
        return two(*args, **kwargs)

    assert list(properties(wrapper)) == ["a", "b"]
    assert called(wrapper, {"a": 1}, "!") == "1b!"


# What cannot be served.


def unservable() -> list[tuple[Callable[..., Any], str]]:
    def star(a: int, *args: int) -> None: ...

    def stars(**kwargs: int) -> None: ...

    def custom(a: int, b: Custom) -> None: ...

    def inside(a: int, b: list[Custom]) -> None: ...

    def union(a: int, b: int | Custom) -> None: ...

    def function(a: int, b: Callable[[], None]) -> None: ...

    def unknown(b: OnlyForCheckers) -> None: ...

    return [
        (star, r"tool star: parameter \*args: 'int' has no form in a JSON schema"),
        (stars, r"tool stars: parameter \*\*kwargs: 'int' has no form in a JSON schema"),
        (custom, r"tool custom: parameter 'b' has no form in a JSON schema: type .*Custom"),
        (inside, r"tool inside: parameter 'b' has no form in a JSON schema: type .*Custom"),
        (union, r"tool union: parameter 'b': .*Custom"),
        (function, r"tool function: parameter 'b' has no form in a JSON schema: .*Callable"),
        (unknown, r"tool unknown: its annotations cannot be read: .*OnlyForCheckers"),
        (int, r"tool int: "),
        (functools.partial(print, 1), "a tool needs a name"),
    ]


@pytest.mark.parametrize("number", range(len(unservable())))
def test_what_cannot_be_served_is_refused_by_tool_and_parameter(number: int) -> None:
    """When it is registered, not when it is called."""
    function, message = unservable()[number]
    server = Server("s")
    with pytest.raises(ConfigError, match=message):
        server.tool(function)

    assert server.tools == {}


def test_names_are_needed_and_unique() -> None:
    """A lambda has none; a second tool of one name is a mistake."""
    server = Server("s")
    with pytest.raises(ConfigError, match="a tool needs a name"):
        server.tool(lambda: 1)
    server.tool(name="given")(lambda: 1)
    with pytest.raises(ConfigError, match="there is a tool 'given' already"):
        server.tool(name="given")(lambda: 2)

    assert list(server.tools) == ["given"]


def test_a_coroutine_cannot_run_in_place() -> None:
    """It is refused rather than silently run elsewhere."""
    server = Server("s")

    async def waits() -> None: ...

    with pytest.raises(ConfigError, match="inline=True is for plain functions"):
        server.tool(inline=True)(waits)


def test_a_listing_has_what_the_decorator_says() -> None:
    """Name, title, description and annotations go before what is found."""
    server = Server("s")

    @server.tool(name="n", title="T", description="D", annotations={"readOnlyHint": True})
    def function(a: int) -> None:
        """Not this."""

    @server.tool(description="")
    def silent() -> None:
        """Not this."""

    listings = json.loads(server.catalogue.page(Offer.TOOLS, None))["tools"]
    assert listings[0] == {
        "name": "n",
        "title": "T",
        "description": "D",
        "annotations": {"readOnlyHint": True},
        "inputSchema": {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
    }
    assert "description" not in listings[1]
    assert function is server.tool(name="again")(function)


def test_null_arguments_are_none() -> None:
    """And what is left out takes its default."""
    server = Server("s")

    @server.tool
    def function(a: int = 1) -> int:
        return a

    tool = server.tools["function"]
    for raw in (b"null", b"{}", b'{"b":2}'):
        assert tool.handler.call(tool.read_arguments(raw), lambda: NOT_GIVEN) == 1


def test_a_path_is_a_string_that_becomes_a_path() -> None:
    def read(path: Path, others: list[Path] | None = None) -> str:
        """Read.

        Args:
            path: Where it is.
        """
        return str(path)

    signature = read_signature(read, Context)

    assert signature.schema["properties"]["path"] == {
        "type": "string",
        "format": "path",
        "description": "Where it is.",
    }
    arguments = signature.decoder.decode(b'{"path":"/a/b","others":["c"]}')
    assert (arguments.path, arguments.others) == (Path("/a/b"), [Path("c")])
    with pytest.raises(msgspec.ValidationError, match=r"Expected `str`, got `int` - at `\$.path`"):
        signature.decoder.decode(b'{"path":5}')


class Thing:
    """A class that JSON knows nothing of."""


def test_a_class_of_the_program_is_refused_also_when_it_is_described() -> None:
    def use(thing: Annotated[Thing, "a thing"]) -> str:
        return str(thing)

    with pytest.raises(ConfigError, match="parameter 'thing' has no form in a JSON schema"):
        read_signature(use, Context)
