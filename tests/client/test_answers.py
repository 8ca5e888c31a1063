"""What a callback may look like, and the helpers of forms, roots and completions."""

from __future__ import annotations

import asyncio
import functools
import logging
from pathlib import Path
from typing import Any

import msgspec
import pytest

from anywire.client.asked import Asked
from anywire.client.callback import Callback
from anywire.client.eliciting import with_defaults
from anywire.client.outputs import Outputs
from anywire.client.result import PromptResult, ResourceResult, ToolResult
from anywire.client.roots import make_root
from anywire.errors import ConfigError
from anywire.protocol.types.content import TextContent
from anywire.protocol.types.roots import Root
from anywire.protocol.types.tools import Tool
from anywire.session.caller import Caller
from anywire.session.threads import DaemonThreads
from anywire.transport.memory import memory_pair
from anywire.wire.limits import DEFAULT_LIMITS
from anywire.wire.message import Request
from anywire.wire.peer import Peer


class Callable:
    """An object that is called."""

    async def __call__(self, params: str) -> str:
        return f"object {params}"


async def coroutine(params: str) -> str:
    return f"coroutine {params}"


def plain(params: str) -> str:
    return f"plain {params}"


def not_async(params: str) -> Any:
    return coroutine(params)


async def curious(params: str, asked: Asked) -> str:
    return f"{asked.method} {params}"


async def with_default(params: str, more: str = "default") -> str:
    return f"{more} {params}"


async def call(function: Any, *arguments: object) -> Any:
    """Call a function as the answer to a request."""
    transport, _ = memory_pair(DEFAULT_LIMITS)
    caller = Caller(transport, Peer(), DEFAULT_LIMITS)
    asked = Asked(Request(b"1", "roots/list", None), caller, asyncio.get_running_loop(), None)
    return await Callback(function, "on_x", len(arguments), DaemonThreads(1)).call(asked, *arguments)


@pytest.mark.parametrize(
    ("function", "answer"),
    [
        (coroutine, "coroutine a"),
        (plain, "plain a"),
        (not_async, "coroutine a"),
        (functools.partial(with_default, more="given"), "given a"),
        (Callable(), "object a"),
        (curious, "roots/list a"),
        (with_default, "default a"),
        (str, "a"),
    ],
)
async def test_a_callback_is_called_as_it_wants_to_be(function: Any, answer: str) -> None:
    """Plain or async, function or object; with the request if it takes one parameter more."""
    assert await call(function, "a") == answer


@pytest.mark.parametrize(
    ("content", "filled"),
    [
        ({}, {"colour": "red", "count": 0}),
        ({"colour": "blue"}, {"colour": "blue", "count": 0}),
        ({"name": "x", "count": 3, "more": None}, {"colour": "red", "count": 3, "name": "x", "more": None}),
    ],
)
def test_what_was_left_out_of_a_form_has_its_default(content: dict[str, Any], filled: dict[str, Any]) -> None:
    """Also where the default is nothing much."""
    schema = {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "colour": {"default": "red"},
            "count": {"default": 0},
            "odd": 5,
        },
    }
    assert with_defaults(schema, content) == filled


@pytest.mark.parametrize("schema", [{}, {"properties": 5}, {"properties": []}])
def test_a_form_without_members_has_no_defaults(schema: dict[str, Any]) -> None:
    assert with_defaults(schema, {"a": 1}) == {"a": 1}


def test_paths_and_uris_are_roots(tmp_path: Path) -> None:
    """A name stays, what is relative becomes absolute."""
    assert make_root(tmp_path) == Root(tmp_path.as_uri())
    assert make_root("file:///x") == Root("file:///x")
    assert make_root(Root("file:///x", name="X")) == Root("file:///x", name="X")
    assert make_root("some folder").uri == (Path.cwd() / "some folder").as_uri()
    with pytest.raises(ConfigError, match="must begin with file:"):
        make_root(Root("https://x"))


def test_an_output_schema_that_is_none_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    """And checks nothing."""
    caplog.set_level(logging.WARNING, "anywire.client")
    outputs = Outputs("s")
    outputs.learn([Tool("t", {}, output_schema={"type": "odd"}), Tool("u", {})])
    assert list(outputs.known) == ["t"]
    for _ in range(2):
        outputs.check("t", ToolResult.from_raw(b'{"content":[],"structuredContent":{"a":1}}'))
    assert ["is not checked" in record.getMessage() for record in caplog.records] == [True]


def test_results_show_their_parts() -> None:
    """Texts and bytes of a resource, texts of a prompt."""
    parts = ResourceResult.from_raw(
        b'{"contents":[{"uri":"a:1","text":"x"},{"uri":"a:2","blob":"eQ=="},{"uri":"a:3","text":"z"}]}'
    )
    assert (parts.text, parts.data) == ("x\nz", b"xyz")
    broken = ResourceResult.from_raw(b'{"contents":[{"uri":"a:1","blob":"abcde"}]}')
    with pytest.raises(ValueError, match="the contents of a:1 are not base64"):
        _ = broken.data
    prompt = PromptResult.from_raw(
        b'{"messages":[{"role":"user","content":{"type":"text","text":"a"}},'
        b'{"role":"user","content":{"type":"odd"}}]}'
    )
    assert (prompt.text, prompt.description) == ("a", None)
    assert prompt.messages[0].content == TextContent("a")
    with pytest.raises(msgspec.ValidationError):
        ResourceResult.from_raw(b'{"contents":[{}]}')
