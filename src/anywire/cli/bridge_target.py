"""What a bridge calls: a command, a URL, or a server on a control channel."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from anywire.errors import ConfigError
from anywire.wire.limits import DEFAULT_LIMITS

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from anywire.bridge.endpoint import ControlName
    from anywire.cli.children import Children
    from anywire.transport.contract import Transport
    from anywire.transport.forwarding import Forwarding
    from anywire.transport.process import Command

__all__ = ("target_maker",)


def target_maker(
    options: argparse.Namespace,
    children: Children,
    forwarding: Forwarding | None,
    on_stderr: Callable[[bytes], None],
) -> Callable[[], Transport]:
    """Return what makes a transport to the target that the options name, not started.

    `on_stderr` gets the lines that a command writes on stderr.  Raises `ConfigError`.
    """
    from anywire.bridge.endpoint import is_url, read_control
    from anywire.transport.redact import show_word

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
    return _url(options, named, forwarding)


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


def _url(options: argparse.Namespace, url: str, forwarding: Forwarding | None) -> Callable[[], Transport]:
    from anywire.cli.headers import headers_of
    from anywire.client.connect import http_transport

    headers = headers_of(options)
    http_transport(url, headers, None, DEFAULT_LIMITS)  # a wrong scheme is said now
    if forwarding is None:
        return lambda: http_transport(url, headers, None, DEFAULT_LIMITS)
    return lambda: http_transport(url, headers, forwarding.hook(), DEFAULT_LIMITS)


def _child_of(options: argparse.Namespace) -> Command:
    from anywire.bridge.endpoint import child_environment
    from anywire.transport.process import Command

    environment = child_environment(options.env, os.environ)
    return Command(tuple(options.command), environment, options.cwd, options.inherit_env)
