"""`anywire serve`: run a Server on stdio or over HTTP."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING
from urllib.parse import unquote

from anywire.cli.log import Log, add_log_options, log_of
from anywire.cli.parser import Commands, Parser
from anywire.cli.recording import add_record_options, recording
from anywire.cli.secrets import secrets_of
from anywire.cli.serving import add_guard_options, add_limit_options, listen, refuse_guard_options
from anywire.errors import ConfigError

if TYPE_CHECKING:
    from anywire.protocol.http.guard import Guard
    from anywire.server.server import Server
    from anywire.transport.http_server import HttpListener
    from anywire.transport.sse_server import SseListener
    from anywire.wire.limits import Limits

__all__ = ("add_parser", "run")

_EPILOG = """examples:
  anywire serve my_package.my_module:server
  anywire serve ./server.py:server
  anywire serve ./server.py:server --http 127.0.0.1:8000
  anywire serve ./server.py:server --sse 127.0.0.1:8000
  anywire serve ./server.py:server --http 0.0.0.0:8000 --token-env MCP_TOKEN
"""


def add_parser(commands: Commands) -> Parser:
    """Add the parser of `anywire serve`."""
    parser = commands.add_parser(
        "serve",
        prog="anywire serve",
        help="run a Server on stdio or over HTTP",
        usage="anywire serve MODULE:SERVER [options]",
        description="Run a Server on this process's stdin and stdout, in the framing that the client speaks, "
        "or over HTTP for any number of clients.",
        epilog=_EPILOG,
    )
    parser.add_argument(
        "target",
        metavar="MODULE:SERVER",
        help="what to run, such as my_package.tools:server or ./file.py:server",
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--http",
        metavar="HOST:PORT",
        help="serve Streamable HTTP there, such as --http 127.0.0.1:8000; port 0 takes a free one",
    )
    where.add_argument(
        "--sse",
        metavar="HOST:PORT",
        help="serve HTTP+SSE there, for clients that know nothing newer, such as --sse 127.0.0.1:8000",
    )
    parser.add_argument(
        "--path",
        default=None,
        metavar="PATH",
        help="the path that is served: /mcp (with --sse: /sse), or such as --path /",
    )
    add_guard_options(parser)
    add_limit_options(parser)
    add_log_options(parser)
    add_record_options(parser, for_long=True)
    return parser


def run(options: argparse.Namespace) -> int:
    """Load the server that `options.target` names and serve it; return the exit code."""
    from anywire.cli.load import load_server
    from anywire.transport.stdio_claim import claim_stdio

    if options.command is not None:
        raise ConfigError("serve takes module:server, not a command after '--'")
    if options.http is None and options.sse is None:
        if options.path is not None:
            raise ConfigError("--path is for --http and --sse; stdio has none")
        refuse_guard_options(options)
        claim_stdio()
    log = log_of(options)
    with recording(options, tell=log.tell) as taps:
        server = load_server(options.target)
        server.layer = taps.of_server(options.target)
        if options.http is not None or options.sse is not None:
            return _serve_http(options, server, log)
        with log.listening(modest=True):
            server.run()
        return 0


def _serve_http(options: argparse.Namespace, server: Server, log: Log) -> int:
    from anywire.bridge.endpoint import HttpAddress
    from anywire.bridge.metering.meters import Meters
    from anywire.transport.asgi_host import split_address

    log.hide(secrets_of(options))
    host, port = split_address(options.http or options.sse)
    given = options.path if options.path is not None else "/sse" if options.sse else "/mcp"
    path = "/" + unquote(given).lstrip("/")
    address, meters = HttpAddress(host, port, path, old=options.sse is not None), Meters()

    def make(guard: Guard, limits: Limits) -> HttpListener | SseListener:
        if address.old:
            old = server.sse_listener(guard, limits=limits)
            meters.count_sessions = lambda: len(old)
            return old
        listener = server.http_listener(guard, path=path, limits=limits)
        meters.count_sessions = lambda: len(listener.sessions)
        return listener

    return listen(
        options,
        address,
        make,
        close=server.close,
        log=log,
        meters=meters,
        limits=server.limits,
    )
