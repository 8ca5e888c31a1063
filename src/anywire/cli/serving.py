"""Serving HTTP from the command line: the address, the guards, the running."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from anywire.wire.limits import DEFAULT_LIMITS, Limits

if TYPE_CHECKING:
    from anywire.bridge.endpoint import HttpAddress
    from anywire.protocol.http.guard import Guard
    from anywire.transport.http_server import HttpListener
    from anywire.transport.sse_server import SseListener

__all__ = ("add_guard_options", "add_limit_options", "listen")

# What may stand in the path of a URL as it is.
_PLAIN = "/:@!$&'()*+,;=~"


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
    make_listener: Callable[[Guard, Limits], HttpListener | SseListener],
    *,
    close: Callable[[], Awaitable[None]],
    limits: Limits = DEFAULT_LIMITS,
) -> int:
    """Serve an HTTP address until a signal ends it; return the exit code.

    `make_listener` makes what answers there; `close` is called at the end, after that has closed.
    """
    from urllib.parse import quote

    from anywire.cli.doorkeeper import Doorkeeper
    from anywire.cli.failure import write_stderr
    from anywire.protocol.http.guard import is_loopback
    from anywire.transport.asgi_host import AsgiHost, bind
    from anywire.transport.run_process import run_process

    changes = {} if options.body_limit is None else {"body_bytes": options.body_limit}
    limits = limits.replace(**changes)

    async def serve() -> None:
        guard = Doorkeeper.for_bind(address.host, hosts=options.allow_host, origins=options.allow_origin)
        listener = make_listener(guard, limits)

        async def close_both() -> None:
            await listener.close()
            await close()

        served = AsgiHost(listener, close_both, limits)
        opened = bind(address.host, address.port)
        host = f"[{address.host}]" if ":" in address.host else address.host
        where = f"http://{host}:{opened.getsockname()[1]}{quote(address.path, safe=_PLAIN)}"
        said = f"anywire: listening on {where}\n"
        if not is_loopback(address.host):
            said += (
                "anywire: this address can be reached from other machines, and nobody is asked who they are\n"
            )
        write_stderr(said.encode())
        await served.serve(opened)

    log, handler = logging.getLogger("anywire"), _Log(logging.WARNING)
    log.addHandler(handler)
    try:
        run_process(serve, limits)
    finally:
        log.removeHandler(handler)
    return 0


class _Log(logging.Handler):
    """Tells on stderr what anywire logs, line by line and with its name."""

    def emit(self, record: logging.LogRecord) -> None:
        from anywire.cli.failure import write_stderr

        write_stderr(f"anywire: {self.format(record)}\n".encode("utf-8", "backslashreplace"))
