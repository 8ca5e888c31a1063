"""What a bridge calls: a command, a URL, or a server on a control channel."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from anywire.errors import ConfigError
from anywire.wire.framing import Framing
from anywire.wire.limits import DEFAULT_LIMITS

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping

    from anywire.bridge.endpoint import ControlName
    from anywire.cli.bridge_setup import BridgeSetup
    from anywire.cli.children import Children
    from anywire.config.entry import ServerEntry
    from anywire.transport.contract import Transport
    from anywire.transport.forwarding import Forwarding
    from anywire.transport.process import Command
    from anywire.wire.limits import Limits

__all__ = ("entry_target", "target_maker")


def target_maker(setup: BridgeSetup) -> Callable[[], Transport]:
    """Return what makes a transport to the target that the options name, not started.

    Raises `ConfigError`.
    """
    from anywire.bridge.endpoint import is_url, read_control
    from anywire.transport.redact import show_word

    options, children, on_stderr = setup.options, setup.children, setup.log.line
    named = options.target
    if (control := read_control(named or "")) is not None:
        if not options.command:
            raise ConfigError(f"{named} needs the program that has the server: {named} -- COMMAND …")
        return _control(options, control, children, on_stderr)
    if options.command and named is not None:
        shown = "the URL" if is_url(named) else repr(show_word(named))
        raise ConfigError(f"there are two targets, {shown} and the command behind '--'; give one")
    if options.command:
        return _command(options, children, on_stderr)
    if named is None or not is_url(named):
        raise ConfigError("say what to call: anywire bridge FACE (URL | -- COMMAND [ARGUMENT ...])")
    from anywire.cli.headers import headers_of

    return _url(named, headers_of(options), setup.forwarding, DEFAULT_LIMITS)


def entry_target(
    setup: BridgeSetup, entry: ServerEntry, limits: Limits, env: Mapping[str, str]
) -> Callable[[], Transport]:
    """Return what makes a transport to a server of a file, not started; `env` is what a command gets besides.

    Raises `ConfigError`.
    """
    if entry.url is not None:
        url = f"sse+{entry.url}" if entry.wire == "sse" else entry.url
        return _url(url, dict(entry.headers), setup.forwarding, limits)
    from anywire.transport.process import Command
    from anywire.transport.stdio_client import StdioClientTransport

    def on_stderr(line: bytes) -> None:
        setup.log.line(line, entry.name)

    child = Command(entry.command, {**env, **entry.env}, entry.cwd)
    framing = Framing.HEADERS if entry.wire == "stdio+headers" else Framing.NEWLINE
    return lambda: setup.children.add(
        StdioClientTransport(child, framing=framing, limits=limits, on_stderr=on_stderr)
    )


def _command(
    options: argparse.Namespace, children: Children, on_stderr: Callable[[bytes], None]
) -> Callable[[], Transport]:
    from anywire.bridge.endpoint import target_framing
    from anywire.transport.stdio_client import StdioClientTransport

    child, framing = _child_of(options), target_framing(options.target_framing)
    return lambda: children.add(StdioClientTransport(child, framing=framing, on_stderr=on_stderr))


def _control(
    options: argparse.Namespace,
    control: ControlName,
    children: Children,
    on_stderr: Callable[[bytes], None],
) -> Callable[[], Transport]:
    from anywire.transport.control.child import ChildChannel
    from anywire.transport.control.sole import control_target

    child = _child_of(options)

    def make() -> Transport:
        channel = ChildChannel(child, on_stderr=on_stderr)
        children.add(channel)
        return control_target(control.server, channel)

    return make


def _url(
    url: str, headers: dict[str, str], forwarding: Forwarding | None, limits: Limits
) -> Callable[[], Transport]:
    from anywire.client.connect import http_transport

    http_transport(url, headers, None, limits)  # a wrong scheme is said now
    if forwarding is None:
        return lambda: http_transport(url, headers, None, limits)
    return lambda: http_transport(url, headers, forwarding.hook(), limits)


def _child_of(options: argparse.Namespace) -> Command:
    from anywire.bridge.endpoint import child_environment
    from anywire.transport.process import Command

    environment = child_environment(options.env, os.environ)
    return Command(tuple(options.command), environment, options.cwd, options.inherit_env)
