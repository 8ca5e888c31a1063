"""A function of the program that serves requests, and how it is called."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from enum import Enum
from types import SimpleNamespace
from typing import Any, Protocol

import msgspec
from msgspec import UNSET, UnsetType

from anywire.errors import ConfigError
from anywire.server.context import Context
from anywire.server.exchange import Terms
from anywire.server.signature import Signature, read_signature
from anywire.wire.codec import value_reader

__all__ = ("Handler", "How", "Served", "check_options", "make_handler")


class How(Enum):
    """Where a handler's function runs."""

    #: A coroutine function: in a task of its own on the event loop.
    TASK = "task"
    #: A plain function: in a worker thread, since it may block.
    THREAD = "thread"
    #: A plain function that promises not to block: in place, between two reads.
    INLINE = "inline"


class Served(Protocol):
    """Something that a request can be served by: a tool, a resource, a prompt, a completion."""

    @property
    def label(self) -> str:
        """What it is called in errors: `tool 'echo'`."""
        ...

    @property
    def handler(self) -> Handler:
        """What to call."""
        ...

    def encode(self, output: Any, terms: Terms) -> bytes:
        """Write what the handler returned as a raw result, on these terms."""
        ...

    def encode_failure(self, error: BaseException) -> bytes | None:
        """Write what the handler raised as a raw result; None: it is a JSON-RPC error."""
        ...


class Handler(msgspec.Struct, frozen=True):
    """A function and where it runs.

    `call(arguments, context)` calls it with decoded arguments; `context` makes a `Context` for a
    function that wants one.  A coroutine function gives its coroutine.
    """

    name: str
    signature: Signature
    how: How
    call: Callable[[Any, Callable[[], Context]], Any]
    #: Decodes the arguments of a call: unknown ones are dropped, null counts as none.  Raises
    #: `msgspec.MsgspecError` with a text that names the field.
    read_arguments: Callable[[bytes | msgspec.Raw], Any]

    def describe(self, given: str | None) -> str | UnsetType:
        """Return the description of a listing: the one that was given, else the docstring's."""
        return (self.signature.description if given is None else given) or UNSET

    def whole(self, arguments: object) -> Any:
        """Return what `call` takes, for a function that wants all arguments as one value."""
        return SimpleNamespace(**{self.signature.fields[0]: arguments})


def make_handler(
    function: Callable[..., Any],
    kind: str,
    name: str | None = None,
    *,
    inline: bool = False,
    strict: bool = True,
    whole: bool = False,
) -> Handler:
    """Make a handler of a function; `kind` is what it handles, for errors.

    Its name is the function's unless one is given.  Where `strict` is False, arguments are texts that
    may stand for numbers and the like; `whole` is for a function that takes all of them as one value.
    Raises `ConfigError` for a function that cannot serve.
    """
    name = name or getattr(function, "__name__", "")
    if not name or name == "<lambda>":
        raise ConfigError(f"a {kind} needs a name: give one with @server.{kind}(name=…)")
    is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004 an object with an async __call__ is a handler as well
    )
    if is_async and inline:
        raise ConfigError(f"{kind} {name}: inline=True is for plain functions; a coroutine runs in a task")
    signature = read_signature(function, Context, kind, strict=strict)
    if whole and len(signature.fields) != 1:
        raise ConfigError(f"{kind} {name}: with a schema of its own it takes one parameter, all arguments")
    how = How.TASK if is_async else How.INLINE if inline else How.THREAD
    read_arguments = value_reader(signature.decoder, null=b"{}")
    return Handler(name, signature, how, signature.caller(function), read_arguments)


def check_options(options: Mapping[str, Any], known: type) -> None:
    """Raise `TypeError` for an option that is not among the keys of a `TypedDict`."""
    unknown = ", ".join(sorted(options.keys() - known.__annotations__.keys()))
    if unknown:
        raise TypeError(f"unknown option: {unknown}")
