"""Who may use an HTTP address, and whose headers go on to the server behind it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from itertools import count
from typing import Any

import pytest

from anywire import Server, connect
from anywire.bridge.http_face import HttpFace
from anywire.bridge.meeting.upstream import Sharing, Upstream
from anywire.errors import AnywireError, HttpStatusError
from anywire.protocol.http.bearer import Bearer
from anywire.protocol.http.guard import Guard
from anywire.transport.contract import Transport
from anywire.transport.forwarding import Forwarding
from anywire.transport.http_client import HttpClientTransport
from anywire.transport.http_server import HttpListener
from anywire.transport.sse_client import SseClientTransport
from anywire.transport.sse_server import SseListener
from anywire.wire.message import Request
from tests.http.in_process import Application, AsgiExchange, Event
from tests.http.serving import PATIENCE, QUICK, within

TOKEN = "s3cret-t0ken"
RIGHT = {"Authorization": f"Bearer {TOKEN}"}
URL = "http://localhost/mcp"
PAGE = "https://app.example"


def office(**guarding: Any) -> tuple[Server, Guard]:
    """A server with one tool, and who is let in."""
    server = Server("office")

    @server.tool(inline=True)
    def echo(text: str) -> str:
        return text

    return server, Guard.for_bind("127.0.0.1", **guarding)


def streamable(server: Server, guard: Guard) -> HttpListener:
    """A server over Streamable HTTP."""
    return server.http_listener(guard, path="/mcp", limits=QUICK)


def old(server: Server, guard: Guard) -> SseListener:
    """A server over HTTP+SSE."""
    return server.sse_listener(guard, limits=QUICK)


class Asked:
    """A request by hand, whose body is not there until somebody reads it."""

    def __init__(
        self, method: str, headers: Mapping[str, str], path: str = "/mcp", sent: bytes = b"{}"
    ) -> None:
        types = {"host": "localhost", "content-type": "application/json", "accept": "*/*"}
        self.scope: dict[str, Any] = {
            "type": "http",
            "method": method,
            "path": path,
            "query_string": b"session_id=none",
            "headers": [(k.lower().encode(), v.encode()) for k, v in {**types, **headers}.items()],
        }
        self.sent = sent
        self.read = False
        self.status = 0
        self.headers: dict[str, str] = {}
        self.body = b""

    async def of(self, app: Application) -> Asked:
        """Ask an application."""
        await within(app(self.scope, self._receive, self._send))
        return self

    async def _receive(self) -> Event:
        if self.read:
            await asyncio.Event().wait()  # the client stays
        self.read = True
        return {"type": "http.request", "body": self.sent, "more_body": False}

    async def _send(self, event: Event) -> None:
        if event["type"] == "http.response.start":
            self.status = event["status"]
            self.headers = {name.decode(): value.decode() for name, value in event["headers"]}
        else:
            self.body += event["body"]


@pytest.mark.parametrize(
    ("make", "methods"), [(streamable, ("POST", "GET", "DELETE")), (old, ("GET", "POST"))]
)
@pytest.mark.parametrize(
    "brought", [{}, {"Authorization": "Bearer wrong"}, {"Authorization": f"Basic {TOKEN}"}]
)
async def test_without_the_token_nothing_is_read_and_nothing_is_said(
    make: Callable[[Server, Guard], Application], methods: tuple[str, ...], brought: dict[str, str]
) -> None:
    """Whatever is asked, at whichever address."""
    app = make(*office(bearer=Bearer.of(TOKEN)))
    for method in methods:
        for path in ("/mcp", "/mcp/messages") if make is old else ("/mcp",):
            asked = await Asked(method, brought, path).of(app)

            assert (asked.status, asked.read) == (401, False)
            assert asked.headers["www-authenticate"].startswith("Bearer")
            assert "token" in json.loads(asked.body)["error"]["message"]
            assert TOKEN.encode() not in asked.body


@pytest.mark.parametrize(
    ("make", "client"), [(streamable, HttpClientTransport), (old, SseClientTransport)], ids=["http", "sse"]
)
async def test_with_the_token_everything_is_as_usual(
    make: Callable[[Server, Guard], Application], client: Callable[..., Transport]
) -> None:
    """In each request of a conversation."""
    app = make(*office(bearer=Bearer.of(TOKEN)))
    transport = client(URL, headers=RIGHT, exchange=lambda: AsgiExchange(app), limits=QUICK)
    async with connect(transport, era="legacy") as caller:
        assert (await caller.call_tool("echo", {"text": "in"})).text == "in"


async def test_a_page_may_ask_whether_it_may_ask() -> None:
    """A browser sends no token with its question, and shows the page a refusal only if it may read it."""
    app = streamable(*office(origins=[PAGE], bearer=Bearer.of(TOKEN)))
    preflight = {"Origin": PAGE, "Access-Control-Request-Method": "POST"}

    assert (await Asked("OPTIONS", preflight).of(app)).status == 204
    assert (await Asked("OPTIONS", {}).of(app)).status == 401
    refused = await Asked("POST", {"Origin": PAGE}).of(app)
    assert (refused.status, refused.headers["access-control-allow-origin"]) == (401, PAGE)


# Headers that are forwarded.


class Bridge:
    """A bridge from HTTP to HTTP in one process, and what the server behind it was asked with."""

    def __init__(self, behind: Application, *names: str) -> None:
        self.seen: list[tuple[str, dict[str, str]]] = []
        self.reports: list[str] = []
        self.forwarding = Forwarding(names)
        self.behind = behind
        self.upstream = Upstream(self.target, self.reports.append, QUICK, sharing=Sharing.NOBODY)
        self.face = HttpFace(self.upstream)
        listener = HttpListener(
            self.face.accept, lambda method: True, guard=Guard.for_bind("127.0.0.1"), limits=QUICK
        )
        self.front = self.forwarding.taking(listener)

    def target(self) -> Transport:
        """Make what calls the server behind."""
        return HttpClientTransport(
            URL, hook=self.forwarding.hook(), exchange=lambda: AsgiExchange(self.note), limits=QUICK
        )

    async def note(self, scope: Any, receive: Any, send: Any) -> None:
        """Note the headers of a request to the server behind."""
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        self.seen.append((scope["method"], headers))
        await self.behind(scope, receive, send)

    def client(self, hook: Callable[[], Any]) -> Transport:
        """A client of the bridge, whose headers come from the hook."""
        return HttpClientTransport(URL, hook=hook, exchange=lambda: AsgiExchange(self.front), limits=QUICK)


@asynccontextmanager
async def bridge(behind: Application, *names: str) -> AsyncGenerator[Bridge]:
    """A bridge that forwards these headers."""
    here = Bridge(behind, *names)
    try:
        yield here
    finally:
        await within(here.face.close())
        await within(here.upstream.close())


async def test_each_request_takes_its_own_headers_along() -> None:
    """Those that were named, with the values of the request itself, however many are under way."""
    gate, held = asyncio.Event(), asyncio.Semaphore(0)
    server, guard = office()

    @server.tool
    async def hold(text: str) -> str:
        held.release()
        await gate.wait()
        return text

    user = ""

    async def hook() -> Mapping[str, str]:
        return {"X-User": user, "X-Secret": "of ours", "Cookie": "c=1"}

    async with (
        bridge(streamable(server, guard), "x-USER", "cookie") as here,
        connect(here.client(hook), era="legacy") as caller,
        asyncio.timeout(PATIENCE),
    ):
        calls: list[asyncio.Task[Any]] = []
        for user in ("ada", "zoë"):
            calls.append(asyncio.create_task(caller.call_tool("hold", {"text": user})))
            await held.acquire()
        gate.set()
        texts = [(await call).text for call in calls]
        seen = list(here.seen)

    assert texts == ["ada", "zoë"]
    assert [headers["x-user"] for method, headers in seen if method == "POST"][-2:] == ["ada", "zoë"]
    assert {headers.get("x-user", "none") for _, headers in seen} <= {"", "ada", "zoë"}
    assert all(headers["cookie"] == "c=1" and "x-secret" not in headers for _, headers in seen)


async def test_sessions_do_not_mix_their_headers() -> None:
    """Also in what is asked for no request: the end of a session, its general stream."""

    def of(user: str) -> Callable[[], Any]:
        async def hook() -> Mapping[str, str]:
            return {"X-User": user}

        return hook

    async with (
        bridge(streamable(*office()), "X-User") as here,
        connect(here.client(of("ada")), era="legacy") as one,
        connect(here.client(of("bob")), era="legacy") as two,
    ):
        await asyncio.gather(*(each.call_tool("echo", {"text": "x"}) for each in (one, two, one, two)))
    by_session: dict[str, set[str]] = {}
    for _, headers in here.seen:
        by_session.setdefault(headers.get("mcp-session-id", "none"), set()).add(headers["x-user"])

    assert by_session.pop("none") == {"ada", "bob"}
    assert sorted(map(sorted, by_session.values())) == [["ada"], ["bob"]]


async def test_what_is_asked_afterwards_takes_the_latest_headers_along() -> None:
    """The token with which a conversation began may have expired when it ends."""
    values = count()

    async def hook() -> Mapping[str, str]:
        return {"X-User": str(next(values))}

    async with (
        bridge(streamable(*office()), "X-User") as here,
        connect(here.client(hook), era="legacy") as caller,
    ):
        for text in ("one", "two"):
            await caller.call_tool("echo", {"text": text})
    posted = [int(headers["x-user"]) for method, headers in here.seen if method == "POST"]
    ended = [int(headers["x-user"]) for method, headers in here.seen if method == "DELETE"]

    assert posted == sorted(set(posted))
    assert ended == posted[-1:]


async def test_a_request_is_not_sent_on_without_a_header_that_should_go_with_it() -> None:
    """Who it is from might matter; the client hears that nothing was done, the log why."""
    message = b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}'
    asked = Asked("POST", {}, sent=message)
    asked.scope["headers"].append((b"x-user", b"zo\xeb"))
    async with bridge(streamable(*office()), "X-User") as here:
        await asked.of(here.front)

    told = json.loads(asked.body)["error"]["message"]
    assert told == "the server behind the bridge was not asked; see the bridge's log"
    assert here.seen == []
    assert [report for report in here.reports if "the header x-user" in report]


async def test_what_came_before_the_server_was_there_takes_its_own_headers_along() -> None:
    """And not those with which the session began."""
    there, arrived, values = asyncio.Event(), asyncio.Event(), iter(["first", "second", "third"])
    server, guard = office()
    behind, forwarding = old(server, guard), Forwarding(["X-User"])
    seen: list[tuple[str, str]] = []

    async def slow(scope: Any, receive: Any, send: Any) -> None:
        seen.append((scope["method"], dict(scope["headers"])[b"x-user"].decode()))
        if scope["method"] == "GET":
            await there.wait()
        else:
            arrived.set()
        await behind(scope, receive, send)

    async def hook() -> Mapping[str, str]:
        return {"X-User": next(values)}

    def target() -> Transport:
        return SseClientTransport(
            URL, hook=forwarding.hook(), exchange=lambda: AsgiExchange(slow), limits=QUICK
        )

    upstream = Upstream(target, lambda _: None, QUICK, sharing=Sharing.NOBODY)
    face = HttpFace(upstream)
    front = forwarding.taking(SseListener(face.accept, guard=guard, limits=QUICK))
    client = SseClientTransport(URL, hook=hook, exchange=lambda: AsgiExchange(front), limits=QUICK)
    await within(client.start())
    await within(client.send(Request(b"1", "initialize", b"{}")))
    there.set()
    async with asyncio.timeout(PATIENCE):
        await arrived.wait()
    await within(client.close())
    await within(face.close())
    await within(upstream.close())

    assert seen == [("GET", "first"), ("POST", "second")]


@pytest.mark.parametrize("kind", [b"text/plain", b"application/json"])
async def test_a_server_that_repeats_a_header_in_its_error_is_not_repeated(kind: bytes) -> None:
    """Neither in what the client hears nor in what the bridge reports."""

    async def behind(scope: Any, receive: Any, send: Any) -> None:
        headers = dict(scope["headers"])
        told = b'{"asked": "%b", "padding": "%b"}' % (headers[b"authorization"], b"x" * 400)
        await send({"type": "http.response.start", "status": 403, "headers": [(b"content-type", kind)]})
        await send({"type": "http.response.body", "body": told})

    async def hook() -> Mapping[str, str]:
        return RIGHT

    async with bridge(behind, "Authorization") as here:
        with pytest.raises(AnywireError) as refused:
            async with connect(here.client(hook), era="legacy"):
                raise AssertionError("it opened")

    assert here.seen[0][1]["authorization"] == RIGHT["Authorization"]
    assert TOKEN not in str(refused.value)
    assert not any(TOKEN in report for report in here.reports)


async def test_a_client_does_not_show_what_a_server_repeats_of_its_headers() -> None:
    """The excerpt of a body keeps its length, and no half of a secret stands at its end."""

    async def behind(scope: Any, receive: Any, send: Any) -> None:
        told = b"x" * 290 + dict(scope["headers"])[b"x-key"]
        await send({"type": "http.response.start", "status": 500, "headers": []})
        for part in (told[:295], told[295:]):
            await send({"type": "http.response.body", "body": part, "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    failures: list[AnywireError] = []
    transport = HttpClientTransport(
        URL, headers={"X-Key": TOKEN}, exchange=lambda: AsgiExchange(behind), limits=QUICK
    )
    await transport.start()
    await within(transport.begin(Request(b"1", "tools/call"), lambda _, error: failures.append(error)))
    await within(transport.close())

    (failure,) = failures
    assert isinstance(failure, HttpStatusError)
    assert failure.start == b"x" * 290 + b"***"
