"""A client: what a server offers, as typed calls."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

import msgspec
from msgspec import UNSET

from anywire.client.completing import complete_params
from anywire.client.greeting import NOWHERE, Place
from anywire.client.listing import PROMPTS, RESOURCE_TEMPLATES, RESOURCES, TOOLS, Listing, read_all
from anywire.client.outputs import Outputs
from anywire.client.result import PromptResult, ResourceResult, ToolResult
from anywire.client.session import ClientSession
from anywire.errors import ConfigError, PeerError, RemoteProtocolError
from anywire.protocol.features import Feature, has
from anywire.protocol.types.completion import CompleteResult
from anywire.protocol.types.error_data import McpErrorCode
from anywire.protocol.types.reading import read
from anywire.session.caller import OnProgress
from anywire.wire.codec import encode_value
from anywire.wire.message import Notification

if TYPE_CHECKING:
    from anywire.client.completing import Completable
    from anywire.client.listening import Listener
    from anywire.client.options import ClientOptions
    from anywire.protocol.types.logging import LogLevel
    from anywire.protocol.types.prompts import Prompt
    from anywire.protocol.types.resources import Resource, ResourceTemplate
    from anywire.protocol.types.tools import Tool
    from anywire.transport.contract import Transport

__all__ = ("Client",)

T = TypeVar("T", bound=msgspec.Struct)
R = TypeVar("R")


class Client(ClientSession):
    """A conversation with one server.  Made by `anywire.connect`.

    Use it as `async with`, or call `open()` and `close()` from any task.  Each failure raises one
    exception of `anywire.errors`: the server's own error as `PeerError`, a dead child as
    `ProcessExited`, no answer in time as `DeadlineExceeded`, an answer that cannot be read as
    `RemoteProtocolError`.  What a callback raises goes to the event loop's exception handler and stops
    nothing.  A `timeout` is in seconds without answer or progress (None: `Limits.request_seconds`).

    What a server did not declare can be asked for all the same; its error is passed on.

    A client that was opened and is no longer held by anybody is closed, with a `ResourceWarning`.
    """

    def __init__(
        self,
        transport: Transport,
        *,
        place: Place = NOWHERE,
        **options: Unpack[ClientOptions],
    ) -> None:
        super().__init__(transport, place=place, **options)
        self._outputs = Outputs(self.name)

    # Calls.

    async def ping(self, *, timeout: float | None = None) -> None:
        """Ask the server for a sign of life."""
        await self.request("ping" if self._stateless is None else "server/discover", timeout=timeout)

    async def tools(self, *, timeout: float | None = None) -> list[Tool]:
        """Return all tools, whatever the number of pages; one that cannot be read is left out and logged.

        `timeout` is for each page.  From now on the structured results of these tools are checked
        against their output schemas, where `jsonschema-rs` is installed.
        """
        tools = self._callable(await self._list(TOOLS, timeout))
        self._outputs.learn(tools)
        return tools

    def _callable(self, tools: list[Tool]) -> list[Tool]:
        """Learn which arguments headers repeat; leave out a tool that marks what cannot be."""
        mirrors = getattr(self._transport, "mirrors", None)
        if self._stateless is None or mirrors is None:
            return tools
        from anywire.client.mirroring import learn_mirrors

        return learn_mirrors(tools, mirrors, self.name)

    async def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> ToolResult:
        """Call a tool; a tool that failed is a result with `is_error`, not an exception.

        What JSON cannot say is sent as what comes nearest: a float that is no number as null, half of a
        surrogate pair as U+FFFD.
        """
        params = encode_value({"name": name, "arguments": arguments or {}})
        try:
            raw = await self.request("tools/call", params, timeout=timeout, on_progress=on_progress)
        except PeerError as error:
            if error.code != McpErrorCode.HeaderMismatch or self._stateless is None:
                raise
            # What headers repeat was not known, or is different now: also from what is kept.
            if self._stateless.kept is not None:
                self._stateless.kept.forget("tools/list")
            await self.tools(timeout=timeout)
            raw = await self.request("tools/call", params, timeout=timeout, on_progress=on_progress)
        try:
            result = ToolResult.from_raw(raw)
        except msgspec.MsgspecError as error:
            raise RemoteProtocolError(f"the result of tool {name!r} cannot be read: {error}") from error
        if name in self._outputs.known:
            self._outputs.check(name, result)
        return result

    async def resources(self, *, timeout: float | None = None) -> list[Resource]:
        """Return all resources; see `tools`."""
        return await self._list(RESOURCES, timeout)

    async def resource_templates(self, *, timeout: float | None = None) -> list[ResourceTemplate]:
        """Return all resource templates; see `tools`.  `UriTemplate` makes URIs of them."""
        return await self._list(RESOURCE_TEMPLATES, timeout)

    async def read_resource(
        self, uri: str, *, timeout: float | None = None, on_progress: OnProgress | None = None
    ) -> ResourceResult:
        """Read a resource, whether or not it is listed."""
        params = encode_value({"uri": uri})
        raw = await self.request("resources/read", params, timeout=timeout, on_progress=on_progress)
        return _read(raw, ResourceResult.from_raw, f"the resource {uri}")

    async def subscribe(self, uri: str, *, timeout: float | None = None) -> None:
        """Ask to be told when a resource changes, until `unsubscribe`; `listen` tells."""
        await self._subscriptions.subscribe(uri, timeout)

    async def unsubscribe(self, uri: str, *, timeout: float | None = None) -> None:
        """Ask no more to be told; nothing is sent while a listener still wants to hear."""
        await self._subscriptions.unsubscribe(uri, timeout)

    async def prompts(self, *, timeout: float | None = None) -> list[Prompt]:
        """Return all prompts; see `tools`."""
        return await self._list(PROMPTS, timeout)

    async def get_prompt(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> PromptResult:
        """Get the messages of a prompt.  Arguments travel as texts; of what is none the JSON does."""
        texts = {key: _text(value) for key, value in (arguments or {}).items()}
        params = encode_value({"name": name, "arguments": texts})
        raw = await self.request("prompts/get", params, timeout=timeout, on_progress=on_progress)
        return _read(raw, PromptResult.from_raw, f"the prompt {name!r}")

    async def complete(
        self,
        of: Completable,
        argument: str,
        value: str,
        arguments: Mapping[str, str] | None = None,
        *,
        timeout: float | None = None,
    ) -> CompleteResult:
        """Ask for values of an argument that begin as typed; they are in `completion.values`.

        `of` is a prompt or a resource template: as it was listed, its name or URI template, or a
        reference.  `arguments` are the others that are known already.
        """
        known = arguments if has(Feature.COMPLETION_CONTEXT, self.revision) else None
        params = complete_params(of, argument, value, known)
        raw = await self.request("completion/complete", params, timeout=timeout)
        return _read(raw, lambda raw: read(raw, CompleteResult), f"the completion of {argument!r}")

    # Saying and hearing.

    async def set_log_level(self, level: LogLevel, *, timeout: float | None = None) -> None:
        """Tell the server the least severe level of log messages that it shall send."""
        await self._subscriptions.set_level(level, timeout)

    async def roots_changed(self) -> None:
        """Tell the server that the roots are others now.  Raises `ConfigError` where there are none."""
        if self._answers is None or self._answers.capabilities.roots is UNSET:
            raise ConfigError("this client has no roots: give connect() some")
        if self._stateless is not None:
            return  # the server asks for them whenever it wants to know
        await self.notify("notifications/roots/list_changed")

    def listen(self, *, resources: Iterable[str] = ()) -> Listener:
        """Return an iterator of what the server tells: changed lists and resources, logs, all the rest.

        `async with client.listen(resources=[…]) as events` subscribes to resources until its end; it
        hears of no others.  What is told while you do not take it is kept, up to `Limits.listen_events`; more
        is left out, and an `EventsMissed` stands in its place.
        """
        if isinstance(resources, str):
            raise ConfigError(f"resources must be a list of URIs, not {resources!r}")
        return self._listeners.add(self._subscriptions, tuple(resources))

    def _notified(self, message: Notification) -> None:
        if message.method == "notifications/tools/list_changed":
            self._outputs.forget()
        super()._notified(message)

    async def _list(self, listing: Listing[T], timeout: float | None) -> list[T]:
        async def ask(method: str, params: bytes | None) -> bytes:
            return await self.request(method, params, timeout=timeout)

        return await read_all(listing, ask, self.name)


def _read(raw: bytes, reader: Callable[[bytes], R], what: str) -> R:
    try:
        return reader(raw)
    except msgspec.MsgspecError as error:
        raise RemoteProtocolError(f"{what} cannot be read: {error}") from error


def _text(value: object) -> str:
    return value if isinstance(value, str) else encode_value(value).decode()
