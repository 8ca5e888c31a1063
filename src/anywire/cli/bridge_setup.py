"""What the parts of one bridge have in common."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from anywire.bridge.meeting.upstream import Sharing
from anywire.bridge.metering.meters import Meters
from anywire.cli.children import Children
from anywire.cli.log import Log
from anywire.cli.secrets import secrets_of
from anywire.errors import ConfigError
from anywire.wire.limits import DEFAULT_LIMITS, Limits

if TYPE_CHECKING:
    from anywire.cli.recording import Taps
    from anywire.transport.contract import Transport
    from anywire.transport.forwarding import Forwarding

__all__ = ("BridgeSetup", "setup_of")


class BridgeSetup(msgspec.Struct, frozen=True, eq=False):
    """The options, what was made of them, and what is known of the servers."""

    options: argparse.Namespace
    log: Log
    limits: Limits
    sharing: Sharing
    forwarding: Forwarding | None
    children: Children
    meters: Meters
    taps: Taps

    def metered(self, make: Callable[[], Transport], server: str) -> Callable[[], Transport]:
        """Return what makes the same transports, and counts what becomes of that server."""
        from anywire.bridge.metering.layer import MeterLayer

        meters, meter = self.meters, self.meters.of(server)
        return lambda: MeterLayer(make(), meter, clock=meters.clock)


def setup_of(options: argparse.Namespace, forwarding: Forwarding | None, log: Log, taps: Taps) -> BridgeSetup:
    """Make what a bridge needs, as the options have it; `taps` record what crosses.  Raises `ConfigError`."""
    sharing = _sharing_of(options, forwarding)
    log.several = options.config is not None
    log.hide(secrets_of(options))
    return BridgeSetup(options, log, _limits_of(options), sharing, forwarding, Children(), Meters(), taps)


def _sharing_of(options: argparse.Namespace, forwarding: Forwarding | None) -> Sharing:
    if forwarding is None:
        return Sharing.ALL if options.shared else Sharing.STATELESS
    if options.shared:
        raise ConfigError("--forward-header says who each client is, and --shared makes them one; give one")
    return Sharing.NOBODY


def _limits_of(options: argparse.Namespace) -> Limits:
    is_local = options.command or options.config is not None
    usual = DEFAULT_LIMITS.child_sessions if is_local else DEFAULT_LIMITS.sessions
    return DEFAULT_LIMITS.replace(
        sessions=options.max_sessions or usual,
        session_idle_seconds=options.idle or DEFAULT_LIMITS.session_idle_seconds,
    )
