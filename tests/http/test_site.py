"""Several applications on one socket, and pages that are only read; over real sockets."""

from __future__ import annotations

import asyncio
import json
import logging
from typing import Any

import pytest

from anywire import Server
from anywire.bridge.metering.meters import Meters
from anywire.cli.observing import observed
from anywire.protocol.http.bearer import Bearer
from anywire.protocol.http.guard import Guard
from anywire.transport.asgi_host import AsgiHost, bind
from anywire.transport.asgi_page import Document, Page
from anywire.transport.asgi_site import Site
from tests.http.raw import Answer, Caller, ask, text_of
from tests.http.serving import QUICK, failures_of_applications, on_socket

LOOPBACK = Guard.for_bind("127.0.0.1")


def named(name: str) -> Server:
    """A server with a tool that says its name."""
    server = Server(name, limits=QUICK)

    @server.tool
    def who() -> str:
        """Say who this is."""
        return name

    return server


async def who(url: str) -> str:
    """The name that the server at an address says."""
    caller = Caller(url)
    await caller.initialize()
    return text_of((await caller.post(ask(1, "tools/call", {"name": "who"}))).message)


async def get(url: str, path: str, method: str = "GET", **headers: str | None) -> Answer:
    """What is shown at a path."""
    return await Caller(url).request(method, path=path, **{"Content_Type": None, "Accept": None, **headers})


def page(text: str, guard: Guard | None = None) -> Page:
    """A page with that on it."""

    async def make(accept: str) -> Document:
        return Document(json.dumps(text + accept).encode())

    return Page(make, guard or LOOPBACK)


# The site.


async def test_each_path_has_its_application() -> None:
    """With and without a slash at the end; elsewhere a sentence says that there is nothing."""
    site = Site({f"/servers/{name}/mcp": named(name).http_app() for name in ("a", "b")})
    async with on_socket(site) as url:
        assert await who(f"{url}/servers/a/mcp") == "a"
        assert await who(f"{url}/servers/b/mcp/") == "b"
        for path in ("/", "/servers", "/servers/a", "/servers/a/mcp/x", "/servers/c/mcp", "//servers/a/mcp"):
            nothing = await get(url, path)
            assert (nothing.status, nothing.error) == (404, "nothing is served at this path")


async def test_applications_come_and_go_while_it_serves() -> None:
    """What one answers at the time goes on; its owner closes it."""
    site = Site()
    async with on_socket(site) as url:
        assert (await get(url, "/a")).status == 404
        app = named("a").http_app()
        site.put("/a/", app)
        caller = Caller(f"{url}/a")
        await caller.initialize()
        async with caller.listen() as stream:
            assert ("/a" in site, list(site)) == (True, ["/a"])
            assert site.take("/a") is app
            assert site.take("/a") is None
            assert (await get(url, "/a")).status == 404
            await app.close()
            await stream.messages()  # ends
        site.put("/a", named("another").http_app())
        assert await who(f"{url}/a") == "another"


@pytest.mark.parametrize(
    ("name", "asked"),
    [("my notes", "my%20notes"), ("é", "%C3%A9"), ("50%", "50%25"), ("%41", "%2541"), ("a/b", "a%2Fb")],
)
async def test_escapes_in_a_path_are_undone_once(name: str, asked: str) -> None:
    """Whatever a server is called; `%2541` is the name `%41`, and not `A`."""
    site = Site({f"/servers/{name}/mcp": page("this"), "/servers/A/mcp": page("A")})
    async with on_socket(site) as url:
        assert (await get(url, f"/servers/{asked}/mcp")).message == "this"


async def test_what_is_at_no_path_may_have_an_application_as_well() -> None:
    """Such as one that answers below any path."""
    site = Site({"/page": page("page")}, rest=named("rest").http_app())
    async with on_socket(site) as url:
        assert (await get(url, "/page")).message == "page"
        assert await who(f"{url}/anything/else") == "rest"


