"""`serve --http`, `serve --sse` and the client commands with a URL, from end to end."""

from __future__ import annotations

import asyncio
import http.client
import json
import re
import socket
from collections.abc import Generator
from urllib.parse import urlsplit

import pytest

from anywire.cli.main import main
from tests.cli.commands import ROOT, Finished, anywire, server
from tests.cli.servers.http import unreached
from tests.cli.servers.http.healthy import Asked, HealthyHttp, Told
from tests.cli.serving import Listening, listening

WORKSHOP = f"{ROOT / 'tests' / 'cli' / 'code' / 'workshop.py'}:server"
INITIALIZE = json.dumps(
    {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "0"},
        },
    }
)


@pytest.fixture(scope="module")
def serving() -> Generator[Listening]:
    """A server of Streamable HTTP."""
    with listening("serve", WORKSHOP, "--http", "127.0.0.1:0") as command:
        yield command


@pytest.fixture(scope="module")
def serving_old() -> Generator[Listening]:
    """A server of HTTP+SSE."""
    with listening("serve", WORKSHOP, "--sse", "127.0.0.1:0") as command:
        yield command


async def against(answers: HealthyHttp, *words: str) -> Finished:
    """Run a command whose last word is the URL of a server of this process."""
    async with answers.running() as url:
        return await asyncio.to_thread(anywire, *words, url)


class NeedsToken(HealthyHttp):
    """Lets nobody in who does not say who it is."""

    status = 401

    def serve(self, asked: Asked) -> Told | None:
        if asked.headers.get("authorization") == "Bearer let me in":
            return super().serve(asked)
        return Told(self.status, "text/plain", b"who are you?")


class NeedsMore(NeedsToken):
    """Knows who it is, and that this is not enough."""

    status = 403


@pytest.mark.parametrize("kind", ["serving", "serving_old"])
def test_the_client_commands_take_a_url(kind: str, request: pytest.FixtureRequest) -> None:
    """The address is the one that the server tells; which transport it speaks is found out."""
    serving: Listening = request.getfixturevalue(kind)
    url = serving.url
    listed = anywire("list", url)
    called = anywire("call", "shout", "text=hello", url)
    pinged = anywire("ping", "--json", url)

    assert urlsplit(url).path == ("/mcp" if kind == "serving" else "/sse")
    assert [line.split()[0] for line in listed.out.splitlines()] == ["tool", "shout", "wait", "block"]
    assert (listed.code, listed.err) == (0, "")
    assert (called.code, called.out, called.err) == (0, "HELLO\n", "")
    assert json.loads(pinged.out)["server"] == {"name": "workshop", "version": "2.0"}


def test_an_old_server_can_be_named_as_one(serving_old: Listening) -> None:
    """Nothing need be found out then."""
    done = anywire("call", "shout", "text=hello", f"sse+{serving_old.url}")

    assert (done.code, done.out, done.err) == (0, "HELLO\n", "")


def test_a_url_with_an_equals_sign_is_still_the_target(serving: Listening) -> None:
    """The target comes last, whatever it looks like."""
    done = anywire("call", "shout", "text=a=b", f"{serving.url}?key=value&other=x")

    assert (done.code, done.out, done.err) == (0, "A=B\n", "")


def test_the_path_can_be_chosen_and_both_spellings_are_served() -> None:
    """With a slash at the end and without; nothing else is there."""
    with listening("serve", WORKSHOP, "--http", "127.0.0.1:0", "--path", "tools/mcp") as command:
        assert urlsplit(command.url).path == "/tools/mcp"
        assert anywire("ping", f"{command.url}/").code == 0
        wrong = anywire("ping", command.url.replace("/tools", ""))

    assert wrong.code == 4
    assert "was answered with HTTP 404" in wrong.err
    assert "(try: anywire doctor http://127.0.0.1:" in wrong.err
    assert wrong.err.count("\n") == 1


def test_both_eras_are_served(serving: Listening) -> None:
    """A request that stands for itself is answered, without a handshake and without a session."""
    parts = urlsplit(serving.url)
    envelope: dict[str, object] = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    request = {"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {"_meta": envelope}}
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": "server/discover",
    }
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=30)
    try:
        connection.request("POST", parts.path, json.dumps(request), headers)
        answer = connection.getresponse()
        result = json.loads(answer.read())["result"]
    finally:
        connection.close()

    assert (answer.status, answer.headers.get("Mcp-Session-Id")) == (200, None)
    assert "2026-07-28" in result["supportedVersions"]


# How it fails.


