"""TARGET: what a client command calls, and the client that calls it."""

from __future__ import annotations

import argparse
import io
import os
import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, TypeAlias

from anywire.cli.failure import needs_authorization
from anywire.cli.headers import add_header_options
from anywire.cli.named_server import add_server_options
from anywire.cli.options import add_child_options, add_era, add_json, add_timeout, add_verbose
from anywire.cli.output import Output
from anywire.cli.recording import add_record_options, recording
from anywire.cli.secrets import secrets_of
from anywire.cli.status import Status
from anywire.errors import ConfigError, ConnectFailed, TransportError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from anywire.client.client import Client
    from anywire.client.options import ClientOptions
    from anywire.transport.contract import Transport
    from anywire.transport.process import Command
    from anywire.wire.limits import Limits

__all__ = (
    "TARGET_HELP",
    "TARGET_WORDS",
    "Saying",
    "add_target_options",
    "child_command",
    "converse",
    "is_url",
    "limits_of",
    "refuse_child_options",
    "split_target",
)

#: How a target is written in a usage line.
TARGET_WORDS = "(MODULE:SERVER | URL | --server NAME | -- COMMAND [ARGUMENT ...])"
#: What a target is.
TARGET_HELP = (
    "what to call: a Server of Python code, such as my_module:server or ./file.py:server, "
    "a URL, such as https://host.example/mcp (sse+https://… for an old server), "
    "or a command behind '--', such as -- npx -y some-server"
)

#: Makes the client's options of where things are told, and of the descriptor that a person types into.
Saying: TypeAlias = "Callable[[Status, int], ClientOptions]"

_URL = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)


def add_target_options(parser: argparse.ArgumentParser, waiting: str, document: str) -> None:
    """Add what every command takes that calls a target; `waiting` and `document` say what is its own."""
    add_server_options(parser)
    add_json(parser, document)
    add_timeout(parser, waiting)
    add_child_options(parser)
    add_header_options(parser)
    add_era(parser)
    add_verbose(parser, "pass the server's stderr on")
    add_record_options(parser)


def is_url(word: str) -> bool:
    """Say whether a word is a URL, whatever it leads to."""
    return _URL.match(word) is not None


def split_target(options: argparse.Namespace, usage: str) -> list[str]:
    """Return the words of a list that the target ends; where that is no command, take it from them.

    argparse hands all words to the list.  Raises `ConfigError` where there is no target.
    """
    words: list[str] = options.arguments
    if options.command is not None or options.target is not None:
        return words
    if not words or ("=" in words[-1] and not is_url(words[-1])):
        raise ConfigError(f"the target comes last: {usage} {TARGET_WORDS}")
    *words, options.target = words
    return words


def converse(
    options: argparse.Namespace,
    work: Callable[[Client, Output, Status], Awaitable[None]],
    saying: Saying | None = None,
) -> int:
    """Open a client of the target that the options name, let it work, and end everything in order.

    `saying` is how the client answers its server, and what it tells (default: log messages).
    Returns the exit code.  Raises what the work raises; `ConnectFailed` when the target cannot be
    reached; `SystemExit` after a signal.
    """
    saying = saying or _tell_log
    if options.command is not None:
        return _converse_with_child(options, work, saying)
    if options.target is not None and is_url(options.target):
        return _converse_over_http(options, work, saying)
    return _converse_in_memory(options, work, saying)


def _tell_log(status: Status, keyboard: int) -> ClientOptions:
    return {"on_log": status.log}


def _options(said: ClientOptions, options: argparse.Namespace, limits: Limits) -> ClientOptions:
    return {**said, "limits": limits, "era": options.era}


def _converse_with_child(
    options: argparse.Namespace,
    work: Callable[[Client, Output, Status], Awaitable[None]],
    saying: Saying,
) -> int:
    from anywire.client.client import Client
    from anywire.client.connect import explain_silence
    from anywire.client.greeting import Place
    from anywire.transport.run_process import run_process
    from anywire.transport.stdio_client import StdioClientTransport

    limits = limits_of(options)
    command, output = child_command(options), Output()
    with recording(options) as taps, Status(verbose=options.verbose, secrets=secrets_of(options)) as status:

        async def call_child() -> None:
            def start() -> Transport:
                transport = StdioClientTransport(
                    command, framing=options.framing, limits=limits, on_stderr=status.server_stderr
                )
                return _allowed(options, taps.to_server(transport))

            place = Place((command.argv, command.cwd), start, explain_silence)
            client = Client(start(), place=place, **_options(saying(status, 0), options, limits))
            async with _open(client) as opened:
                await work(opened, output, status)

        run_process(call_child, limits)
    return 0