class Living:
    """An application that writes down its life."""

    def __init__(self, told: list[str], name: str, fails: str = "") -> None:
        self._told, self._name, self._fails = told, name, fails

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer nothing."""

    async def open(self) -> None:
        """Begin."""
        self._told.append(f"{self._name} begins")
        if self._fails == "open":
            raise ValueError("no database")

    async def close(self) -> None:
        """End."""
        self._told.append(f"{self._name} ends")
        if self._fails == "close":
            raise ValueError("no end")


async def live(site: Site) -> list[str]:
    """Begin and end a process with that; return what it was told."""
    asked = iter(["lifespan.startup", "lifespan.shutdown"])
    answered: list[str] = []

    async def receive() -> dict[str, str]:
        return {"type": next(asked)}

    async def send(event: Any) -> None:
        answered.append(event["type"] + event.get("message", ""))

    await site({"type": "lifespan"}, receive, send)
    return answered


async def test_applications_live_with_the_process(caplog: pytest.LogCaptureFixture) -> None:
    """Each is told once; one that fails to end keeps no other from ending."""
    told: list[str] = []
    twice = Living(told, "a", fails="close")
    site = Site({"/a": twice, "/again": twice, "/page": page("x")}, rest=Living(told, "b"))

    with caplog.at_level(logging.CRITICAL, "anywire.http"):
        answered = await live(site)

    assert told == ["a begins", "b begins", "a ends", "b ends"]
    assert answered == ["lifespan.startup.complete", "lifespan.shutdown.failedValueError: no end"]


async def test_a_process_whose_application_cannot_begin_is_told(caplog: pytest.LogCaptureFixture) -> None:
    """It ends then, as with that application alone."""
    with caplog.at_level(logging.CRITICAL, "anywire.http"):
        answered = await live(Site({"/a": Living([], "a", fails="open")}))

    assert answered == ["lifespan.startup.failedValueError: no database"]


async def test_web_sockets_are_refused_everywhere() -> None:
    """At a page, and where there is nothing."""
    for path in ("/page", "/nothing"):
        sent: list[Any] = []

        async def send(event: Any, sent: list[Any] = sent) -> None:
            sent.append(event["type"])

        async def receive() -> Any:
            raise AssertionError("nothing is read")

        await Site({"/page": page("x")})({"type": "websocket", "path": path}, receive, send)
        assert sent == ["websocket.close"]


# Pages.


async def test_a_page_is_read_and_not_kept() -> None:
    """Anew for each who asks; HEAD gives the same head without the body."""
    async with on_socket(Site({"/p": page("hello ")})) as url:
        shown = await get(url, "/p", Accept="text/plain")
        assert (shown.status, shown.message) == (200, "hello text/plain")
        assert (shown["content-type"], shown["cache-control"]) == ("application/json", "no-store")
        async with Caller(url).begin("HEAD", path="/p", Accept="text/plain") as opened:
            head = await opened.head()
            assert (head.status, head["content-length"]) == (200, shown["content-length"])


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "PATCH"])
async def test_a_page_can_only_be_read(method: str) -> None:
    """The answer says what there is, and is not kept either."""
    async with on_socket(Site({"/p": page("x")})) as url:
        refused = await get(url, "/p", method)
        assert (refused.status, refused["allow"], refused["cache-control"]) == (405, "GET, HEAD", "no-store")


async def test_web_pages_and_names_of_others_are_refused() -> None:
    """A page in the browser of this machine must not read what is shown here; nor under a name of its own."""
    async with on_socket(Site({"/p": page("x")})) as url:
        for headers, status in (
            ({"Origin": "https://evil.example"}, 403),
            ({"Host": "evil.example"}, 421),
            ({"Origin": "http://localhost:1"}, 200),
        ):
            assert (await get(url, "/p", **headers)).status == status


async def test_pages_of_named_origins_may_read() -> None:
    """Their browser is told so."""
    guard = Guard.for_bind("127.0.0.1", origins=["https://app.example"])
    async with on_socket(Site({"/p": page("x", guard)})) as url:
        asked = {"Origin": "https://app.example", "Access-Control-Request-Method": "GET"}
        preflight = await get(url, "/p", "OPTIONS", **asked)
        assert (preflight.status, preflight["access-control-allow-methods"]) == (204, "GET, HEAD")
        shown = await get(url, "/p", Origin="https://app.example")
        assert (shown.message, shown["access-control-allow-origin"]) == ("x", "https://app.example")


# What a process shows of itself.


def site_of(meters: Meters, *, guard: Guard = LOOPBACK, discreet: bool = False) -> Site:
    """The three pages."""
    return observed(Site(), meters, guard, discreet=discreet)


async def test_health_needs_no_token_and_the_others_do() -> None:
    """But everybody needs a host that is ours."""
    guard = Guard.for_bind("127.0.0.1", bearer=Bearer.of("secret-token"))
    meters = Meters()
    meters.of("notes")
    async with on_socket(site_of(meters, guard=guard)) as url:
        health = await get(url, "/health")
        assert (health.status, health.message["status"]) == (200, "serving")
        assert b"notes" not in health.body
        assert (await get(url, "/health", Host="evil.example")).status == 421
        for path in ("/status", "/metrics"):
            for brought in (None, "Bearer wrong-token"):
                refused = await get(url, path, Authorization=brought)
                assert (refused.status, refused["cache-control"]) == (401, "no-store")
                assert refused["www-authenticate"].startswith("Bearer")
            shown = await get(url, path, Authorization="Bearer secret-token")
            assert shown.status == 200
            assert b"notes" in shown.body


async def test_health_tells_the_truth_about_the_end() -> None:
    """While what is served ends, whoever asks is told so."""
    meters, closing, opened = Meters(), asyncio.Event(), bind("127.0.0.1", 0)
    ended = asyncio.Event()

    async def close() -> None:
        meters.closing = True
        closing.set()
        await ended.wait()

    url = f"http://127.0.0.1:{opened.getsockname()[1]}"
    with failures_of_applications() as failures:
        serving = asyncio.create_task(AsgiHost(site_of(meters), close, QUICK).serve(opened))
        assert (await get(url, "/health")).status == 200
        serving.cancel()
        await closing.wait()
        health = await get(url, "/health")
        assert (health.status, health.message["status"]) == (503, "shutting_down")
        assert (await get(url, "/status")).message["process"]["status"] == "shutting_down"
        ended.set()
        await asyncio.gather(serving, return_exceptions=True)
    assert failures == []


async def test_metrics_without_their_library_say_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """They can be had as soon as it is there."""
    async with on_socket(site_of(Meters())) as url:
        with monkeypatch.context() as patch:
            patch.setitem(__import__("sys").modules, "anywire.bridge.metering.exposition", None)
            missing = await get(url, "/metrics")
            assert (missing.status, missing.body) == (
                501,
                b"metrics need prometheus_client: install anywire[metrics]\n",
            )
            assert missing["content-type"] == "text/plain; charset=utf-8"
        shown = await get(url, "/metrics")
        assert (shown.status, shown["content-type"]) == (200, "text/plain; version=0.0.4; charset=utf-8")
        assert b"anywire_build_info" in shown.body


async def test_a_path_that_is_taken_stays_what_it_is() -> None:
    """Somebody may serve at /status."""
    site = observed(Site({"/status": page("taken")}), Meters(), LOOPBACK, discreet=False)
    async with on_socket(site) as url:
        assert (await get(url, "/status")).message == "taken"
        assert (await get(url, "/health")).status == 200
