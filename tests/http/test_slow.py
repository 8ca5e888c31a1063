"""Clients that begin and do not go on, and servers that end meanwhile: nobody is left without a word."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from anywire.testing import in_virtual_time
from tests.http.raw import BOTH, LATEST, call, initialize
from tests.http.serving import QUICK
from tests.http.tools import Tools

LIMITS = QUICK.replace(body_seconds=30.0, prime_seconds=5.0)
HEADERS = {"host": "127.0.0.1", "content-type": "application/json", "accept": BOTH}
Event = dict[str, Any]


class Slow:
    """One request whose body comes when the test wants it, and what was answered."""

    def __init__(self, app: Any, path: str, headers: dict[str, str], method: str = "POST") -> None:
        self._events: asyncio.Queue[Event] = asyncio.Queue()
        self.sent: list[Event] = []
        scope = {
            "type": "http",
            "method": method,
            "path": path.partition("?")[0],
            "query_string": path.partition("?")[2].encode(),
            "headers": [(name.encode(), value.encode()) for name, value in {**HEADERS, **headers}.items()],
        }
        self.task = asyncio.ensure_future(app(scope, self._events.get, self._send))

    async def _send(self, event: Event) -> None:
        self.sent.append(event)

    def give(self, body: bytes, *, more: bool = True) -> None:
        """More of the body comes."""
        self._events.put_nowait({"type": "http.request", "body": body, "more_body": more})

    @property
    def status(self) -> int:
        """The status of the answer."""
        return self.sent[0]["status"]

    @property
    def body(self) -> bytes:
        """What was answered so far."""
        return b"".join(event.get("body", b"") for event in self.sent)

    @property
    def error(self) -> str:
        """The text of the JSON-RPC error."""
        return json.loads(self.body)["error"]["message"]

    @property
    def is_complete(self) -> bool:
        """Whether all of the answer was sent."""
        return self.sent[-1]["type"] == "http.response.body" and not self.sent[-1].get("more_body", False)


async def old_session(app: Any) -> tuple[Slow, str]:
    """Open a stream of HTTP+SSE; where its messages go."""
    stream = Slow(app, "/sse", {}, "GET")
    await asyncio.sleep(1)
    return stream, "/" + stream.body.decode().partition("data: ")[2].partition("\n")[0]


async def a_post(kind: str) -> Slow:
    """A POST whose body has not come."""
    server = Tools(LIMITS).server
    if kind == "http":
        return Slow(server.http_app(), "/mcp", {})
    app = server.sse_app()
    _, path = await old_session(app)
    return Slow(app, path, {})


KINDS = pytest.mark.parametrize("kind", ["http", "sse"])


@KINDS
@pytest.mark.parametrize("parts", [0, 1, 3])
@in_virtual_time
async def test_a_body_that_stops_half_way_is_given_up(kind: str, parts: int) -> None:
    """However much has come; the client is told how long was waited."""
    post = await a_post(kind)
    loop = asyncio.get_running_loop()
    for _ in range(parts):
        post.give(b"{")
    began = loop.time()
    await post.task

    assert loop.time() - began == pytest.approx(30.0, abs=0.1)
    assert (post.status, post.is_complete) == (408, True)
    assert post.error == "nothing more of the body came for 30 s"


@in_virtual_time
async def test_a_body_that_comes_slowly_is_read() -> None:
    """As long as it comes at all."""
    post = await a_post("http")
    body = json.dumps(initialize()).encode()
    for place in range(0, len(body), 20):
        post.give(body[place : place + 20])
        await asyncio.sleep(29)
    post.give(b"", more=False)
    await post.task

    assert post.status == 200


@in_virtual_time
async def test_bodies_are_bounded_together_and_there_is_room_again() -> None:
    """Each of them is small enough by itself."""
    app = Tools(LIMITS.replace(bodies_bytes=10_000, body_bytes=9_500)).server.http_app()
    posts = [Slow(app, "/mcp", {}) for _ in range(3)]
    for post in posts:
        post.give(b" " * 4_000)
        await asyncio.sleep(1)
    refused = posts.pop()
    await refused.task
    body = json.dumps(initialize()).encode()
    for post in posts:
        post.give(body, more=False)
        await post.task
    late = Slow(app, "/mcp", {})
    late.give(b" " * 9_000)
    late.give(body, more=False)
    await late.task

    assert refused.status == 503
    assert "too much is being received at once" in refused.error
    assert [post.status for post in (*posts, late)] == [200] * 3
    assert app.intake.size == 0
    await app.close()


# The end of the server, which tells what it serves by cancelling it.


@KINDS
@in_virtual_time
async def test_a_body_that_is_cut_off_by_the_end_is_told_so(kind: str) -> None:
    post = await a_post(kind)
    post.give(b"{")
    await asyncio.sleep(1)
    post.task.cancel()
    await post.task

    assert (post.status, post.is_complete) == (503, True)
    assert "has been closed" in post.error


async def opened(app: Any, revision: str = LATEST) -> dict[str, str]:
    """Shake hands; the headers of the session."""
    opening = Slow(app, "/mcp", {})
    opening.give(json.dumps(initialize(revision)).encode(), more=False)
    await opening.task
    names = dict(opening.sent[0]["headers"])
    return {"mcp-session-id": names[b"mcp-session-id"].decode(), "mcp-protocol-version": revision}


@pytest.mark.parametrize("accept", [BOTH, "application/json"])
@in_virtual_time
async def test_a_call_that_is_cut_off_by_the_end_has_an_error_for_an_answer(accept: str) -> None:
    """Where nothing was sent of it yet."""
    tools = Tools(LIMITS)
    app = tools.server.http_app()
    post = Slow(app, "/mcp", {**await opened(app), "accept": accept})
    post.give(json.dumps(call("c", "hold")).encode(), more=False)
    await asyncio.sleep(1)
    post.task.cancel()
    await post.task

    assert (post.status, post.is_complete) == (200, True)
    assert json.loads(post.body)["id"] == "c"
    assert post.error == "the session ended before the request was answered"
    await app.close()


@in_virtual_time
async def test_a_batch_that_is_cut_off_by_the_end_has_an_error_for_each() -> None:
    tools = Tools(LIMITS)
    app = tools.server.http_app()
    post = Slow(app, "/mcp", await opened(app, "2025-03-26"))
    post.give(json.dumps([call(1, "hold"), call(2, "hold")]).encode(), more=False)
    await asyncio.sleep(1)
    post.task.cancel()
    await post.task

    assert {each["id"] for each in json.loads(post.body)} == {1, 2}
    await app.close()


@in_virtual_time
async def test_a_stream_that_is_cut_off_by_the_end_ends_in_order_and_can_be_resumed() -> None:
    """Whoever cancelled it: where the session lives on, the reply is not lost."""
    tools = Tools(LIMITS)
    app = tools.server.http_app()
    headers = await opened(app)
    post = Slow(app, "/mcp", headers)
    post.give(json.dumps(call("c", "hold")).encode(), more=False)
    await asyncio.sleep(6)
    post.task.cancel()
    await post.task
    id = post.body.decode().partition("id: ")[2].partition("\n")[0]
    tools.gate.set()
    again = Slow(app, "/mcp", {**headers, "last-event-id": id}, "GET")
    await again.task

    assert (post.status, post.is_complete) == (200, True)
    assert b"hold is done" in again.body
    await app.close()


@in_virtual_time
async def test_the_stream_of_the_old_transport_answers_what_was_asked_before_it_is_cut_off() -> None:
    tools = Tools(LIMITS)
    app = tools.server.sse_app()
    stream, path = await old_session(app)
    post = Slow(app, path, {})
    post.give(json.dumps(call("c", "hold")).encode(), more=False)
    await post.task
    await asyncio.sleep(1)
    stream.task.cancel()
    await stream.task

    assert stream.is_complete
    assert b"the session ended before the request was answered" in stream.body
    assert b'"c"' in stream.body