def _converse_over_http(
    options: argparse.Namespace,
    work: Callable[[Client, Output, Status], Awaitable[None]],
    saying: Saying,
) -> int:
    from anywire.cli.headers import headers_of
    from anywire.client.client import Client
    from anywire.client.connect import http_transport
    from anywire.client.greeting import Place
    from anywire.transport.run_process import run_process

    refuse_child_options(options)
    limits = limits_of(options)
    headers, output = headers_of(options), Output()
    with recording(options) as taps, Status(verbose=options.verbose, secrets=secrets_of(options)) as status:

        async def call_url() -> None:
            transport = _allowed(
                options, taps.to_server(http_transport(options.target, headers, None, limits))
            )
            place, said = Place(options.target), _options(saying(status, 0), options, limits)
            client = Client(transport, place=place, **said)
            async with _open(client) as opened:
                await work(opened, output, status)

        run_process(call_url, limits)
    return 0


def _allowed(options: argparse.Namespace, transport: Transport) -> Transport:
    """Return a transport without what the file of servers hides."""
    policy = getattr(options, "policy_of_server", None)
    if policy is None:
        return transport
    from anywire.bridge.policy.layer import PolicyLayer
    from anywire.bridge.policy.notices import Notices

    return PolicyLayer(transport, policy, Notices(lambda sentence: None))


def _converse_in_memory(
    options: argparse.Namespace,
    work: Callable[[Client, Output, Status], Awaitable[None]],
    saying: Saying,
) -> int:
    """Serve the target in this process; whatever it prints goes to stderr."""
    from anywire.cli.load import load_server
    from anywire.client.client import Client
    from anywire.client.connect import in_memory
    from anywire.transport.run_process import run_process
    from anywire.transport.stdio_claim import claim_stdio

    refuse_child_options(options)
    limits = limits_of(options)
    target = _checked(options)
    claim = claim_stdio()
    try:
        with (
            os.fdopen(os.dup(claim.write_fd), "wb") as raw,
            recording(options) as taps,
            Status(verbose=options.verbose, secrets=secrets_of(options)) as status,
        ):
            output = Output(io.TextIOWrapper(raw, encoding="utf-8"))
            server = load_server(target)

            async def call_server() -> None:
                transport = taps.to_server(in_memory(server, limits), target)
                said = _options(saying(status, claim.read_fd), options, limits)
                client = Client(transport, **said)
                async with _open(client) as opened:
                    await work(opened, output, status)

            run_process(call_server, limits)
            return 0
    finally:
        claim.restore()


@asynccontextmanager
async def _open(client: Client) -> AsyncGenerator[Client]:
    """Open a client; whatever keeps it from opening means that the target is not reached."""
    try:
        await client.open()
    except ConnectFailed:
        raise
    except TransportError as error:
        if needs_authorization(error):
            raise
        raise ConnectFailed(str(error)) from error
    try:
        yield client
    finally:
        await client.close()


def child_command(options: argparse.Namespace) -> Command:
    """Return the command behind `--`, started as the options say.  Raises `ConfigError`."""
    from anywire.bridge.endpoint import child_environment
    from anywire.transport.process import Command
    from anywire.transport.redact import show_word

    if options.target is not None:
        shown = "the URL" if is_url(options.target) else repr(show_word(options.target))
        raise ConfigError(f"there are two targets, {shown} and the command behind '--'; give one")
    if not options.command:
        raise ConfigError("there is no command behind '--'")
    environment = child_environment(options.env, os.environ)
    return Command(tuple(options.command), environment, options.cwd, options.inherit_env)


def limits_of(options: argparse.Namespace) -> Limits:
    """Return the limits with the times that a file of servers gives, or `--timeout`."""
    from anywire.wire.limits import DEFAULT_LIMITS

    if options.timeout is None:
        return DEFAULT_LIMITS.replace(**getattr(options, "limits_of_server", {}))
    return DEFAULT_LIMITS.replace(
        connect_seconds=options.timeout,
        request_seconds=options.timeout,
        request_total_seconds=max(options.timeout, DEFAULT_LIMITS.request_total_seconds),
    )


def _checked(options: argparse.Namespace) -> str:
    """Return the target that is no command.  Raises `ConfigError` for what cannot be one."""
    target: str | None = options.target
    if target is None:
        raise ConfigError(f"say what to call: {TARGET_WORDS}")
    if ":" not in target:
        from anywire.transport.redact import show_word

        target = show_word(target)
        raise ConfigError(
            f"{target!r} is no MODULE:SERVER such as my_module:server; a command stands behind '--': "
            f"-- {target}"
        )
    return target


def refuse_child_options(options: argparse.Namespace) -> None:
    """Refuse options that say how a command is started, where there is none.  Raises `ConfigError`."""
    given = {
        "--env": bool(options.env),
        "--inherit-env": options.inherit_env,
        "--cwd": options.cwd is not None,
        "--framing": options.framing is not None,
    }
    for name, is_given in given.items():
        if is_given:
            raise ConfigError(f"{name} is for a command behind '--', and there is none")