@pytest.mark.parametrize("words", [("call", "shout", "text=a"), ("ping", "--json")], ids=" ".join)
def test_nobody_there_ends_with_4(words: tuple[str, ...]) -> None:
    """One sentence that names the address; for programs the same as JSON."""
    with socket.socket() as taken:  # bound and not listening: nobody else gets it
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/mcp"
        done = anywire(*words, url)

    assert (done.code, done.out) == (4, "")
    assert done.err.count("\n") == 1
    if "--json" in words:
        error = json.loads(done.err)["error"]
        assert (error["code"], error["exit"]) == ("unreachable", 4)
        assert url in error["message"]
        assert error["hint"] == f"try: anywire doctor {url}"
    else:
        assert done.err.startswith(f"anywire: POST {url}: ")


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        (unreached.ServerError, "was answered with HTTP 502, text/html: <h1>Bad gateway</h1>"),
        (
            unreached.Html,
            "was answered with HTTP 200, text/html: <!doctype html><title>Please log in</title>",
        ),
        (unreached.ContentTypeAgain, 'was answered with HTTP 200, no type: {"jsonrpc": "2.0"'),
        (unreached.RedirectMethod, "was answered with HTTP 301"),
        (unreached.WrongPathOnceMore, "was answered with HTTP 405, text/html: <h1>Method not allowed</h1>"),
    ],
)
async def test_an_answer_that_is_none_ends_with_4(answers: type[HealthyHttp], expected: str) -> None:
    """The status, the type and the first of the body are told."""
    done = await against(answers(), "ping")

    assert (done.code, done.out) == (4, "")
    assert expected in done.err


@pytest.mark.parametrize("answers", [NeedsToken, NeedsMore])
async def test_authorization_that_is_missing_ends_with_3(answers: type[NeedsToken]) -> None:
    """The sentence says what is needed and how it is given."""
    plain = await against(answers(), "list")
    as_json = await against(answers(), "call", "--json", "add")
    given = await against(answers(), "ping", "--header", "Authorization: Bearer let me in")

    assert (plain.code, plain.out) == (3, "")
    assert f"was answered with HTTP {answers.status}, text/plain: who are you?" in plain.err
    assert "authorization needed: --header 'Authorization: Bearer ${TOKEN}'" in plain.err
    error = json.loads(as_json.err)["error"]
    assert (as_json.code, error["exit"], error["code"]) == (3, 3, "authorization")
    assert given.code == 0


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("serve", WORKSHOP, "--http", "8000"), "'8000' is not HOST:PORT"),
        (("serve", WORKSHOP, "--http", "127.0.0.1:99999"), "'127.0.0.1:99999' is not HOST:PORT"),
        (("serve", "a:b", "--http", "127.0.0.1:1", "--sse", "127.0.0.1:2"), "not allowed with argument"),
        (("serve", WORKSHOP, "--http", "127.0.0.1:²"), "'127.0.0.1:²' is not HOST:PORT"),
        (("serve", WORKSHOP, "--path", "/x"), "--path is for --http and --sse"),
        (("list", "http://127.0.0.1:1/", "--header-file", "~nosuchuser/x"), "~nosuchuser/x cannot be read"),
        (("bridge", "https://127.0.0.1:1/mcp", "--", "x"), "a face speaks http"),
        (("bridge", "http://127.0.0.1/mcp", "--", "x"), "names no port"),
        (("bridge", "http://127.0.0.1:1", "ws://127.0.0.1:2"), "give a list of words, or an http://"),
        (
            ("bridge", "stdio", "http://127.0.0.1:1/?key=s3cret", "--", "x"),
            "there are two targets, the URL and",
        ),
        (("list", "http://127.0.0.1:1/?key=s3cret", "--", "x"), "there are two targets, the URL and"),
        (("list", "http://127.0.0.1:1/", "--header", "X:", "Bearer", "s3cret"), "one word in quotes"),
        (("doctor", "a:b"), "'a:b' is no URL; a command stands behind '--'"),
        (("doctor", "sse+http://127.0.0.1:1/"), "doctor examines http:// and https:// URLs"),
        (("doctor", "--cwd", "/", "http://127.0.0.1:1/"), "--cwd is for a command behind '--'"),
    ],
)
def test_wrong_words_end_with_2(
    words: tuple[str, ...], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """In one line, which shows nothing of what may be a secret."""
    assert main(words) == 2
    told = capsys.readouterr().err
    assert expected in told
    assert told.count("\n") == 1
    assert "s3cret" not in told


# Where it listens, and who is let in.


def test_an_address_that_is_in_use_is_one_sentence() -> None:
    """And the command ends with 4, whichever it is."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        served = anywire("serve", WORKSHOP, "--http", address)
        bridged = anywire("bridge", f"http://{address}/mcp", "--", *server("toolbox"))

    for done in (served, bridged):
        assert (done.code, done.out) == (4, "")
        assert done.err == f"anywire: cannot listen on {address}: Address already in use\n"


def test_an_address_that_others_can_reach_is_warned_of(serving: Listening) -> None:
    """On loopback there is nothing to say."""
    with listening("serve", WORKSHOP, "--http", "0.0.0.0:0", "--allow-unauthenticated") as command:
        assert re.fullmatch(r"http://0\.0\.0\.0:\d+/mcp", command.url)
        _, told = command.end()

    assert told.count("\n") == 2
    assert "can be reached from other machines, and nobody is asked who they are\n" in told
    assert serving.err.count("\n") == 1


def asked(url: str, **headers: str) -> tuple[int, str]:
    """Initialize by hand; the status and the error's text."""
    parts = urlsplit(url)
    path = f"{parts.path}?{parts.query}" if parts.query else parts.path
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=30)
    try:
        types = {"Content-Type": "application/json", "Accept": "application/json"}
        connection.request("POST", path, INITIALIZE, {**types, **headers})
        answer = connection.getresponse()
        message = json.loads(answer.read())
        return answer.status, message.get("error", {}).get("message", "")
    finally:
        connection.close()


