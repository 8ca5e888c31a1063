"""What a program sets up for its server, in an application: once, however many requests there are."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest

from anywire import Context, Server
from anywire.transport.asgi_host import AsgiHost, bind
from tests.http.raw import Answer, Caller, ask, text_of
from tests.http.serving import QUICK, on_socket, until
from tests.http.stateless import StatelessCaller


class Name(msgspec.Struct):
    """A form."""

    name: str


class Program:
    """A server with a lifespan that writes down what happens, and may fail."""

    def __init__(self, **options: Any) -> None:
        self.told: list[str] = []
        self.fails = ""
        self.gate = asyncio.Event()
        self.gate.set()
        self.server = Server("s", lifespan=self.lifespan, limits=QUICK, **options)
        self.server.tool(self.use)
        self.server.tool(self.question)
        self.app = self.server.http_app(path="/mcp")

    @asynccontextmanager
    async def lifespan(self) -> AsyncGenerator[str]:
        """What the program sets up."""
        self.told.append("up")
        await self.gate.wait()
        if self.fails == "entering":
            raise ValueError("no database")
        try:
            yield "database"
        finally:
            self.told.append("down")
        if self.fails == "leaving":
            raise ValueError("no end")

    async def use(self, context: Context) -> str:
        """Use it."""
        return str(context.lifespan)

    async def question(self, context: Context) -> str:
        """Use it after a question."""
        try:
            await context.elicit("Who?", Name, key="who")
        except asyncio.CancelledError:
            self.told.append(f"cancelled with {context.lifespan}")
            raise
        return str(context.lifespan)


class Host:
    """The process around an application, as far as ASGI tells of it."""

    def __init__(self, app: Any) -> None:
        self._told: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._heard: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.life = asyncio.ensure_future(app({"type": "lifespan"}, self._told.get, self._heard.put))

    async def tell(self, what: str) -> dict[str, Any]:
        """Say that the process begins or ends; return what the application says."""
        await self._told.put({"type": f"lifespan.{what}"})
        return await self._heard.get()


async def use(caller: StatelessCaller) -> str:
    return text_of((await caller.call(1, "use")).message)


async def test_it_is_entered_and_left_with_the_process() -> None:
    """Before the first request and after the last, and not with each."""
    program = Program()
    host = Host(program.app)
    assert await host.tell("startup") == {"type": "lifespan.startup.complete"}
    assert program.told == ["up"]
    async with on_socket(program.app) as origin:
        caller = StatelessCaller(f"{origin}/mcp")
        assert [await use(caller) for _ in range(5)] == ["database"] * 5
        old = Caller(caller.url)
        await old.initialize()
        assert text_of((await old.post(ask(1, "tools/call", {"name": "use"}))).message) == "database"
        assert program.told == ["up"]
        assert await host.tell("shutdown") == {"type": "lifespan.shutdown.complete"}
        await host.life
    assert program.told == ["up", "down"]


@pytest.mark.parametrize("era", ["modern", "legacy"])
async def test_it_is_entered_with_the_first_request_where_no_beginning_is_told(era: str) -> None:
    """And stays until the application is closed."""
    program = Program()
    async with on_socket(program.app) as origin:
        assert program.told == []
        caller = StatelessCaller(f"{origin}/mcp")
        if era == "legacy":
            old = Caller(caller.url)
            await old.initialize()
            assert (await old.request("DELETE")).status == 204
            assert program.told == ["up"]
        assert [await use(caller) for _ in range(5)] == ["database"] * 5
        assert program.told == ["up"]
        await program.app.close()
        assert program.told == ["up", "down"]
        await program.app.close()
    assert program.told == ["up", "down"]


async def test_requests_that_come_first_share_it() -> None:
    """All wait until it is there; one that goes meanwhile takes nothing away."""
    program = Program()
    program.gate.clear()
    async with on_socket(program.app) as origin:
        caller = StatelessCaller(f"{origin}/mcp")
        async with caller.begin_ask(1, "tools/call", {"name": "use"}):
            await until(lambda: program.told, "it is being set up")
            waiting = [asyncio.ensure_future(use(caller)) for _ in range(5)]
        program.gate.set()
        assert await asyncio.gather(*waiting) == ["database"] * 5
    assert program.told == ["up", "down"]


async def test_who_waits_for_it_may_be_cancelled() -> None:
    """As some middleware does with requests whose clients have gone; others wait as well."""
    program = Program()
    program.gate.clear()
    first, second = (asyncio.ensure_future(program.app.admit()) for _ in range(2))
    await until(lambda: program.told, "it is being set up")
    first.cancel()
    await asyncio.wait([first])
    program.gate.set()
    assert await second is None
    await program.app.close()
    assert program.told == ["up", "down"]


async def test_a_process_hears_that_it_cannot_begin() -> None:
    """And why; nothing is left of the attempt."""
    program = Program()
    program.fails = "entering"
    host = Host(program.app)
    failed = {"type": "lifespan.startup.failed", "message": "ValueError: no database"}
    assert await host.tell("startup") == failed
    await host.life
    assert program.told == ["up"]


async def test_a_process_hears_that_it_did_not_end_in_order() -> None:
    """And why."""
    program = Program()
    host = Host(program.app)
    await host.tell("startup")
    program.fails = "leaving"
    assert await host.tell("shutdown") == {
        "type": "lifespan.shutdown.failed",
        "message": "ValueError: no end",
    }
    await host.life


async def test_a_request_for_which_it_fails_is_not_served(caplog: pytest.LogCaptureFixture) -> None:
    """The next one tries again."""
    program = Program()
    program.fails = "entering"
    async with on_socket(program.app) as origin:
        caller = StatelessCaller(f"{origin}/mcp")
        old = Caller(caller.url)
        answers: list[Answer] = [await caller.call(1, "use"), await old.post(ask(1, "initialize"))]
        assert [answer.status for answer in answers] == [503, 503]
        assert "no database" in caplog.text
        program.fails = ""
        assert await use(caller) == "database"
    assert program.told == ["up", "up", "up", "down"]


async def test_a_call_between_two_rounds_has_it_until_the_end() -> None:
    """Then the call is cancelled, before anything is taken down."""
    program = Program()
    async with on_socket(program.app) as origin:
        caller = StatelessCaller(f"{origin}/mcp")
        first = (await caller.call(1, "question")).message["result"]
        answers = {"who": {"action": "decline"}}
        last = await caller.call(2, "question", inputResponses=answers, requestState=first["requestState"])
        assert text_of(last.message) == "database"
        await caller.call(3, "question")
        assert program.told == ["up"]
    assert program.told == ["up", "cancelled with database", "down"]
    assert len(program.server.held) == 0


async def test_an_application_that_is_closed_sets_nothing_up() -> None:
    """It serves nobody until its process begins anew."""
    program = Program()
    async with on_socket(program.app) as origin:
        caller = StatelessCaller(f"{origin}/mcp")
        await program.app.close()
        assert (await caller.call(1, "use")).status == 503
        assert program.told == []
        host = Host(program.app)
        await host.tell("startup")
        assert await use(caller) == "database"
        await host.tell("shutdown")
        await host.life
    assert program.told == ["up", "down"]


async def test_a_close_in_the_middle_of_the_set_up_takes_it_down() -> None:
    """Whoever waited for it is not served."""
    program = Program()
    program.gate.clear()
    async with on_socket(program.app) as origin:
        caller = StatelessCaller(f"{origin}/mcp")
        waiting = asyncio.ensure_future(caller.call(1, "use"))
        await until(lambda: program.told, "it is being set up")
        closing = asyncio.ensure_future(program.app.close())
        await asyncio.sleep(0)
        program.gate.set()
        await closing
        assert (await waiting).status == 503
    assert program.told == ["up", "down"]


async def test_two_applications_and_a_conversation_share_it() -> None:
    """The last of them takes it down."""
    program = Program()
    other = program.server.http_app()
    async with on_socket(program.app) as origin, on_socket(other) as second:
        assert await use(StatelessCaller(f"{origin}/mcp")) == "database"
        assert await use(StatelessCaller(f"{second}/")) == "database"
        await program.app.close()
        assert program.told == ["up"]
        assert await use(StatelessCaller(f"{second}/")) == "database"
    assert program.told == ["up", "down"]


async def test_a_host_of_this_house_ends_although_the_end_fails() -> None:
    """Its socket is closed, and whoever serves hears why."""
    program = Program()
    opened = bind("127.0.0.1", 0)
    host = AsgiHost(program.app, program.app.close, QUICK)
    serving = asyncio.ensure_future(host.serve(opened))
    caller = StatelessCaller(f"http://127.0.0.1:{opened.getsockname()[1]}/mcp")
    assert await use(caller) == "database"
    program.fails = "leaving"
    serving.cancel()
    with pytest.raises(ValueError, match="no end"):
        await serving
    assert opened.fileno() == -1
