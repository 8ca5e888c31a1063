"""What a bridge offers at its face: one server, or several as one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from anywire.bridge.meeting.upstream import Upstream
from anywire.wire.limits import DEFAULT_LIMITS, Limits

if TYPE_CHECKING:
    from anywire.bridge.endpoint import ControlName, HttpAddress, StdioFace
    from anywire.bridge.http_face import HttpFace
    from anywire.cli.bridge_setup import BridgeSetup
    from anywire.protocol.http.guard import Guard
    from anywire.transport.asgi_site import Site
    from anywire.transport.contract import Transport
    from anywire.transport.http_server import HttpListener
    from anywire.transport.sse_server import SseListener
    from anywire.transport.stdio_claim import StdioClaim

__all__ = ("Offer", "SoleOffer", "http_listener", "offer_http", "offer_stdio")


class Offer(Protocol):
    """What is offered, and what there is to be done for it."""

    @property
    def upstream(self) -> Upstream:
        """What is behind the face."""
        ...

    def begin(self, site: Site | None = None, guard: Guard | None = None) -> None:
        """Begin, in the event loop; over HTTP, with what else is offered there."""
        ...

    async def close(self) -> None:
        """End all servers."""
        ...


class SoleOffer:
    """One server."""

    def __init__(self, upstream: Upstream) -> None:
        self.upstream = upstream

    def begin(self, site: Site | None = None, guard: Guard | None = None) -> None:
        """Do nothing: it is started when somebody comes."""

    async def close(self) -> None:
        """End it."""
        await self.upstream.close()


def offer_stdio(setup: BridgeSetup, face: StdioFace | ControlName, offer: Offer) -> int:
    """Offer it to the client that started this process, until that leaves; return the exit code."""
    from anywire.bridge.relay import Relay
    from anywire.transport.run_process import run_process
    from anywire.transport.stdio_claim import claim_stdio

    # Before there is an event loop: one that is made while stdin or stdout is closed takes its number.
    claim, report = claim_stdio(), setup.log.reporter()

    async def relay() -> None:
        try:
            offer.begin()
            await Relay(_client_at(face, claim), offer.upstream.target, report).run()
        finally:
            await offer.close()

    with setup.log.listening():
        run_process(lambda: setup.children.run(relay()), DEFAULT_LIMITS)
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


def offer_http(setup: BridgeSetup, face: HttpAddress, offer: Offer) -> int:
    """Offer it at an HTTP address until a signal comes; return the exit code."""
    from anywire.bridge.http_face import HttpFace
    from anywire.cli.serving import listen
    from anywire.transport.asgi_page import Nothing
    from anywire.transport.asgi_site import Site
    from anywire.transport.sse_server import SseListener

    relays, meters = HttpFace(offer.upstream), setup.meters

    def make(guard: Guard, limits: Limits) -> SseListener | Site:
        if face.old:
            old = SseListener(relays.accept, guard=guard, limits=limits)
            meters.count_sessions = lambda: len(old)
            return old
        listener = http_listener(offer.upstream, relays, guard, face.path, limits)
        meters.count_sessions = lambda: len(listener.sessions)
        site = Site({face.path: listener}, rest=Nothing(guard))
        offer.begin(site, guard)
        return site

    async def close_all() -> None:
        await relays.close()
        await offer.close()

    return listen(
        setup.options,
        face,
        make,
        close=lambda: setup.children.hurried(close_all()),
        log=setup.log,
        meters=meters,
        limits=setup.limits,
        forwarding=setup.forwarding,
    )


def http_listener(
    upstream: Upstream, relays: HttpFace, guard: Guard, path: str, limits: Limits
) -> HttpListener:
    """Return what serves it over Streamable HTTP at that path."""
    from anywire.protocol.http.stateless import StatelessFace
    from anywire.transport.http_server import HttpListener

    # What the server behind has is not known here; it will say so itself.
    stateless = StatelessFace(lambda method: True, upstream.mirrors_of)
    return HttpListener(
        relays.accept, lambda method: True, guard=guard, path=path, stateless=stateless, limits=limits
    )