@pytest.mark.parametrize(
    ("given", "shown"),
    [("/my%20path", "/my%20path"), ("/my path", "/my%20path"), ("/é", "/%C3%A9"), ("/a@b:1", "/a@b:1")],
)
def test_a_path_with_odd_characters_is_served_where_it_says(given: str, shown: str) -> None:
    """As it stands in a URL, whether it was given so or plain."""
    with listening("serve", WORKSHOP, "--http", "127.0.0.1:0", "--path", given) as command:
        assert command.url.endswith(shown)
        assert anywire("ping", command.url).code == 0
        assert anywire("ping", command.url + "x").code != 0
    with listening("bridge", f"http://127.0.0.1:0{shown}", "--", *server("healthy")) as command:
        assert command.url.endswith(shown)
        assert anywire("ping", command.url).code == 0


def test_the_path_of_the_old_transport_can_be_chosen_as_well() -> None:
    with listening("serve", WORKSHOP, "--sse", "127.0.0.1:0", "--path", "/x") as command:
        assert command.url.endswith("/x")
        assert anywire("ping", f"sse+{command.url}").code == 0


def test_what_is_logged_while_serving_has_a_name_and_an_end() -> None:
    """Whoever sends garbage does not fill a disk with it."""
    with listening("serve", WORKSHOP, "--http", "127.0.0.1:0") as command:
        parts = urlsplit(command.url)
        for _ in range(30):
            with socket.create_connection((parts.hostname or "", parts.port or 0), timeout=30) as garbage:
                garbage.sendall(b"rubbish\r\n\r\n")
                while garbage.recv(4096):
                    pass
        _, told = command.end()

    lines = told.splitlines()[1:]
    assert len(lines) == 11
    assert all(line.startswith("anywire: uvicorn: ") for line in lines)


def test_a_stranger_is_told_which_option_lets_it_in(serving: Listening) -> None:
    """A host by its name, a page by its origin."""
    host = asked(serving.url, Host="tools.example:8000")
    origin = asked(serving.url, Origin="https://app.example")

    assert host[0] == 421
    assert host[1].startswith("host 'tools.example:8000' is not one of this server's; ")
    assert host[1].endswith("--allow-host tools.example:8000")
    assert origin[0] == 403
    assert origin[1].startswith("origin 'https://app.example' may not use this server; ")
    assert origin[1].endswith("--allow-origin https://app.example")


def test_the_options_let_strangers_in() -> None:
    """Those that were named, and nobody else; for a bridge as for a server."""
    words = ["--allow-host", "tools.example", "--allow-origin", "https://app.example"]
    with listening("bridge", "http://127.0.0.1:0/mcp", *words, "--", *server("healthy")) as command:
        assert asked(command.url, Host="tools.example:8000", Origin="https://app.example") == (200, "")
        assert asked(command.url, Host="other.example")[0] == 421
        assert asked(command.url, Origin="https://other.example")[0] == 403


@pytest.mark.parametrize("face", ["--http", "--sse", "bridge"])
def test_the_command_says_how_large_a_body_may_be(face: str) -> None:
    """Also how small."""
    words = ["--body-limit", str(len(INITIALIZE) - 1)]
    behind = ["--", *server("healthy")]
    started = (
        ["bridge", "http://127.0.0.1:0/mcp", *words, *behind]
        if face == "bridge"
        else ["serve", WORKSHOP, face, "127.0.0.1:0", *words]
    )
    with listening(*started) as command:
        url = command.url
        if face == "--sse":
            parts = urlsplit(url)
            opened = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=30)
            opened.request("GET", parts.path, headers={"Accept": "text/event-stream"})
            stream = opened.getresponse()
            told = stream.readline() + stream.readline()
            status, error = asked(url.replace("/sse", "/" + told.decode().partition("data: ")[2].strip()))
            opened.close()
        else:
            status, error = asked(url)

    assert status == 413
    assert f"exceeds {len(INITIALIZE) - 1} bytes" in error


@pytest.mark.parametrize("typed", ["-1", "0", "4MB", "²", "1e6", ""])
def test_a_body_limit_is_a_number_of_bytes(typed: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", WORKSHOP, "--http", "127.0.0.1:0", f"--body-limit={typed}"]) == 2
    assert "is no number of bytes, such as 67108864" in capsys.readouterr().err
