"""Serving HTTP from the command line: the address, the guards, the running."""

from __future__ import annotations

import argparse
import os
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Protocol

from anywire.errors import ConfigError
from anywire.wire.limits import DEFAULT_LIMITS, Limits

if TYPE_CHECKING:
    from anywire.bridge.endpoint import HttpAddress
    from anywire.bridge.metering.meters import Meters
    from anywire.cli.log import Log
    from anywire.protocol.http.bearer import Bearer
    from anywire.protocol.http.guard import Guard
    from anywire.transport.asgi import Receive, Scope, Send
    from anywire.transport.asgi_site import Site
    from anywire.transport.forwarding import Forwarding

__all__ = ("Served", "add_guard_options", "add_limit_options", "listen", "refuse_guard_options")

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


class Served(Protocol):
    """What answers at an address: a listener, or a `Site` of several."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send, /) -> None:
        """Answer one request."""
        ...

    async def close(self) -> None:
        """End what lives in it."""
        ...


def listen(
    options: argparse.Namespace,
    address: HttpAddress,
    make_listener: Callable[[Guard, Limits], Served],
    *,
    close: Callable[[], Awaitable[None]],
    log: Log,
    meters: Meters,
    limits: Limits = DEFAULT_LIMITS,
    forwarding: Forwarding | None = None,
) -> int:
    """Serve an HTTP address until a signal ends it; return the exit code.

    `make_listener` makes what answers there; `close` is called at the end, after that has closed.  What
    `meters` say is shown beside it.  `forwarding` takes headers of the requests along.  Raises `ConfigError`
    for an address that must not be offered as the options have it.
    """
    from anywire.cli.observing import observed
    from anywire.transport.asgi_host import AsgiHost, bind
    from anywire.transport.run_process import run_process

    changes = {} if options.body_limit is None else {"body_bytes": options.body_limit}
    limits = limits.replace(**changes)
    bearer = _bearer(options)

    async def serve() -> None:
        with bind(address.host, address.port) as opened:
            bound, port = opened.getsockname()[:2]
            guard = _guard(options, address.host, bound, bearer)
            listener = make_listener(guard, limits)

            async def close_both() -> None:
                meters.closing = True
                await listener.close()
                await close()

            discreet = bearer is None and _has_strangers(options, bound)
            app = observed(
                _site_of(listener, address), meters, guard, discreet=discreet, redact=log.without_secrets
            )
            served = AsgiHost(app if forwarding is None else forwarding.taking(app), close_both, limits)
            _announce(log, address, bound, port, asks=bearer is not None)
            await served.serve(opened)

    with log.listening():
        run_process(serve, limits)
    return 0


def _site_of(served: Served, address: HttpAddress) -> Site:
    """Return a site with what is served at an address; a listener of HTTP+SSE answers below any path."""
    from anywire.transport.asgi_site import Site

    if isinstance(served, Site):
        return served
    return Site(rest=served) if address.old else Site({address.path: served})


def _has_strangers(options: argparse.Namespace, bound: str) -> bool:
    """Say whether not only people of this machine may come: over the network, or by a proxy with a name."""
    from anywire.protocol.http.guard import is_loopback

    return not is_loopback(bound) or bool(options.allow_host)


def _announce(log: Log, address: HttpAddress, bound: str, port: int, *, asks: bool) -> None:
    """Say where clients are served, and that anybody is where that is so."""
    from urllib.parse import quote

    from anywire.bridge.report import Event
    from anywire.protocol.http.guard import is_loopback

    host = f"[{address.host}]" if ":" in address.host else address.host
    url = f"http://{host}:{port}{quote(address.path, safe=_PLAIN)}"
    log.tell(Event(f"listening on {url}", "listening", {"url": url}), level="info")
    if not asks and not is_loopback(bound):
        log.tell("this address can be reached from other machines, and nobody is asked who they are")
