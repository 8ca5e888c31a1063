"""`connect()`: from what the user has to a client."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Protocol, TypeGuard, Unpack

from anywire.client.client import Client
from anywire.client.greeting import Place
from anywire.client.options import ClientOptions
from anywire.errors import ConfigError
from anywire.transport.contract import Transport
from anywire.transport.memory import memory_pair
from anywire.transport.redact import show_url
from anywire.wire.framing import Framing
from anywire.wire.limits import DEFAULT_LIMITS, Limits

if TYPE_CHECKING:
    from anywire.transport.http_calls import TokenHook
    from anywire.transport.process import Command

__all__ = ("Acceptor", "Target", "connect", "explain_silence", "http_transport", "in_memory")


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
    **options: Unpack[ClientOptions],
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

    `info` is what the client says of itself, `limits` what it may cost.  `on_log` gets the params of
    each log message of the server, `on_notification` every notification that is for nobody else.

    What the server may ask follows from what is given, and is declared:

    * `on_sample` gets `CreateMessageParams` and returns what a model said: a text, a block of content,
      several, or a `CreateMessageResult`; None says that the user refused.
    * `on_elicit` gets `ElicitFormParams` or `ElicitUrlParams` and returns what the user filled in,
      `"accept"`, `"decline"` or `"cancel"`, or an `ElicitResult`; None says that the user declined.
      Members that were left out get the defaults of the form.
    * `roots` are `Root`s, paths or `file:` URIs, or a function that returns them.

    Each of these functions may be `async`; a plain one runs in a worker thread, since it may block.  Each
    may take one parameter more, an `Asked`, to report progress.  What it raises is the server's error: a
    `Refusal` as it is, anything else by its text.  `capabilities` takes the place of what is declared,
    member by member, to leave forms or addresses out or to add tools to sampling.

    `era` is `"legacy"` for a client that shakes hands (2024-11-05 to 2025-11-25), `"modern"` for a
    stateless one (2026-07-28); by default the server is asked which it is.  `cache=False` keeps none of
    the results that a stateless server says may be kept.

    Raises `ConfigError` for a target that is none, and for options that cannot be.
    """
    limits = options.get("limits", DEFAULT_LIMITS)
    make = partial(Client, **options)
    if _is_acceptor(target):
        return make(in_memory(target, limits))
    if _is_transport(target):
        return make(target)
    if isinstance(target, str):
        return make(http_transport(target, headers, hook, limits), place=Place(target))
    argv = _words(target)
    from anywire.transport.process import Command

    start = partial(_start, Command(argv, dict(env or {}), cwd, inherit_env), framing, limits)
    return make(start(), place=Place((argv, cwd), start, explain_silence))


def _start(command: Command, framing: Framing | None, limits: Limits) -> Transport:
    from anywire.transport.stdio_client import StdioClientTransport

    return StdioClientTransport(command, framing=framing, limits=limits)


def explain_silence(transport: Transport) -> str:
    """Say why a child may not have answered; empty where the transport is no child's."""
    explain = getattr(transport, "explain_silence", None)
    return "" if explain is None else str(explain())


def in_memory(server: Acceptor, limits: Limits) -> Transport:
    """Return a transport to a server of this process, which begins to serve when it is started."""
    client, served = memory_pair(limits)
    client.on_start = lambda: server.accept(served)
    return client


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
