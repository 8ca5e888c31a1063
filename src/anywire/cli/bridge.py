"""`anywire bridge`: offer one wire, call another."""

from __future__ import annotations

import argparse
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from anywire.cli.headers import add_forward_option, add_header_options, forwarding_of
from anywire.cli.options import add_child_options, add_era, count, duration
from anywire.cli.parser import Commands, Parser
from anywire.cli.recording import add_record_options, recording
from anywire.cli.serving import add_guard_options, add_limit_options, listen, refuse_guard_options
from anywire.errors import ConfigError
from anywire.wire.limits import DEFAULT_LIMITS

if TYPE_CHECKING:
    from anywire.bridge.endpoint import ControlName, HttpAddress, StdioFace
    from anywire.bridge.meeting.upstream import Sharing
    from anywire.cli.children import Children
    from anywire.protocol.http.guard import Guard
    from anywire.transport.contract import Transport
    from anywire.transport.forwarding import Forwarding
    from anywire.transport.http_server import HttpListener
    from anywire.transport.sse_server import SseListener
    from anywire.transport.stdio_claim import StdioClaim
    from anywire.wire.limits import Limits

__all__ = ("add_parser", "run")

_EPILOG = """examples:
  anywire bridge stdio+headers -- npx -y some-server
  anywire bridge stdio --env API_KEY --cwd ../project -- python server.py
  anywire bridge http://127.0.0.1:8000/mcp -- npx -y some-server
  anywire bridge stdio https://host.example/mcp --header 'Authorization: Bearer ${TOKEN}'
  anywire bridge http://127.0.0.1:8000/mcp control:notes -- ./program-with-servers
"""


def add_parser(commands: Commands) -> Parser:
    """Add the parser of `anywire bridge`."""
    parser = commands.add_parser(
        "bridge",
        prog="anywire bridge",
        help="offer one wire, call another",
        usage="anywire bridge FACE [options] (URL | [control:NAME] -- COMMAND [ARGUMENT ...])",
        description="Offer FACE and relay every message to the server at URL, or to COMMAND, and back. Over "
        "HTTP each session of a client gets a server of its own. A command gets a small environment (PATH, "
        "HOME, language); see --env.",
        epilog=_EPILOG,
    )
    parser.add_argument(
        "face",
        metavar="FACE",
        help="offered: stdio, stdio+headers, http://HOST:PORT/path, such as http://127.0.0.1:8000/mcp, "
        "sse+http://HOST:PORT for old clients, or control:NAME on a host's control channel",
    )
    parser.add_argument(
        "target",
        nargs="?",
        metavar="URL",
        help="the server to call, such as https://host.example/mcp (sse+https://… for an old one), if it is "
        "no command; control:NAME for one that lives in the program behind '--'",
    )
    parser.add_argument(
        "--target-framing",
        default="newline",
        metavar="FRAMING",
        help="how the command frames its messages: newline (default) or headers, "
        "such as --target-framing headers",
    )
    add_era(parser, "; it is the server's, found out when it matters, and clients may speak either")
    parser.add_argument(
        "--shared",
        action="store_true",
        help="one server for all sessions over HTTP, if it is costly, such as --shared -- npx -y big-server",
    )
    add_child_options(parser, with_framing=False)
    add_header_options(parser)
    add_forward_option(parser)
    add_guard_options(parser)
    _add_session_options(parser)
    add_limit_options(parser)
    add_record_options(parser, for_long=True)
    return parser


def _add_session_options(parser: argparse.ArgumentParser) -> None:
    """Add what says how many clients there may be over HTTP, and for how long."""
    parser.add_argument(
        "--max-sessions",
        type=count,
        default=None,
        metavar="N",
        help=f"sessions over HTTP at once, {DEFAULT_LIMITS.child_sessions} with a command; one more ends the "
        "idlest, such as --max-sessions 10",
    )
    parser.add_argument(
        "--idle",
        type=duration,
        default=None,
        metavar="DURATION",
        help=f"when an unused session ends ({DEFAULT_LIMITS.session_idle_seconds / 60:g}m), "
        "such as --idle 5m",
    )


