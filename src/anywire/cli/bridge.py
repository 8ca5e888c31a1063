"""`anywire bridge`: offer one wire, call another."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from anywire.cli.headers import add_forward_option, add_header_options, forwarding_of
from anywire.cli.log import add_log_options, log_of
from anywire.cli.options import add_child_options, add_era, count, duration
from anywire.cli.parser import Commands, Parser
from anywire.cli.policies import add_policy_options, policy_of
from anywire.cli.recording import add_record_options, recording
from anywire.cli.serving import add_guard_options, add_limit_options, refuse_guard_options
from anywire.errors import ConfigError
from anywire.wire.limits import DEFAULT_LIMITS

if TYPE_CHECKING:
    from anywire.cli.bridge_face import Offer
    from anywire.cli.bridge_setup import BridgeSetup

__all__ = ("add_parser", "run")

#: What the one server is called where servers have names: its command line is nobody else's business.
_ONLY = "server"

_EPILOG = """examples:
  anywire bridge stdio+headers -- npx -y some-server
  anywire bridge stdio --env API_KEY --cwd ../project -- python server.py
  anywire bridge http://127.0.0.1:8000/mcp -- npx -y some-server
  anywire bridge stdio https://host.example/mcp --header 'Authorization: Bearer ${TOKEN}'
  anywire bridge http://127.0.0.1:8000/mcp --config servers.json
  anywire bridge http://127.0.0.1:8000/mcp control:notes -- ./program-with-servers
"""


def add_parser(commands: Commands) -> Parser:
    """Add the parser of `anywire bridge`."""
    parser = commands.add_parser(
        "bridge",
        prog="anywire bridge",
        help="offer one wire, call another",
        usage="anywire bridge FACE [options] "
        "(URL | --config FILE | [control:NAME] -- COMMAND [ARGUMENT ...])",
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
        "--config",
        metavar="FILE",
        help="a file of servers, as editors have them: all of them as one, over HTTP each at "
        "/servers/NAME/mcp as well, such as --config servers.json; changes to it are taken up",
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
    add_policy_options(parser)
    add_guard_options(parser)
    _add_session_options(parser)
    add_limit_options(parser)
    add_log_options(parser)
    add_record_options(parser, for_long=True)
    return parser


def _add_session_options(parser: Parser) -> None:
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
    from anywire.cli.bridge_face import offer_http, offer_stdio
    from anywire.cli.bridge_setup import setup_of

    face = read_face(options.face)
    over_http = isinstance(face, HttpAddress)
    if not over_http:
        _refuse_session_options(options)
        refuse_guard_options(options)
    if options.config is not None:
        _refuse_what_the_file_says(options)
        from anywire.cli.fleet_offer import refuse_face

        refuse_face(face)
    log = log_of(options)
    with recording(options, tell=log.tell) as taps:
        forwarding = forwarding_of(options, over_http=over_http)
        if forwarding is not None:
            forwarding.on_taken = taps.hide_for_now
        setup = setup_of(options, forwarding, log, taps)
        several = options.config is not None
        offer = _several(setup, over_http=over_http) if several else _sole(setup, over_http=over_http)
        if isinstance(face, HttpAddress):
            return offer_http(setup, face, offer)
        return offer_stdio(setup, face, offer)


def _sole(setup: BridgeSetup, *, over_http: bool) -> Offer:
    """Return the one server that the options name.  Raises `ConfigError`."""
    from anywire.bridge.meeting.era import era_of
    from anywire.bridge.meeting.upstream import Upstream
    from anywire.cli.bridge_face import SoleOffer
    from anywire.cli.bridge_target import target_maker

    make = setup.taps.maker(target_maker(setup))
    if over_http:
        make = setup.metered(make, _ONLY)
        # How many there are is known to the face, which is made later.
        setup.meters.of(_ONLY).count_sessions = lambda: int(setup.meters.count_sessions())
    return SoleOffer(
        Upstream(
            make,
            setup.log.reporter(),
            setup.limits,
            sharing=setup.sharing,
            era=era_of(setup.options.era),
            policy=policy_of(setup.options),
        )
    )


def _several(setup: BridgeSetup, *, over_http: bool) -> Offer:
    from anywire.cli.fleet_offer import FleetOffer

    return FleetOffer(setup, over_http=over_http)


def _refuse_what_the_file_says(options: argparse.Namespace) -> None:
    """Refuse what says which server there is, and how it is started or called: the file says that.

    Raises `ConfigError`.
    """
    given = {
        "a URL": options.target,
        "a command behind '--'": options.command,
        "--env": options.env,
        "--inherit-env": options.inherit_env,
        "--cwd": options.cwd,
        "--header": options.header,
        "--header-file": options.header_file,
        "--era": options.era != "auto",
        "--target-framing": options.target_framing != "newline",
    }
    if options.forward_header:
        raise ConfigError("--forward-header is for one server: it would go to each that the file names")
    for name, value in given.items():
        if value:
            raise ConfigError(f"--config names a file that says which servers there are; {name} does, too")


def _refuse_session_options(options: argparse.Namespace) -> None:
    given = {"--max-sessions": options.max_sessions, "--idle": options.idle, "--shared": options.shared}
    for name, value in given.items():
        if value:
            raise ConfigError(f"{name} is for a face over HTTP; over stdio there is one client")
