"""What an HTTP server answers before any handler runs: status codes, headers, guards, limits."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncGenerator

import pytest

from anywire import Server
from anywire.protocol.http.guard import Guard
from anywire.protocol.revisions import MCP_PROTOCOL_VERSIONS
from anywire.server.methods.table import METHODS
from anywire.transport.contract import ignore
from anywire.transport.http_server import HttpListener
from tests.http.raw import BOTH, Caller, ask, call, connection, initialize, note, text_of
from tests.http.serving import QUICK, listener_of, on_socket
from tests.http.tools import Tools


@pytest.fixture
async def tools() -> Tools:
    return Tools()


@pytest.fixture
async def caller(tools: Tools) -> AsyncGenerator[Caller]:
    """A caller whose session is open."""
    async with on_socket(listener_of(tools.accept)) as origin:
        caller = Caller(f"{origin}/mcp")
        await caller.initialize()
        yield caller


# Messages.


@pytest.mark.parametrize("revision", MCP_PROTOCOL_VERSIONS)
async def test_initialize_is_answered_with_a_session(caller: Caller, revision: str) -> None:
    """The answer is JSON and names an id that nobody can guess; each revision is agreed to."""
    answer = await caller.initialize(revision)

    assert answer.status == 200
    assert answer["content-type"] == "application/json"
    assert answer.message["result"]["protocolVersion"] == revision
    assert len(answer["mcp-session-id"]) >= 32
    assert all("!" <= character <= "~" for character in answer["mcp-session-id"])


@pytest.mark.parametrize("version", ["9999-01-01", "1999-01-01", "", None])
async def test_initialize_succeeds_whatever_version_is_asked_for(caller: Caller, version: str | None) -> None:
    """A version that nobody speaks, or none, is answered with the newest."""
    params = {} if version is None else {"protocolVersion": version}
    caller.session = None

    answer = await caller.post(ask(0, "initialize", {**params, "capabilities": {}, "clientInfo": {}}))

    assert answer.message["result"]["protocolVersion"] == MCP_PROTOCOL_VERSIONS[0]


async def test_initialize_needs_no_version_header_and_minds_no_odd_one(caller: Caller) -> None:
    """The header belongs to what comes after the handshake."""
    caller.session = None

    answer = await caller.post(initialize(), MCP_Protocol_Version="9999-01-01")

    assert answer.status == 200


async def test_a_notification_is_accepted_with_202_and_nothing_else(caller: Caller) -> None:
    """No body, no content type: strict clients give up on anything else."""
    answer = await caller.post(note("notifications/roots/list_changed"))

    assert (answer.status, answer.body) == (202, b"")
    assert "content-type" not in answer
    assert answer["content-length"] == "0"


async def test_a_reply_of_the_client_is_accepted_with_202(caller: Caller) -> None:
    """Also one that answers nothing."""
    answer = await caller.post({"jsonrpc": "2.0", "id": 99, "result": {}})

    assert (answer.status, answer.body) == (202, b"")


async def test_a_call_is_answered_as_json(caller: Caller) -> None:
    """Nothing precedes the reply, so that no stream is needed."""
    answer = await caller.post(call(1, "echo", {"text": "à la carte"}))

    assert answer["content-type"] == "application/json"
    assert text_of(answer.message) == "à la carte"


@pytest.mark.parametrize("id", ["1", "ebf9-0", "", 0, -1, 2**53 + 1, "x" * 64])
async def test_an_id_comes_back_as_it_was(caller: Caller, id: object) -> None:
    """Of the same type and with the same digits."""
    answer = await caller.post(call(id, "echo", {"text": "x"}))

    assert answer.message["id"] == id
    assert type(answer.message["id"]) is type(id)


async def test_an_unknown_method_is_answered_before_the_session_is_looked_at(caller: Caller) -> None:
    """A newer client that probes without a session learns what it has met."""
    caller.session = None

    answer = await caller.post(ask("probe", "server/discover", {"_meta": {}}))

    assert answer.status == 200
    assert (answer.message["id"], answer.message["error"]["code"]) == ("probe", -32601)


async def test_a_body_that_is_no_json_is_answered_with_a_parse_error(caller: Caller) -> None:
    """400, and the connection is as good as before."""
    answer = await caller.post(b"not json")

    assert (answer.status, answer.message["error"]["code"]) == (400, -32700)


@pytest.mark.parametrize("body", [b"1", b'"x"', b"null", b"[]", b'{"jsonrpc":"1.0","id":1,"method":"x"}'])
async def test_a_body_that_is_no_message_is_answered_with_an_error(caller: Caller, body: bytes) -> None:
    answer = await caller.post(body)

    assert (answer.status, answer.message["error"]["code"]) == (400, -32600)


@pytest.mark.parametrize("revision", ["2025-06-18", "2025-11-25"])
async def test_a_batch_is_refused_where_the_revision_has_none(caller: Caller, revision: str) -> None:
    await caller.initialize(revision)

    answer = await caller.post([ask(1, "ping"), ask(2, "ping")])

    assert (answer.status, answer.message["error"]["code"]) == (400, -32600)


async def test_a_batch_is_answered_with_a_batch_where_the_revision_has_them(caller: Caller) -> None:
    await caller.initialize("2025-03-26")

    answer = await caller.post([ask(1, "ping"), note("notifications/x"), ask("2", "ping")])

    assert [reply["id"] for reply in answer.message] == [1, "2"]


async def test_a_batch_without_any_request_is_not_left_without_an_answer(caller: Caller) -> None:
    """What cannot be read in a batch is told, also where nothing else in it wants a reply."""
    await caller.initialize("2025-03-26")

    answer = await caller.post([1, {"method": "x"}])

    assert [reply["error"]["code"] for reply in answer.message] == [-32600, -32600]


async def test_a_batch_of_notifications_is_accepted(caller: Caller) -> None:
    await caller.initialize("2025-03-26")

    answer = await caller.post([note("notifications/x"), note("notifications/y")])

    assert (answer.status, answer.body) == (202, b"")


async def test_two_requests_of_one_id_are_never_crossed(caller: Caller, tools: Tools) -> None:
    """The second is refused while the first is unanswered, which gets its own reply."""
    async with caller.begin("POST", call(7, "hold", {"name": "first"})) as first:
        await tools.until_held()
        second = await caller.post(call(7, "echo", {"text": "second"}))
        tools.gate.set()
        answer = await first.head()
        answer.body = await first.body()

    assert (second.message["id"], second.message["error"]["code"]) == (7, -32600)
    assert "in flight" in second.error
    assert text_of(answer.message) == "first is done"
    assert tools.runs["second"] == 0


async def test_two_clients_with_the_same_ids_get_their_own_replies(caller: Caller, tools: Tools) -> None:
    """Every client counts from 1."""
    other = Caller(caller.url)
    await other.initialize()
    async with (
        caller.begin("POST", call(1, "hold", {"name": "one"})) as one,
        other.begin("POST", call(1, "hold", {"name": "two"})) as two,
    ):
        await tools.until_held(2)
        tools.gate.set()
        heads = [await one.head(), await two.head()]
        texts = [text_of(json.loads(await each.body())) for each in (one, two)]

    assert [head.status for head in heads] == [200, 200]
    assert texts == ["one is done", "two is done"]


# Headers.


@pytest.mark.parametrize(
    ("accept", "content"),
    [
        (None, "application/json"),
        ("*/*", "application/json"),
        ("application/*", "application/json"),
        ("application/json", "application/json"),
        ("text/event-stream", "text/event-stream"),
        ("text/event-stream, application/json", "application/json"),
        ("application/json;q=0.1, text/event-stream;q=0.9", "application/json"),
        ("text/html, text/event-stream;q=0.5", "text/event-stream"),
    ],
)
async def test_the_answer_is_of_a_type_that_the_client_accepts(
    caller: Caller, accept: str | None, content: str
) -> None:
    """Real clients and proxies send one of the two, or ranges, or nothing."""
    async with caller.begin("POST", call(1, "echo", {"text": "x"}), Accept=accept) as opened:
        head = await opened.head()
        assert head["content-type"] == content
        if content == "application/json":
            reply = json.loads(await opened.body())
        else:
            (reply,) = await opened.messages()

    assert text_of(reply) == "x"


async def test_a_client_that_reads_json_only_gets_the_reply_without_what_preceded_it(caller: Caller) -> None:
    answer = await caller.post(call(1, "steps", {"count": 3}, token="t"), Accept="application/json")

    assert answer["content-type"] == "application/json"
    assert text_of(answer.message) == "3 steps"


@pytest.mark.parametrize("accept", ["text/html", "application/xml, image/*", "application/json;q=0"])
async def test_a_client_that_accepts_neither_type_is_told(caller: Caller, accept: str) -> None:
    answer = await caller.post(call(1, "echo", {"text": "x"}), Accept=accept)

    assert answer.status == 406
    assert accept in answer.error


@pytest.mark.parametrize("content", ["text/plain", "application/x-www-form-urlencoded", None])
async def test_a_body_of_another_type_is_refused(caller: Caller, content: str | None) -> None:
    """A form is what a web page can send without asking."""
    answer = await caller.post(ask(1, "ping"), Content_Type=content)

    assert answer.status == 415


@pytest.mark.parametrize("content", ["application/json; charset=utf-8", "Application/JSON"])
async def test_a_content_type_may_have_parameters_and_any_case(caller: Caller, content: str) -> None:
    assert (await caller.post(ask(1, "ping"), Content_Type=content)).status == 200


async def test_an_unsupported_version_header_is_refused_with_those_that_are(caller: Caller) -> None:
    answer = await caller.post(ask(1, "ping"), MCP_Protocol_Version="1999-01-01")

    assert answer.status == 400
    assert "1999-01-01" in answer.error
    assert MCP_PROTOCOL_VERSIONS[0] in answer.error


async def test_a_missing_version_header_is_no_error(caller: Caller) -> None:
    assert (await caller.post(ask(1, "ping"), MCP_Protocol_Version=None)).status == 200


@pytest.mark.parametrize("method", ["POST", "GET", "DELETE"])
async def test_a_request_without_a_session_is_told_to_begin_one(caller: Caller, method: str) -> None:
    caller.session = None

    answer = await caller.request(method, ask(1, "ping") if method == "POST" else None)

    assert answer.status == 400
    assert "initialize" in answer.error


@pytest.mark.parametrize("method", ["POST", "GET", "DELETE"])
async def test_an_unknown_session_is_answered_with_404(caller: Caller, method: str) -> None:
    """Which tells a client to start over."""
    caller.session = "no-such-session"

    answer = await caller.request(method, ask(1, "ping") if method == "POST" else None)

    assert answer.status == 404
    assert "initialize" in answer.error


async def test_delete_ends_the_session_at_once(caller: Caller, tools: Tools) -> None:
    """Its streams end, its server hears of it, and later requests are answered with 404."""
    async with caller.listen() as stream:
        deleted = await caller.request("DELETE")
        assert await stream.messages() == []

    assert (deleted.status, deleted.body) == (204, b"")
    assert tools.transports[0].closed
    assert (await caller.post(ask(1, "ping"))).status == 404
    assert (await caller.request("DELETE")).status == 404


@pytest.mark.parametrize("method", ["PUT", "PATCH", "OPTIONS", "HEAD"])
async def test_other_methods_are_refused_with_those_there_are(caller: Caller, method: str) -> None:
    async with caller.begin(method) as opened:
        head = await opened.head()

    assert head.status == 405
    assert head["allow"] == "GET, POST, DELETE"


async def test_a_get_that_accepts_no_stream_is_refused(caller: Caller) -> None:
    assert (await caller.request("GET", Accept="application/json")).status == 406


# Paths.


@pytest.mark.parametrize("path", ["/mcp", "/mcp/"])
async def test_both_spellings_of_the_path_are_served_without_redirects(caller: Caller, path: str) -> None:
    answer = await caller.request("POST", call(1, "echo", {"text": "x"}), path=path)

    assert answer.status == 200
    assert text_of(answer.message) == "x"


@pytest.mark.parametrize("path", ["/", "/mcp2", "/mcp/more", "/other/mcp"])
async def test_another_path_is_not_found(caller: Caller, path: str) -> None:
    assert (await caller.request("POST", ask(1, "ping"), path=path)).status == 404


# Guards.


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "localhost.evil"]
)
async def test_a_foreign_host_is_refused_with_its_name_and_the_option(caller: Caller, host: str) -> None:
    """A page with a name of its own for this machine gets nothing."""
    answer = await caller.post(call(1, "echo", {"text": "x"}), Host=host)

    assert answer.status == 421
    assert host in answer.error
    assert "allowed_hosts" in answer.error


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:9", "127.0.0.1:9", "[::1]:9"])
async def test_a_loopback_host_is_let_in(caller: Caller, host: str) -> None:
    assert (await caller.post(ask(1, "ping"), Host=host)).status == 200


@pytest.mark.parametrize("method", ["POST", "GET", "DELETE"])
async def test_a_foreign_origin_is_refused_on_every_method(caller: Caller, method: str) -> None:
    message = ask(1, "ping") if method == "POST" else None

    answer = await caller.request(method, message, Origin="https://evil.example")

    assert answer.status == 403
    assert "https://evil.example" in answer.error
    assert "allowed_origins" in answer.error


async def test_a_page_of_this_machine_is_let_in(caller: Caller) -> None:
    assert (await caller.post(ask(1, "ping"), Origin="http://localhost:5173")).status == 200


async def test_what_is_remembered_of_one_head_lets_no_other_in(caller: Caller) -> None:
    """Each header that decides is looked at, also after the same request without it."""
    message = ask(1, "ping")
    for _ in range(2):
        assert (await caller.post(message)).status == 200
    answers = [
        await caller.post(message, **header)
        for header in (
            {"Host": "evil.example"},
            {"Origin": "http://evil.example"},
            {"Content_Type": "text/plain"},
            {"Accept": "text/html"},
            {"MCP_Protocol_Version": "1999-01-01"},
        )
    ]

    assert [answer.status for answer in answers] == [421, 403, 415, 406, 400]
    assert (await caller.post(message)).status == 200


async def test_what_is_remembered_of_heads_is_bounded() -> None:
    listener = HttpListener(ignore, METHODS.__contains__, guard=Guard.for_bind("0.0.0.0"))
    for number in range(1000):
        listener.check("POST", {b"host": b"%d.example" % number, b"content-type": b"application/json"})
        listener.check("POST", {b"host": b"x" * 5000, b"content-type": b"application/json"})

    assert len(listener._heads) <= 256
    assert sum(len(value or b"") for key in listener._heads for value in key) < 256 * 100


async def test_named_hosts_and_origins_are_let_in_beside_loopback() -> None:
    tools = Tools()
    app = tools.server.http_app(
        path="/mcp", allowed_hosts=["mcp.example"], allowed_origins=["https://app.example"]
    )
    async with on_socket(app) as origin:
        caller = Caller(f"{origin}/mcp")
        await caller.initialize()

        answer = await caller.post(ask(1, "ping"), Host="mcp.example", Origin="https://app.example")

    assert answer.status == 200


async def test_a_server_for_all_addresses_takes_every_host_but_no_foreign_origin() -> None:
    """It cannot know its names; a page of another one is still no business of it."""
    tools = Tools()
    guard = Guard.for_bind("0.0.0.0")
    app = HttpListener(tools.accept, METHODS.__contains__, guard=guard, path="/mcp", limits=QUICK)
    async with on_socket(app) as origin:
        caller = Caller(f"{origin}/mcp")
        await caller.initialize()

        named = await caller.post(ask(1, "ping"), Host="mcp.example", Origin="https://mcp.example")
        foreign = await caller.post(ask(1, "ping"), Host="mcp.example", Origin="https://evil.example")

    assert (named.status, foreign.status) == (200, 403)


# Sizes.


@pytest.mark.parametrize("size", [99_000, 101_000, 1_000_000, 4_000_000])
async def test_a_large_body_within_the_limit_is_read(caller: Caller, size: int) -> None:
    answer = await caller.post(call(1, "echo", {"text": "x" * size}))

    assert len(text_of(answer.message)) == size


async def test_a_body_over_the_limit_is_refused_with_a_json_rpc_error(caller: Caller) -> None:
    """The limit is named, and what lets more in: from a program and from the command line."""
    answer = await caller.post(call(1, "echo", {"text": "x" * 5_000_000}))

    assert answer.status == 413
    assert str(QUICK.body_bytes) in answer.error
    assert "Server(limits=Limits(body_bytes=...))" in answer.error
    assert "--body-limit BYTES" in answer.error


async def test_what_the_refusal_of_a_large_body_names_lets_it_in() -> None:
    app = Server("roomy", limits=QUICK.replace(body_bytes=6_000_000)).http_app(path="/mcp")
    async with on_socket(app) as origin:
        caller = Caller(f"{origin}/mcp")
        await caller.initialize()

        assert (await caller.post(ask(1, "ping", {"text": "x" * 5_000_000}))).status == 200


async def test_a_body_over_the_limit_is_refused_before_it_was_sent(caller: Caller) -> None:
    """Its length is claimed in the head, which is enough."""
    async with connection(caller.url) as opened:
        opened.write("POST", "/mcp", caller.headers(), b"", length=10**12)
        assert (await opened.head()).status == 413


async def test_a_chunked_body_over_the_limit_is_refused_while_it_comes(caller: Caller) -> None:
    """It claims no length."""
    async with connection(caller.url) as opened:
        opened.write("POST", "/mcp", caller.headers(Transfer_Encoding="chunked"), None)
        for _ in range(5):
            opened.writer.write(b"100000\r\n" + b"x" * 0x100000 + b"\r\n")
        assert (await opened.head()).status == 413


async def test_a_body_may_come_in_pieces(caller: Caller) -> None:
    body = json.dumps(call(1, "echo", {"text": "é🙂"}), ensure_ascii=False).encode()
    async with connection(caller.url) as opened:
        opened.write("POST", "/mcp", caller.headers(), b"", length=len(body))
        for index in range(len(body)):
            opened.writer.write(body[index : index + 1])
            await asyncio.sleep(0)
        await opened.head()
        assert text_of(json.loads(await opened.body())) == "é🙂"


async def test_several_requests_travel_on_one_connection(caller: Caller) -> None:
    async with connection(caller.url) as opened:
        for number in range(3):
            opened.write("POST", "/mcp", caller.headers(), json.dumps(ask(number, "ping")).encode())
            assert (await opened.head()).status == 200
            assert json.loads(await opened.body())["id"] == number


# Where it listens.


async def test_an_ipv6_address_is_served_as_well() -> None:
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        pytest.skip("this machine has no IPv6")
    async with on_socket(listener_of(Tools().accept), host="::1") as origin:
        caller = Caller(f"{origin}/mcp")

        assert (await caller.initialize()).status == 200


async def test_a_websocket_is_turned_away(caller: Caller) -> None:
    async with connection(caller.url) as opened:
        upgrade = {
            "Connection": "Upgrade",
            "Upgrade": "websocket",
            "Sec-WebSocket-Version": "13",
            "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
            "Accept": BOTH,
        }
        opened.write("GET", "/mcp", upgrade, None)
        assert (await opened.head()).status in (400, 403)


# Pages of other origins.

PAGE = "https://app.example"


async def test_a_page_whose_origin_was_named_can_use_the_server(tools: Tools) -> None:
    """A browser asks first, and shows the page an answer only where the server says so: all of them, then."""
    app = tools.server.http_app(path="/mcp", allowed_origins=[PAGE])
    async with on_socket(app) as origin:
        caller = Caller(f"{origin}/mcp")
        asks = {"Access_Control_Request_Method": "POST", "Access_Control_Request_Headers": "mcp-param-x"}
        preflight = await caller.request("OPTIONS", Origin=PAGE, **asks)
        opened = await caller.post(initialize(), Origin=PAGE)
        caller.session = opened["mcp-session-id"]
        called = await caller.post(call(1, "echo", {"text": "x"}), Origin=PAGE)
        streamed = await caller.post(call(2, "steps", {"count": 1}, token="t"), Origin=PAGE)
        noted = await caller.post(note("notifications/initialized"), Origin=PAGE)
        refused = await caller.post(b"not json", Origin=PAGE)
        async with caller.listen(Origin=PAGE):
            pass
        deleted = await caller.request("DELETE", Origin=PAGE)
        gone = await caller.post(ask(3, "ping"), Origin=PAGE)

    assert (preflight.status, preflight.body) == (204, b"")
    assert preflight["access-control-allow-origin"] == PAGE
    assert "mcp-session-id" in preflight["access-control-allow-headers"]
    assert "mcp-param-x" in preflight["access-control-allow-headers"]
    assert preflight["access-control-allow-methods"] == "GET, POST, DELETE"
    answers = [opened, called, streamed, noted, refused, deleted, gone]
    assert [answer.status for answer in answers] == [200, 200, 200, 202, 400, 204, 404]
    for answer in answers:
        assert answer["access-control-allow-origin"] == PAGE
        assert answer["access-control-expose-headers"] == "Mcp-Session-Id"
        assert answer["vary"] == "Origin"


async def test_other_pages_and_programs_are_told_nothing(tools: Tools) -> None:
    """For a browser that means no."""
    asks = {"Access_Control_Request_Method": "POST"}
    for named in ([], [PAGE]):
        app = tools.server.http_app(path="/mcp", allowed_origins=named)
        async with on_socket(app) as origin:
            caller = Caller(f"{origin}/mcp")
            answers = [
                await caller.request("OPTIONS", Origin="https://evil.example", **asks),
                await caller.request("OPTIONS", Origin=origin, **asks),
                await caller.request("OPTIONS", Origin="http://localhost:9", **asks),
                await caller.post(initialize(), Origin="http://localhost:9"),
                await caller.post(initialize()),
            ]

        assert [answer.status for answer in answers] == [403, 405, 405, 200, 200]
        for answer in answers:
            assert not [name for name, _ in answer.headers if name.lower().startswith("access-control")]


async def test_a_page_whose_origin_was_named_can_use_the_old_transport(tools: Tools) -> None:
    app = tools.server.sse_app(allowed_origins=[PAGE])
    asks = {"Origin": PAGE, "Access_Control_Request_Method": "POST"}
    async with on_socket(app) as origin:
        caller = Caller(f"{origin}/sse")
        preflight = await caller.request("OPTIONS", path="/messages?session_id=x", **asks)
        refused = await caller.request("POST", ask(1, "ping"), path="/messages?session_id=x", Origin=PAGE)
        async with caller.begin("GET", Content_Type=None, Origin=PAGE) as stream:
            head = await stream.head()

    assert (preflight.status, preflight["access-control-allow-methods"]) == (204, "POST")
    assert refused.status == 404
    for answer in (preflight, refused, head):
        assert answer["access-control-allow-origin"] == PAGE
