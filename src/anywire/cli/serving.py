"""Serving HTTP from the command line: the address, the guards, the running."""

from __future__ import annotations

import argparse
import logging
import os
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from anywire.errors import ConfigError
from anywire.wire.limits import DEFAULT_LIMITS, Limits

if TYPE_CHECKING:
    from anywire.bridge.endpoint import HttpAddress
    from anywire.protocol.http.bearer import Bearer
    from anywire.protocol.http.guard import Guard
    from anywire.transport.forwarding import Forwarding
    from anywire.transport.http_server import HttpListener
    from anywire.transport.sse_server import SseListener

__all__ = ("add_guard_options", "add_limit_options", "listen", "refuse_guard_options")

# What may stand in the path of a URL as it is.
_PLAIN = "/:@!$&'()*+,;=~"


def add_guard_options(parser: argparse.ArgumentParser) -> None:
    """Add what says which hosts and origins are let in, and whether they must bring a token."""
    parser.add_argument(
        "--allow-host",
        action="append",
        default=[],
        metavar="NAME",
        help="a further name of the HTTP address, such as --allow-host tools.example; may be repeated",
    )
    parser.add_argument(
        "--allow-origin",
        action="append",
        default=[],
        metavar="ORIGIN",
        help="web pages that may use it, such as --allow-origin https://app.example; may be repeated",
    )
    parser.add_argument(
        "--token-env",
        metavar="NAME",
        help="the variable with the token that clients over HTTP must bring, such as --token-env MCP_TOKEN",
    )
    parser.add_argument(
        "--allow-unauthenticated",
        action="store_true",
        help="let other machines in without a token, for example: --allow-unauthenticated behind a proxy",
    )


def refuse_guard_options(options: argparse.Namespace) -> None:
    """Refuse what says who is let in where there is no HTTP.  Raises `ConfigError`."""
    for name, is_given in (
        ("--token-env", options.token_env is not None),
        ("--allow-unauthenticated", options.allow_unauthenticated),
    ):
        if is_given:
            raise ConfigError(f"{name} is for an HTTP address; over stdio there is nobody to ask")


def _bearer(options: argparse.Namespace) -> Bearer | None:
    """Return the token that is asked for, None where nobody is.  Raises `ConfigError`."""
    from anywire.protocol.http.bearer import Bearer

    name = options.token_env
    if name is None:
        return None
    if options.allow_unauthenticated:
        raise ConfigError("--token-env asks who clients are, and --allow-unauthenticated does not; give one")
    if name not in os.environ:  # whose name is not shown: it may be the token itself, by mistake
        raise ConfigError("--token-env takes the name of a variable, and there is none of that name")
    try:
        return Bearer.of(os.environ[name])
    except ConfigError as error:
        raise ConfigError(f"--token-env {name}: {error}") from None


def _guard(options: argparse.Namespace, host: str, bound: str, bearer: Bearer | None) -> Guard:
    """Return who is let in at an address; `bound` is that of the socket, whatever the name of the host says.

    Raises `ConfigError` where other machines would be let in without a token and that was not wanted.
    """
    from anywire.cli.doorkeeper import Doorkeeper
    from anywire.protocol.http.guard import is_loopback

    hosts, origins = list(options.allow_host), options.allow_origin
    if is_loopback(bound):
        hosts.append(host)
    elif bearer is None and not options.allow_unauthenticated:
        raise ConfigError(
            f"{bound} can be reached from other machines: name the variable with a token that they must "
            "bring (--token-env NAME), or say that anybody may come (--allow-unauthenticated)"
        )
    return Doorkeeper.for_bind(bound, hosts=hosts, origins=origins, bearer=bearer)


def add_limit_options(parser: argparse.ArgumentParser) -> None:
    """Add what says how much is taken from a client over HTTP."""
    parser.add_argument(
        "--body-limit",
        type=_byte_count,
        metavar="BYTES",
        help="how large the body of a request over HTTP may be, such as --body-limit 67108864; "
        "4194304 if not given",
    )


def _byte_count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < len(text) < 16 and int(text)):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of bytes, such as 67108864")
    return int(text)


def listen(
    options: argparse.Namespace,
    address: HttpAddress,
    make_listener: Callable[[Guard, Limits], HttpListener | SseListener],
    *,
    close: Callable[[], Awaitable[None]],
    limits: Limits = DEFAULT_LIMITS,
    forwarding: Forwarding | None = None,
) -> int:
    """Serve an HTTP address until a signal ends it; return the exit code.

    `make_listener` makes what answers there; `close` is called at the end, after that has closed.
    `forwarding` takes headers of the requests along.  Raises `ConfigError` for an address that must not be
    offered as the options have it.
    """
    from anywire.transport.asgi_host import AsgiHost, bind
    from anywire.transport.run_process import run_process

    changes = {} if options.body_limit is None else {"body_bytes": options.body_limit}
    limits = limits.replace(**changes)
    bearer = _bearer(options)

    async def serve() -> None:
        with bind(address.host, address.port) as opened:
            bound, port = opened.getsockname()[:2]
            listener = make_listener(_guard(options, address.host, bound, bearer), limits)

            async def close_both() -> None:
                await listener.close()
                await close()

            app = listener if forwarding is None else forwarding.taking(listener)
            served = AsgiHost(app, close_both, limits)
            _announce(address, bound, port, asks=bearer is not None)
            await served.serve(opened)

    with _telling_what_is_logged():
        run_process(serve, limits)
    return 0


def _announce(address: HttpAddress, bound: str, port: int, *, asks: bool) -> None:
    """Say where clients are served, and that anybody is where that is so."""
    from urllib.parse import quote

    from anywire.cli.failure import write_stderr
    from anywire.protocol.http.guard import is_loopback

    host = f"[{address.host}]" if ":" in address.host else address.host
    said = f"anywire: listening on http://{host}:{port}{quote(address.path, safe=_PLAIN)}\n"
    if not asks and not is_loopback(bound):
        said += "anywire: this address can be reached from other machines, and nobody is asked who they are\n"
    write_stderr(said.encode())


@contextmanager
def _telling_what_is_logged() -> Generator[None]:
    log, handler = logging.getLogger("anywire"), _Log(logging.WARNING)
    log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)


class _Log(logging.Handler):
    """Tells on stderr what anywire logs, line by line and with its name."""

    def emit(self, record: logging.LogRecord) -> None:
        from anywire.cli.failure import write_stderr

        write_stderr(f"anywire: {self.format(record)}\n".encode("utf-8", "backslashreplace"))
