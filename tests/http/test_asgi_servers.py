"""The application under the servers and frameworks that people run it with."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import fastapi
import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Mount, Route

from anywire import connect
from anywire.errors import TransportBroken
from tests.http.raw import Caller, ask, call, connection, text_of
from tests.http.serving import PATIENCE, App, on_socket, until
from tests.http.tools import Tools
from tests.http.walk import Walker

ROOT = Path(__file__).resolve().parents[2]
APP = "tests.http.programs.app:app"

UVICORN = [sys.executable, "-m", "uvicorn", APP, "--timeout-graceful-shutdown", "1", "--log-level", "warning"]
GRANIAN = [sys.executable, "-m", "granian", "--interface", "asgi", "--workers-kill-timeout", "2", APP]
SERVERS = {
    "uvicorn, impatient": [*UVICORN, "--timeout-keep-alive", "1"],
    "uvicorn, httptools": [*UVICORN, "--http", "httptools"],
    "uvicorn, h11": [*UVICORN, "--http", "h11"],
    "granian": GRANIAN,
}


class Running:
    """A server in a process of its own."""

    def __init__(self, process: asyncio.subprocess.Process, url: str) -> None:
        self.process = process
        self.url = url
        self.output = b""
        self._reading = asyncio.ensure_future(self._read())

    async def _read(self) -> None:
        assert self.process.stdout is not None
        while chunk := await self.process.stdout.read(65536):
            self.output += chunk

    async def end(self) -> int:
        """Ask it to end; return its exit code."""
        if self.process.returncode is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            async with asyncio.timeout(PATIENCE):
                code = await self.process.wait()
        except TimeoutError:
            self.process.kill()
            await self.process.wait()
            raise
        await self._reading
        return code


@asynccontextmanager
async def running(name: str, port: int = 0) -> AsyncGenerator[Running]:
    """Run the application on a free port, or that one."""
    if not port:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
    process = await asyncio.create_subprocess_exec(
        *SERVERS[name],
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    server = Running(process, f"http://127.0.0.1:{port}/mcp")
    try:
        await until(lambda: process.returncode is not None or listens(port), "it listens")
        yield server
    finally:
        await server.end()


def listens(port: int) -> bool:
    """Whether anybody takes connections there."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture(params=[name for name in SERVERS if "impatient" not in name])
async def server(request: pytest.FixtureRequest) -> AsyncGenerator[Running]:
    async with running(request.param) as server:
        yield server


async def test_every_server_serves_it_whole(server: Running) -> None:
    """A conversation with everything in it, and vanished clients that leave no trace in the log."""
    caller = Caller(server.url)
    await caller.initialize()
    plain = await caller.post(call(1, "echo", {"text": "é🙂"}))
    async with caller.begin("POST", call(2, "steps", {"count": 3}, token="t")) as post:
        head = await post.head()
        *progress, last = await post.messages()
    async with caller.begin("POST", call(3, "sleep", {"seconds": 0.2}, token="t")) as post:
        await post.head()
        first = await post.message()
        post.reset()
    async with caller.listen(Last_Event_ID=first.id) as resumed:
        (slept,) = await resumed.messages()
    large = await caller.post(call(4, "echo", {"text": "x" * 5_000_000}))
    refused = await caller.post(ask(5, "ping"), Host="evil.example")
    async with caller.listen() as stream:
        opening = await stream.event()
        deleted = await caller.request("DELETE")
        assert await stream.messages() == []
    gone = await caller.post(ask(6, "ping"))

    assert text_of(plain.message) == "é🙂"
    assert (head["content-type"], head["x-accel-buffering"]) == ("text/event-stream", "no")
    assert [each["params"]["progress"] for each in progress] == [1, 2, 3]
    assert text_of(last) == "3 steps"
    assert text_of(slept) == "slept"
    assert (large.status, refused.status, deleted.status, gone.status) == (413, 421, 204, 404)
    assert opening is not None
    assert opening.id
    await server.end()
    assert b"Traceback" not in server.output
    assert b"ERROR" not in server.output


async def test_a_client_of_this_library_speaks_to_every_server(server: Running) -> None:
    async with connect(server.url) as client:
        texts = [str(number) for number in range(50)]
        results = await asyncio.gather(*(client.call_tool("echo", {"text": text}) for text in texts))
        steps = await client.call_tool("steps", {"count": 3})

    assert [result.text for result in results] == texts
    assert steps.text == "3 steps"


async def test_every_server_ends_while_a_stream_is_open(server: Running) -> None:
    """Within the time that it gives those who are still connected."""
    caller = Caller(server.url)
    await caller.initialize()
    async with caller.listen() as stream:
        await stream.event()

        assert await server.end() in (0, -signal.SIGTERM)
    assert b"Traceback" not in server.output


@pytest.mark.parametrize("name", ["uvicorn, httptools", "uvicorn, h11"])
async def test_the_end_of_a_server_answers_what_is_pending(name: str) -> None:
    """A call with an error of its own, half a body with a refusal; nothing of it stands in the log."""
    async with running(name) as server:
        caller = Caller(server.url)
        await caller.initialize()
        calling = call("c", "sleep", {"seconds": 60})
        async with (
            caller.begin("POST", calling, Accept="application/json") as pending,
            connection(server.url) as half,
        ):
            half.write("POST", caller.path, caller.headers(), b"{", length=100)
            while "error" not in (await caller.post(ask("c", "ping"))).message:
                pass  # the call of that id is not there yet
            ending = asyncio.ensure_future(server.end())
            answer = await pending.head()
            answer.body = await pending.body()
            refused = await half.head()
            await ending

    assert (answer.status, answer.message["id"]) == (200, "c")
    assert answer.error == "the session ended before the request was answered"
    assert refused.status == 503
    assert b"Traceback" not in server.output


