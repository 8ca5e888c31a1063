"""`connect()`: from what the user has to a client."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeGuard

from anywire.client.client import Client
from anywire.errors import ConfigError
from anywire.protocol.types.initialize import Implementation
from anywire.transport.contract import Transport
from anywire.transport.memory import memory_pair
from anywire.wire.framing import Framing
from anywire.wire.limits import DEFAULT_LIMITS, Limits
from anywire.wire.message import Notification

__all__ = ("Acceptor", "Target", "connect")


class Acceptor(Protocol):
    """What serves conversations in this process: a `Server`."""

    def accept(self, transport: Transport) -> None:
        """Serve a conversation in the background."""
        ...


#: A command line, a server of this process, or a transport.
Target = Sequence[str] | Acceptor | Transport


def connect(
    target: Target,
    *,
    env: Mapping[str, str] | None = None,
    cwd: str | None = None,
    framing: Framing = Framing.NEWLINE,
    info: Implementation | None = None,
    limits: Limits = DEFAULT_LIMITS,
    on_log: Callable[[dict[str, Any]], None] | None = None,
    on_notification: Callable[[Notification], None] | None = None,
) -> Client:
    """Return a client of `target`, to be used as `async with`.

    A sequence of strings is a command line, run without a shell and with `env` merged over a small
    base environment; a `Server` is served in this process; a transport is used as it is.  `on_log`
    gets the params of each log message of the server, `on_notification` every notification that is
    for nobody else.  Raises `ConfigError` for anything else.
    """
    transport = _transport(target, env or {}, cwd, framing, limits)
    return Client(transport, info=info, limits=limits, on_log=on_log, on_notification=on_notification)


def _transport(
    target: object, env: Mapping[str, str], cwd: str | None, framing: Framing, limits: Limits
) -> Transport:
    if _is_acceptor(target):
        client, server = memory_pair(limits)
        client.on_start = lambda: target.accept(server)
        return client
    if _is_transport(target):
        return target
    if isinstance(target, Sequence) and not isinstance(target, str | bytes):
        argv = tuple(str(word) for word in target)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        if argv:
            return _child(argv, env, cwd, framing, limits)
    raise ConfigError(f"cannot connect to {target!r}: give a list of words, a Server or a transport")


def _child(
    argv: tuple[str, ...], env: Mapping[str, str], cwd: str | None, framing: Framing, limits: Limits
) -> Transport:
    from anywire.transport.process import Command
    from anywire.transport.stdio_client import StdioClientTransport

    return StdioClientTransport(Command(argv, dict(env), cwd), framing=framing, limits=limits)


def _is_acceptor(target: object) -> TypeGuard[Acceptor]:
    return callable(getattr(target, "accept", None))


def _is_transport(target: object) -> TypeGuard[Transport]:
    return callable(getattr(target, "post", None)) and hasattr(target, "callbacks")