def run(options: argparse.Namespace) -> int:
    """Run the bridge that the options describe until one of its ends leaves; return the exit code."""
    from anywire.bridge.endpoint import HttpAddress, read_face
    from anywire.cli.bridge_target import target_maker
    from anywire.cli.children import Children

    face, children = read_face(options.face), Children()
    if not isinstance(face, HttpAddress):
        _refuse_session_options(options)
        refuse_guard_options(options)
    forwarding = forwarding_of(options, over_http=isinstance(face, HttpAddress))
    make_target = target_maker(options, children, forwarding)
    with recording(options) as taps:
        make_target = taps.maker(make_target)
        if isinstance(face, HttpAddress):
            return _offer_http(options, face, make_target, children, forwarding)
        return _offer_stdio(options, face, make_target, children)


def _offer_stdio(
    options: argparse.Namespace,
    face: StdioFace | ControlName,
    make_target: Callable[[], Transport],
    children: Children,
) -> int:
    from anywire.bridge.meeting.era import era_of
    from anywire.bridge.meeting.upstream import Upstream
    from anywire.bridge.relay import Relay
    from anywire.transport.run_process import run_process
    from anywire.transport.stdio_claim import claim_stdio

    # Before there is an event loop: one that is made while stdin or stdout is closed takes its number.
    claim = claim_stdio()

    async def relay() -> None:
        upstream = Upstream(make_target, _report, era=era_of(options.era))
        try:
            await Relay(_client_at(face, claim), upstream.target, _report).run()
        finally:
            await upstream.close()

    run_process(lambda: children.run(relay()), DEFAULT_LIMITS)
    return 0


def _client_at(face: StdioFace | ControlName, claim: StdioClaim) -> Transport:
    """Return the transport to the client on this process's own stdio."""
    from anywire.bridge.endpoint import ControlName

    if isinstance(face, ControlName):
        from anywire.transport.control.channel import StdioChannel
        from anywire.transport.control.sole import control_face

        return control_face(face.server, StdioChannel(claim))
    from anywire.transport.stdio_server import StdioListener

    return StdioListener(claim, framing=face.framing).open()


def _offer_http(
    options: argparse.Namespace,
    face: HttpAddress,
    make_target: Callable[[], Transport],
    children: Children,
    forwarding: Forwarding | None,
) -> int:
    from anywire.bridge.http_face import HttpFace
    from anywire.bridge.meeting.era import era_of
    from anywire.bridge.meeting.upstream import Upstream

    limits = _limits_of(options)
    upstream = Upstream(
        make_target,
        _report,
        limits,
        sharing=_sharing_of(options, forwarding),
        era=era_of(options.era),
    )
    relays = HttpFace(upstream)

    def make(guard: Guard, limits: Limits) -> HttpListener | SseListener:
        from anywire.protocol.http.stateless import StatelessFace
        from anywire.transport.http_server import HttpListener
        from anywire.transport.sse_server import SseListener

        if face.old:
            return SseListener(relays.accept, guard=guard, limits=limits)
        # What the server behind has is not known here; it will say so itself.
        stateless = StatelessFace(lambda method: True, lambda tool: upstream.mirrors.get(tool, ()))
        return HttpListener(
            relays.accept,
            lambda method: True,
            guard=guard,
            path=face.path,
            stateless=stateless,
            limits=limits,
        )

    def close() -> Awaitable[None]:
        return children.hurried(relays.close())

    return listen(options, face, make, close=close, limits=limits, forwarding=forwarding)


def _sharing_of(options: argparse.Namespace, forwarding: Forwarding | None) -> Sharing:
    from anywire.bridge.meeting.upstream import Sharing

    if forwarding is None:
        return Sharing.ALL if options.shared else Sharing.STATELESS
    if options.shared:
        raise ConfigError("--forward-header says who each client is, and --shared makes them one; give one")
    return Sharing.NOBODY


def _limits_of(options: argparse.Namespace) -> Limits:
    usual = DEFAULT_LIMITS.child_sessions if options.command else DEFAULT_LIMITS.sessions
    return DEFAULT_LIMITS.replace(
        sessions=options.max_sessions or usual,
        session_idle_seconds=options.idle or DEFAULT_LIMITS.session_idle_seconds,
    )


def _refuse_session_options(options: argparse.Namespace) -> None:
    given = {"--max-sessions": options.max_sessions, "--idle": options.idle, "--shared": options.shared}
    for name, value in given.items():
        if value:
            raise ConfigError(f"{name} is for a face over HTTP; over stdio there is one client")


def _report(sentence: str) -> None:
    from anywire.cli.failure import write_stderr

    write_stderr(f"anywire: {sentence}\n".encode("utf-8", "backslashreplace"))