async def test_a_kept_connection_that_ended_unnoticed_is_not_used_again() -> None:
    """A program that did something else meanwhile has not been told; its call of a tool succeeds all the same."""
    async with running("uvicorn, impatient") as server, connect(server.url) as client:
        for _ in range(3):
            assert (await client.call_tool("echo", {"text": "x"})).text == "x"
            time.sleep(1.5)  # the loop stands still, the server closes what idles


@pytest.mark.chaos
async def test_a_killed_server_costs_its_running_call_and_nothing_else() -> None:
    """One clear error for that call; a new server in its place is found by whatever is asked next."""
    async with running("uvicorn, httptools") as first:
        port = int(first.url.split(":")[2].partition("/")[0])
        client = connect(first.url)
        await client.open()
        calling = asyncio.ensure_future(client.call_tool("sleep", {"seconds": 60}))
        assert len(await client.tools()) == 3
        first.process.kill()
        await first.process.wait()
        listing = asyncio.ensure_future(client.tools())
        async with running("uvicorn, httptools", port):
            with pytest.raises(TransportBroken):
                await calling
            assert len(await listing) == 3
            assert (await client.call_tool("echo", {"text": "x"})).text == "x"
            await client.close()


# Lifespan.


async def test_the_end_of_the_process_ends_the_sessions() -> None:
    """As the server tells it; and it may begin again."""
    tools = Tools()
    app = tools.server.http_app()
    walker = Walker(app)
    for _ in range(2):
        told: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        answers: list[str] = []

        async def send(event: Any, answers: list[str] = answers) -> None:
            answers.append(event["type"])

        living = asyncio.ensure_future(app({"type": "lifespan"}, told.get, send))
        await told.put({"type": "lifespan.startup"})
        await until(lambda answers=answers: answers, "it has started")
        await walker.open()
        assert len(app.sessions) == 1
        await told.put({"type": "lifespan.shutdown"})
        await living

        assert answers == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
        assert len(app.sessions) == 0


# Frameworks.


async def home(request: Request) -> Response:
    """Another page of the same site."""
    return PlainTextResponse("home")


def mounted_in_starlette(app: Any) -> tuple[Any, str]:
    """Below a prefix, beside other pages."""
    return Starlette(routes=[Route("/", home), Mount("/api", app(path="/mcp"))]), "/api/mcp"


def at_the_root_of_starlette(app: Any) -> tuple[Any, str]:
    """After all other pages, at a path of its own."""
    return Starlette(routes=[Route("/", home), Mount("/", app(path="/mcp"))]), "/mcp"


def as_a_route_of_starlette(app: Any) -> tuple[Any, str]:
    """As one of its routes, in both spellings."""
    endpoint = app()
    return Starlette(routes=[Route("/mcp", endpoint), Route("/mcp/", endpoint)]), "/mcp"


def mounted_in_fastapi(app: Any) -> tuple[Any, str]:
    """Below a prefix of a prefix."""
    inner, outer = fastapi.FastAPI(), fastapi.FastAPI()
    inner.mount("/b", app(path="/mcp"))
    outer.mount("/a", inner)
    return outer, "/a/b/mcp"


def behind_middleware(app: Any) -> tuple[Any, str]:
    """That wraps every response, and compresses what it may."""

    async def pass_on(request: Request, call_next: Any) -> Response:
        return await call_next(request)

    middleware = [Middleware(BaseHTTPMiddleware, dispatch=pass_on), Middleware(GZipMiddleware)]
    return Starlette(routes=[Mount("/", app(path="/mcp"))], middleware=middleware), "/mcp"


class Mounted:
    """A framework's application, and what it serves."""

    def __init__(self, app: Any, listener: Any) -> None:
        self._app = app
        self._listener = listener

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer one request."""
        await self._app(scope, receive, send)

    async def close(self) -> None:
        """End the sessions."""
        await self._listener.close()


PLACES = [
    mounted_in_starlette,
    at_the_root_of_starlette,
    as_a_route_of_starlette,
    mounted_in_fastapi,
    behind_middleware,
]


@pytest.mark.parametrize("mount", PLACES, ids=[place.__name__ for place in PLACES])
async def test_it_can_be_mounted_wherever_one_likes(mount: Any) -> None:
    """Both spellings of the path are served, none of them by a redirect."""
    tools = Tools()
    made: list[Any] = []

    def http_app(**options: Any) -> Any:
        made.append(tools.server.http_app(**options))
        return made[0]

    app, path = mount(http_app)
    place: App = Mounted(app, made[0])
    async with on_socket(place) as origin:
        for spelling in (path, path + "/"):
            caller = Caller(origin + spelling)
            await caller.initialize()
            async with caller.listen() as stream:
                assert await stream.event() is not None
                async with caller.begin("POST", call(1, "steps", {"count": 2}, token="t")) as post:
                    await post.head()
                    *_, last = await post.messages()
                assert text_of(last) == "2 steps"
                assert (await caller.request("DELETE")).status == 204
                assert await stream.messages() == []


async def test_a_vanished_client_is_quiet_where_the_server_raises_for_it() -> None:
    """As ASGI wants servers to do since 2.4."""
    tools = Tools()
    app = tools.server.http_app()
    walker = Walker(app)
    session = await walker.open()
    async with walker.listen(session) as stream:
        await stream.read()
    async with walker.begin(call(1, "step_then_hold", token="t"), session) as post:
        await post.read()
    tools.gate.set()
    await until(lambda: not tools.held, "the handler has returned")

    assert walker.exchange.failures == []
