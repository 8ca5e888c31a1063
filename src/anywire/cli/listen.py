"""Serving HTTP from the command line: the address, the guards, the running."""

from __future__ import annotations

import argparse
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from anywire.bridge.endpoint import HttpAddress
    from anywire.transport.contract import Accept
    from anywire.wire.limits import Limits

__all__ = ("add_guard_options", "add_limit_options", "listen")


def add_guard_options(parser: argparse.ArgumentParser) -> None:
    """Add what says which hosts and origins are let in."""
    parser.add_argument(
        "--allow-host",
        action="append",
        default=[],
        metavar="NAME[:PORT]",
        help="a name under which clients may reach the HTTP address, besides the one it is bound to, "
        "such as --allow-host tools.example; may be repeated",
    )
    parser.add_argument(
        "--allow-origin",
        action="append",
        default=[],
        metavar="ORIGIN",
        help="a web page's origin that may use the HTTP address, "
        "such as --allow-origin https://app.example; may be repeated",
    )


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
    accept: Accept,
    *,
    serves: Callable[[str], bool],
    close: Callable[[], Awaitable[None]],
    limits: Limits | None = None,
) -> int:
    """Serve an HTTP address until a signal ends it; return the exit code.

    `accept` is given each conversation; `close` is called at the end, after the listener has closed.
    """
    from anywire.cli.doorkeeper import Doorkeeper
    from anywire.cli.failure import write_stderr
    from anywire.protocol.http.guard import is_loopback
    from anywire.transport.asgi_host import AsgiHost, bind
    from anywire.transport.http_server import HttpListener
    from anywire.transport.run_process import run_process
    from anywire.transport.sse_server import SseListener
    from anywire.wire.limits import DEFAULT_LIMITS

    changes = {} if options.body_limit is None else {"body_bytes": options.body_limit}
    limits = (limits or DEFAULT_LIMITS).replace(**changes)

    async def serve() -> None:
        guard = Doorkeeper.for_bind(address.host, hosts=options.allow_host, origins=options.allow_origin)
        if address.old:
            listener: SseListener | HttpListener = SseListener(accept, guard=guard, limits=limits)
        else:
            listener = HttpListener(accept, serves, guard=guard, path=address.path, limits=limits)

        async def close_both() -> None:
            await listener.close()
            await close()

        served = AsgiHost(listener, close_both, limits)
        opened = bind(address.host, address.port)
        host = f"[{address.host}]" if ":" in address.host else address.host
        where = f"http://{host}:{opened.getsockname()[1]}{address.path}"
        said = f"anywire: listening on {where}\n"
        if not is_loopback(address.host):
            said += (
                "anywire: this address can be reached from other machines, and nobody is asked who they are\n"
            )
        write_stderr(said.encode())
        await served.serve(opened)

    run_process(serve, limits)
    return 0
