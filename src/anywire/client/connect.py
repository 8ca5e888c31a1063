"""`connect()`: from what the user has to a client."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeGuard

from anywire.client.client import Client
from anywire.errors import ConfigError
from anywire.protocol.types.initialize import Implementation
from anywire.transport.contract import Transport
from anywire.transport.memory import memory_pair
from anywire.transport.redact import show_url
from anywire.wire.framing import Framing
from anywire.wire.limits import DEFAULT_LIMITS, Limits
from anywire.wire.message import Notification

if TYPE_CHECKING:
    from anywire.transport.http_calls import TokenHook

__all__ = ("Acceptor", "Target", "connect", "http_transport")


class Acceptor(Protocol):
    """What serves conversations in this process: a `Server`."""

    def accept(self, transport: Transport) -> None:
        """Serve a conversation in the background."""
        ...


#: A command line, a URL, a server of this process, or a transport.
Target = Sequence[str] | str | Acceptor | Transport


def connect(
    target: Target,
    *,
    env: Mapping[str, str] | None = None,
    cwd: str | None = None,
    inherit_env: bool = False,
    framing: Framing | None = None,
    headers: Mapping[str, str] | None = None,
    hook: TokenHook | None = None,
    info: Implementation | None = None,
    limits: Limits = DEFAULT_LIMITS,
    on_log: Callable[[dict[str, Any]], None] | None = None,
    on_notification: Callable[[Notification], None] | None = None,
) -> Client:
    """Return a client of `target`, to be used as `async with`.

    * A sequence of strings is a command line, run without a shell, in `cwd`, with `env` merged over a
      small base environment (`inherit_env`: over the whole of ours).  Its framing is found out unless
      it is given.
    * An `http://` or `https://` URL is a server of Streamable HTTP, or of the old HTTP+SSE if it
      answers no POST; `sse+http://` says that it is the latter.  `headers` go on every request, `hook`
      is awaited before each and gives more.
    * A `Server` is served in this process.
    * A transport is used as it is.

    `on_log` gets the params of each log message of the server, `on_notification` every notification
    that is for nobody else.  Raises `ConfigError` for anything else.
    """
    make = partial(Client, info=info, limits=limits, on_log=on_log, on_notification=on_notification)
    if _is_acceptor(target):
        client, server = memory_pair(limits)
        client.on_start = lambda: target.accept(server)
        return make(client)
    if _is_transport(target):
        return make(target)
    if isinstance(target, str):
        return make(http_transport(target, headers, hook, limits))
    argv = _words(target)
    from anywire.transport.process import Command
    from anywire.transport.stdio_client import StdioClientTransport

    command = Command(argv, dict(env or {}), cwd, inherit_env)
    child = StdioClientTransport(command, framing=framing, limits=limits)
    return make(child, explain=child.explain_silence)


def http_transport(
    url: str, headers: Mapping[str, str] | None, hook: TokenHook | None, limits: Limits
) -> Transport:
    """Return a transport to the server at a URL, not started.  Raises `ConfigError` for no such URL."""
    scheme = url.partition("://")[0].lower()
    if scheme in ("sse+http", "sse+https"):
        from anywire.transport.sse_client import SseClientTransport

        return SseClientTransport(url[len("sse+") :], headers=headers, hook=hook, limits=limits)
    if scheme in ("http", "https"):
        from anywire.transport.http_client import HttpClientTransport

        return HttpClientTransport(url, headers=headers, hook=hook, limits=limits)
    raise ConfigError(
        f"cannot connect to {show_url(url)!r}: give a list of words, or an http:// or https:// URL"
    )


def _words(target: object) -> tuple[str, ...]:
    if isinstance(target, Sequence) and not isinstance(target, str | bytes):
        words: list[object] = list(target)  # pyright: ignore[reportUnknownArgumentType] of anything
        if words and all(isinstance(word, str) for word in words):
            return tuple(map(str, words))
    # What it holds is not shown: words of a command may be secrets.
    kind = type(target).__name__  # pyright: ignore[reportUnknownArgumentType] of anything
    raise ConfigError(f"cannot connect to a {kind}: give a list of words, a Server or a transport")


def _is_acceptor(target: object) -> TypeGuard[Acceptor]:
    return callable(getattr(target, "accept", None))


def _is_transport(target: object) -> TypeGuard[Transport]:
    return callable(getattr(target, "post", None)) and hasattr(target, "callbacks")
